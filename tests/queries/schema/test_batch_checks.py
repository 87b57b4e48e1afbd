"""Valid batches are read as specified, up to the limits."""

import json
from collections.abc import Callable

import pytest

from accounts.shared.errors import RefusalError
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.schema.bodies import WebhookBody
from queries.schema.checked_batch import (
    AccountRequest,
    Address,
    BatchWarning,
    BlockRequest,
    CheckedBatch,
    EnsName,
    Selector,
    canonical,
)
from queries.schema.strict_json import read_json
from tests.queries.schema.example_batches import (
    ADDRESS,
    BALANCE,
    CHECKSUMMED,
    LEGACY,
    LIMITS,
    SEPOLIA,
    SPECIFICATION,
    account_batch,
    batch,
    block_batch,
    read,
)

pytestmark = pytest.mark.no_database

VITALIK = Address(bytes.fromhex(ADDRESS[2:]))
BALANCE_REQUEST = AccountRequest(VITALIK, (AccountField.BALANCE,), ())
ACCOUNTS = "data.11155111.block:5.accounts"
WRONG_CHECKSUM = ADDRESS.replace("d8da", "D8da")


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def read_account(entry: object) -> AccountRequest:
    return read(account_batch(entry)).blocks[0].accounts[0]


def test_the_example_of_the_specification_is_read() -> None:
    block = BlockRequest(SEPOLIA, Selector(5186021), (), (BALANCE_REQUEST,))
    expected = CheckedBatch(SEPOLIA, 0, (block,), None, ())
    assert read(read_json(SPECIFICATION.encode(), 1_000)) == expected


def test_a_batch_of_existing_clients_is_read() -> None:
    other = Address(bytes.fromhex("69030ef8c2744b37a096faf2a4c78b4daec1308b"))
    by_number = BlockRequest(SEPOLIA, Selector(5186021), ("PARENT_HASH",), (BALANCE_REQUEST,))
    by_time = BlockRequest(
        SEPOLIA, Selector(1703799420, is_time=True), (), (AccountRequest(other, (), (word(1),)),)
    )
    webhook = WebhookBody(
        url="https://example.org/hook", headers={"Content-Type": "application/json"}
    )
    expected = CheckedBatch(SEPOLIA, 0, (by_number, by_time), webhook, ())
    assert read(read_json(LEGACY.encode(), 1_000)) == expected


def test_an_alias_can_replace_any_chain_id() -> None:
    request = read(
        batch({"0x-like": {"block:0": {"header": ["NONCE"]}}}, destinationChainId="SN_SEPOLIA")
    )
    assert request.destination == SEPOLIA
    assert request.blocks[0].source == 10


def test_header_fields_are_read_once_in_their_order() -> None:
    names = [
        "PARENT_HASH", "UNCLES_HASH", "COINBASE", "STATE_ROOT", "TRANSACTIONS_ROOT",
        "RECEIPTS_ROOT", "LOGS_BLOOM", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED",
        "TIMESTAMP", "EXTRA_DATA", "MIX_HASH", "NONCE", "BASE_FEE_PER_GAS", "WITHDRAWALS_ROOT",
        "BLOB_GAS_USED", "EXCESS_BLOB_GAS", "PARENT_BEACON_BLOCK_ROOT", "REQUESTS_HASH",
    ]  # fmt: skip
    request = read(block_batch({"header": [*names, "PROPOSER", "NONCE"]}))
    assert request.blocks[0].header_fields == (*names, "PROPOSER")
    assert [HeaderField[name] for name in names] == list(range(21))


def test_props_are_read_once_with_the_registrys_numbers() -> None:
    names = ["CODE_HASH", "NONCE", "BALANCE", "STORAGE_ROOT", "NONCE"]
    assert list(map(int, read_account({"props": names}).props)) == [3, 0, 1, 2]


def test_slots_are_padded_and_read_once() -> None:
    sent = ["0xa", "0x0", f"0x{'Ff' * 32}", "0x0A", f"0x{10:064x}", "0x00"]
    assert read_account({"slots": sent}).slots == (word(10), word(0), word(2**256 - 1))


def test_ens_names_are_read() -> None:
    names = ["vitalik.eth", "a.--b.1-", f"{'a' * 63}.eth", ".".join(["a" * 63] * 3 + ["a" * 63])]
    for name in names:
        request = read(account_batch(BALANCE, name))
        assert request.blocks[0].accounts[0].account == EnsName(name)


@pytest.mark.parametrize("key", [ADDRESS, CHECKSUMMED, f"0x{ADDRESS[2:].upper()}"])
def test_an_address_with_its_checksum_or_in_one_case_is_read_without_a_warning(key: str) -> None:
    request = read(account_batch(BALANCE, key))
    assert request.blocks[0].accounts == (BALANCE_REQUEST,)
    assert not request.warnings


def test_a_wrong_checksum_is_accepted_with_a_warning() -> None:
    request = read(account_batch(BALANCE, WRONG_CHECKSUM))
    assert request.blocks[0].accounts == (BALANCE_REQUEST,)
    (warning,) = request.warnings
    assert warning.path == f"{ACCOUNTS}.{WRONG_CHECKSUM}"
    assert CHECKSUMMED in warning.sentence


