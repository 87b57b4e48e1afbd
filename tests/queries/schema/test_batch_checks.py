"""Valid batches are read as specified, up to the limits."""

from collections.abc import Callable

import pytest

from accounts.shared.errors import RefusalError
from queries.proving.witnesses import AccountField
from queries.schema.checked_batch import AccountRequest, BatchWarning
from tests.queries.schema.example_batches import (
    ADDRESS,
    BALANCE,
    CHECKSUMMED,
    LIMITS,
    account_batch,
    batch,
    block_batch,
    read,
)

pytestmark = pytest.mark.no_database

ACCOUNTS = "data.11155111.block:5.accounts"
WRONG_CHECKSUM = ADDRESS.replace("d8da", "D8da")


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


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
        CHECKSUMMED,
        (AccountField.NONCE, AccountField.BALANCE, AccountField.CODE_HASH),
        (word(2), word(1)),
    )
    second = AccountRequest(other, (), (word(2),))
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
