"""Valid batches are read as specified, up to the limits. Every kind of invalid batch is refused
with its code, path and sentence.
"""

from collections.abc import Callable

import pytest

from accounts.http.errors import RefusalError
from queries.proving.witnesses import AccountField
from queries.schema.checked_batch import BatchWarning, CheckedAccount
from queries.schema.paths import JsonPath
from tests.queries.schema.example_batches import (
    ADDRESS,
    BALANCE,
    CHECKSUMMED,
    LIMITS,
    LONG,
    NOT_NUMBERS,
    account_batch,
    batch,
    block_batch,
    read,
    without,
)

pytestmark = pytest.mark.no_database

ACCOUNTS = "data.11155111.block:5.accounts"
WRONG_CHECKSUM = ADDRESS.replace("d8da", "D8da")


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_spellings_of_one_account_are_merged() -> None:
    other = f"0x{'1' * 40}"
    accounts = {
        ADDRESS: {"props": ["NONCE", "BALANCE"], "slots": ["0x2"]},
        other: {"slots": ["0x2"]},
        WRONG_CHECKSUM: {"props": ["BALANCE"], "slots": ["0x1", "0x02"]},
        CHECKSUMMED: {"props": ["CODE_HASH"]},
    }
    request = read(block_batch({"accounts": accounts}))
    first = CheckedAccount(
        CHECKSUMMED,
        (AccountField.NONCE, AccountField.BALANCE, AccountField.CODE_HASH),
        (word(2), word(1)),
    )
    second = CheckedAccount(other, (), (word(2),))
    assert request.blocks[0].accounts == (first, second)
    assert not request.warnings


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


# Refusals


DATA = {"11155111": {"block:5": {"header": ["NONCE"]}}}
BATCH = batch(DATA)
SOURCE = ("data", "11155111")
BLOCK = "data.11155111.block:5"
ACCOUNTS = f"{BLOCK}.accounts"
ACCOUNT = f"{ACCOUNTS}.{ADDRESS}"


def check(content: object, code: str, path: str, beginning: str) -> None:
    with pytest.raises(RefusalError) as caught:
        read(content)
    refusal = caught.value
    assert (refusal.code, refusal.path) == (code, path)
    assert refusal.sentence.startswith(beginning), refusal.sentence
    assert refusal.sentence.endswith(".")
    assert len(refusal.sentence) < 1_000
    assert not refusal.retryable


@pytest.mark.parametrize(
    ("content", "code", "path", "beginning"),
    [
        ([], "wrong_type", "", "The body must be an object, not a list."),
        ("{}", "wrong_type", "", "The body must be an object, not text."),
        ({}, "missing_field", "destinationChainId", "destinationChainId is missing: "),
        (without(BATCH, "fee"), "missing_field", "fee", "fee is missing: the maximum that may be "),
        (without(BATCH, "data"), "missing_field", "data", "data is missing: "),
        (batch(None), "wrong_type", "data", "data must be an object, not null."),
        (batch({}), "empty_request", "data", "data asks for nothing. Name at least one source"),
        (batch({"11155111": {}}), "empty_request", "data.11155111",
         "data.11155111 asks for nothing. Name at least one block"),
        (batch({"11155111": {"block:1": {}}}), "empty_request", "data.11155111.block:1",
         "data.11155111.block:1 asks for nothing. Name at least one entry of its accounts, header"),
        (batch({"11155111": []}), "wrong_type", "data.11155111",
         "data.11155111 must be an object, not a list."),
    ],
)  # fmt: skip
def test_a_malformed_batch_is_refused(
    content: object, code: str, path: str, beginning: str
) -> None:
    check(content, code, path, beginning)


@pytest.mark.parametrize("fee", [*NOT_NUMBERS, "0.1", str(2**256)], ids=lambda fee: fee[:20])
def test_a_malformed_fee_is_refused(fee: str) -> None:
    check(batch(DATA, fee=fee), "fee_malformed", "fee", 'fee is "')


@pytest.mark.parametrize(
    ("fee", "kind"),
    [(0, "a number"), (False, "false"), (None, "null"), (10**4_999, "a number")],
    ids=["zero", "false", "null", "huge"],
)
def test_a_fee_that_is_not_text_is_refused(fee: object, kind: str) -> None:
    beginning = f'fee must be text in quotes, such as "0", not {kind}.'
    check(batch(DATA, fee=fee), "wrong_type", "fee", beginning)


@pytest.mark.parametrize(
    ("content", "code", "path", "beginning"),
    [
        (batch(DATA, destinationChainId=11155111), "wrong_type", "destinationChainId",
         'destinationChainId must be text in quotes, such as "11155420", not a number.'),
        (batch({"1": DATA["11155111"]}), "chain_unsupported", "data.1",
         'data.1 is "1", which is not a chain configured here. Configured: 10 (Other, 0x-like), '),
        (batch({"137": DATA["11155111"]}), "route_unsupported", "data.137",
         "data.137 is a chain whose facts this server does not prove on chain 11155111, nor "),
        (batch(DATA, destinationChainId="137"), "route_unsupported", "data.11155111",
         "data.11155111 is a chain whose facts this server does not prove on chain 137, only "),
        (batch({**DATA, "SN_SEPOLIA": {"block:6": {"header": ["NONCE"]}}}), "duplicate_key", "data",
         'data names chain 11155111 twice: as "11155111" and as "SN_SEPOLIA".'),
    ],
)  # fmt: skip
def test_invalid_chains_and_routes_are_refused(
    content: object, code: str, path: str, beginning: str
) -> None:
    check(content, code, path, beginning)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (1703799420123456, "looks like a time in microseconds. In seconds it is "),
        (10_000_000_000, "looks like a time in milliseconds. In seconds it is timestamp:10000000."),
        (2**64 - 1, "is not a time in Unix seconds, which are at most 9999999999."),
    ],
)
def test_a_time_that_is_not_in_seconds_is_refused(number: int, sentence: str) -> None:
    path = JsonPath((*SOURCE, f"timestamp:{number}")).text
    content = block_batch({"header": ["NONCE"]}, f"timestamp:{number}")
    check(content, "selector_malformed", path, f"{path} {sentence}")