def test_spellings_of_one_account_are_merged() -> None:
    other = f"0x{'1' * 40}"
    asked = {
        ADDRESS: {"props": ["NONCE", "BALANCE"], "slots": ["0x2"]},
        other: {"slots": ["0x2"]},
        WRONG_CHECKSUM: {"props": ["BALANCE"], "slots": ["0x1", "0x02"]},
        CHECKSUMMED: {"props": ["CODE_HASH"]},
    }
    request = read(block_batch({"accounts": asked}))
    first = AccountRequest(
        VITALIK,
        (AccountField.NONCE, AccountField.BALANCE, AccountField.CODE_HASH),
        (word(2), word(1)),
    )
    second = AccountRequest(Address(b"\x11" * 20), (), (word(2),))
    assert request.blocks[0].accounts == (first, second)
    (warning,) = request.warnings
    assert warning.path == f"{ACCOUNTS}.{CHECKSUMMED}"
    assert CHECKSUMMED in warning.sentence


def test_unknown_fields_at_the_top_are_ignored_with_one_warning() -> None:
    content = account_batch(BALANCE)
    assert read(content | {"label": None}).warnings == (
        BatchWarning('Fields that are not known here were ignored: "label".', ""),
    )
    many = {f"\x00 {position}": position for position in range(10_000)}
    (warning,) = read(content | many).warnings
    assert '"\\u0000 0", "\\u0000 1"' in warning.sentence
    assert warning.sentence.endswith('"\\u0000 4" and 9,995 more.')


def blocks_of(count: int) -> dict[str, object]:
    # On two chains, because the limit is for the batch.
    first = {f"block:{number}": {"header": ["NONCE"]} for number in range(count - 1)}
    return batch({"11155111": first, "10": {"block:1": {"header": ["NONCE"]}}})


def accounts_of(count: int) -> dict[str, object]:
    keys = [f"0x{number:040x}" for number in range(count)]
    # Two spellings are one account, and one account in two blocks is two.
    first = {CHECKSUMMED: BALANCE, ADDRESS: BALANCE}
    second = dict.fromkeys([CHECKSUMMED, *keys[2:]], BALANCE)
    return batch({"11155111": {"block:5": {"accounts": first}, "block:6": {"accounts": second}}})


def slots_of(count: int) -> dict[str, object]:
    accounts = {
        ADDRESS: {"slots": ["0x1", "0x01"]},
        CHECKSUMMED: {"slots": ["0x1"]},
        f"0x{1:040x}": {"slots": [hex(number) for number in range(count - 1)]},
    }
    return block_batch({"accounts": accounts})


@pytest.mark.parametrize(
    ("content_of", "limit", "code", "path"),
    [
        (blocks_of, LIMITS.blocks, "too_many_blocks", "data.10.block:1"),
        (accounts_of, LIMITS.accounts, "too_many_accounts",
         f"data.11155111.block:6.accounts.0x{5:040x}"),
        (slots_of, LIMITS.slots, "too_many_slots", f"{ACCOUNTS}.0x{1:040x}.slots[5]"),
    ],
)  # fmt: skip
def test_limits_hold_over_the_whole_batch(
    content_of: Callable[[int], dict[str, object]], limit: int, code: str, path: str
) -> None:
    assert read(content_of(limit)).blocks
    with pytest.raises(RefusalError) as caught:
        read(content_of(limit + 1))
    assert (caught.value.code, caught.value.path) == (code, path)
    assert f"at most {limit} {code.removeprefix('too_many_')} " in caught.value.sentence


def test_equivalent_requests_have_one_canonical_form() -> None:
    text = """
    { "fee": "0", "ignored": 1,
      "webhook": { "headers": { "content-type": "application/json" },
                   "url": "https://example.org/hook" },
      "data": { "SN_SEPOLIA": {
        "timestamp:1703799420": { "header": [], "accounts": {
          "0x69030EF8C2744B37A096FAF2A4C78B4DAEC1308B": { "slots": ["0x01", "0x1"] } } },
        "block:5186021": { "header": ["PARENT_HASH", "PARENT_HASH"], "accounts": {
          "0xd8da6bf26964af9d7eed9e03e53415d37aa96045": { "props": ["BALANCE"] },
          "0xD8DA6BF26964AF9D7EED9E03E53415D37AA96045": { "props": ["BALANCE"] } } } } },
      "destinationChainId": "SN_SEPOLIA" }"""
    same = canonical(read(read_json(text.encode(), 2_000)))
    assert same == canonical(read(json.loads(LEGACY)))
    assert read(read_json(same, 2_000)).fee == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"fee": "0"', '"fee": "1"'),
        ('"destinationChainId": "11155111"', '"destinationChainId": "10"'),
        ("block:5186021", "block:5186022"),
        ("PARENT_HASH", "NONCE"),
        ("example.org/hook", "example.org/Hook"),
        ("Content-Type", "X-Type"),
    ],
)
def test_different_requests_have_different_canonical_forms(old: str, new: str) -> None:
    assert LEGACY.count(old) == 1
    other = canonical(read(json.loads(LEGACY.replace(old, new))))
    assert other != canonical(read(json.loads(LEGACY)))