@pytest.mark.parametrize(
    ("block", "code", "path", "beginning"),
    [
        (None, "wrong_type", "", " must be an object, not null."),
        (["NONCE"], "wrong_type", "", " must be an object, not a list."),
        ({}, "empty_request", "", " asks for nothing. Name at least one"),
        ({"header": ["NONCE"], "Accounts": {}}, "unknown_field", ".Accounts",
         ".Accounts is an unknown field; the known fields are header, accounts, logs, receipts,"),
        ({"header": None}, "wrong_type", ".header",
         ".header must not be null. Leave it out instead."),
        ({"header": "NONCE"}, "wrong_type", ".header", ".header must be a list, not text."),
        ({"header": ["NONCE", 0]}, "wrong_type", ".header[1]",
         '.header[1] must be text in quotes, such as "PARENT_HASH", not a number.'),
        ({"header": ["NONCE", "nonce"]}, "unknown_header_field", ".header[1]",
         '.header[1] is "nonce", but a header\'s fields are PARENT_HASH, '),
        ({"accounts": [ADDRESS]}, "wrong_type", ".accounts", ".accounts must be an object, not"),
        ({"accounts": {ADDRESS: BALANCE, CHECKSUMMED: {}}}, "empty_request",
         f".accounts.{CHECKSUMMED}", f".accounts.{CHECKSUMMED} asks for nothing."),
    ],
)  # fmt: skip
def test_a_malformed_block_is_refused(block: object, code: str, path: str, beginning: str) -> None:
    check(block_batch(block), code, BLOCK + path, BLOCK + beginning)


def test_a_refused_account_key_says_why() -> None:
    beginning = f'Invalid account address or ENS name "0x12" in {ACCOUNTS}: an address has 40 hex '
    check(account_batch(BALANCE, "0x12"), "account_malformed", f"{ACCOUNTS}.0x12", beginning)
    for name in ("xn--e28h.eth", "sub.ab--c.eth"):  # which the API's description does not exclude
        beginning = f'Invalid account address or ENS name "{name}"'
        check(account_batch(BALANCE, name), "account_malformed", f"{ACCOUNTS}.{name}", beginning)
    path = "data.10.block:5.accounts.vitalik.eth"
    beginning = (
        'Invalid account address or ENS name "vitalik.eth" in data.10.block:5.accounts: names '
    )
    nameless = batch({"10": {"block:5": {"accounts": {"vitalik.eth": BALANCE}}}})
    check(nameless, "account_malformed", path, f"{beginning}are not resolved on chain 10 here.")


@pytest.mark.parametrize(
    ("entry", "code", "path", "beginning"),
    [
        (None, "wrong_type", "", " must be an object, not null."),
        (["BALANCE"], "wrong_type", "", " must be an object, not a list."),
        ({}, "empty_request", "", " asks for nothing. Name at least one of its props (NONCE, "),
        ({"props": ["BALANCE"], "slot": []}, "unknown_field", ".slot",
         ".slot is an unknown field; the known fields are props and slots."),
        ({"props": None, "slots": ["0x1"]}, "wrong_type", ".props",
         ".props must not be null. Leave it out instead."),
        ({"props": "BALANCE"}, "wrong_type", ".props", ".props must be a list, not text."),
        ({"props": [1]}, "wrong_type", ".props[0]",
         '.props[0] must be text in quotes, such as "BALANCE", not a number.'),
        ({"props": ["NONCE", "balance"]}, "unknown_prop", ".props[1]",
         '.props[1] is "balance", but an account\'s props are NONCE, BALANCE, STORAGE_ROOT and C'),
        ({"slots": {"0x1": True}}, "wrong_type", ".slots", ".slots must be a list, not an object."),
        ({"slots": [1]}, "wrong_type", ".slots[0]",
         '.slots[0] must be text in quotes, such as "0x1", not a number.'),
    ],
)  # fmt: skip
def test_a_malformed_account_is_refused(
    entry: object, code: str, path: str, beginning: str
) -> None:
    check(account_batch(entry), code, ACCOUNT + path, ACCOUNT + beginning)


@pytest.mark.parametrize(
    ("slot", "hint"),
    [("5", ': slot 5 is "0x5".'), ("10", ': slot 10 is "0xa".'), ("0x", ': slot 0 is "0x0".'),
     (f"0x{0:065x}", ", and this has 65."), (f"0x{LONG}", ", and this has 100,000."), ("ff", ".")],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_malformed_slot_is_refused_with_a_hint(slot: str, hint: str) -> None:
    path = f"{ACCOUNT}.slots[0]"
    with pytest.raises(RefusalError) as caught:
        read(account_batch({"slots": [slot]}))
    _, _, ended = caught.value.sentence.partition("but a slot is 0x and 1 to 64 hex digits")
    assert (caught.value.path, ended) == (path, hint)
