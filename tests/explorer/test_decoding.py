"""Decoding of proven words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.pages.fact_kinds import decode_fact
from queries.facts import BLOCK_AT_TIME
from queries.proving.facts.accounts import AccountFieldFact, SlotFact
from queries.proving.facts.headers import BlockAtTimeFact, HeaderFieldFact
from queries.proving.headers import HeaderField
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.reading.facts import FactView

pytestmark = pytest.mark.no_database

ETHER = 10**18
ACCOUNT = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
NUMBERS = {"NONCE": 0, "BALANCE": 1, "STORAGE_ROOT": 2, "CODE_HASH": 3}
NUMBER_OF_ACCOUNT = int(ACCOUNT, 16)


def word(number: int) -> str:
    return f"0x{number:064x}"


def account_field(name: str, value: int, ens_name: str = "") -> FactView:
    key = NUMBERS[name]
    fact = AccountFieldFact(key, bytes.fromhex(ACCOUNT[2:]))
    return FactView(fact, 1, 10, 7, ACCOUNT, ens_name, name, word(value))


def header_field(name: str, value: int, key: int = 11) -> FactView:
    fact = HeaderFieldFact(key)
    return FactView(fact, 1, 10, 7, "", "", name, word(value))


def slot(value: int, key: int = 5) -> FactView:
    fact = SlotFact(key, bytes.fromhex(ACCOUNT[2:]))
    return FactView(fact, 1, 10, 7, ACCOUNT, "", word(key), word(value))


def block_at_time(seconds: int, block: int = 7) -> FactView:
    fact = BlockAtTimeFact(seconds)
    return FactView(fact, 1, 10, block, "", "", BLOCK_AT_TIME, word(block))


def _text_slot(text: str) -> int:
    content = text.encode()
    return int.from_bytes(content.ljust(31, b"\0") + bytes([2 * len(content)]), "big")


@pytest.mark.parametrize(
    ("wei", "short", "exact"),
    [
        (123 * ETHER, "123 ETH", "123 ETH"),
        (0, "0 ETH", "0 ETH"),
        (1, "1 wei", "0.000000000000000001 ETH"),
        (1234 * ETHER + ETHER // 2, "1,234.5 ETH", "1,234.5 ETH"),
        (ETHER + 1, "1.000000… ETH", "1.000000000000000001 ETH"),
    ],
)
def test_a_balance_is_in_whole_units_and_wei(wei: int, short: str, exact: str) -> None:
    value = decode_fact(account_field("BALANCE", wei), "ETH")
    assert (value.short, value.exact) == (short, exact)
    assert (value.unit_text, value.wei) == (f"{wei:,} wei", f"{wei}")


@pytest.mark.parametrize(
    ("fact", "short"),
    [
        (account_field("NONCE", 1_234), "1,234"),
        (account_field("STORAGE_ROOT", int.from_bytes(EMPTY_TRIE_ROOT)), "empty storage"),
        (account_field("CODE_HASH", int.from_bytes(EMPTY_CODE_HASH)), "empty code"),
        (account_field("CODE_HASH", 2**255), "0x8000…0000"),
        (header_field("BLOCK_NUMBER", 5_186_021), "5,186,021"),
        (header_field("TIMESTAMP", 1_700_000_000), "2023-11-14 22:13:20 UTC"),
        (header_field("TIMESTAMP", 2**63), "9,223,372,036,854,775,808"),
        (header_field("COINBASE", NUMBER_OF_ACCOUNT), "0xd8dA…6045"),
        (header_field("GAS_LIMIT", 30_000_000), "30,000,000 gas"),
        (header_field("BASE_FEE_PER_GAS", 1_500_000_000), "1.5 gwei"),
        (header_field("BLOB_GAS_USED", 131_072 * 3), "393,216 gas"),
        (header_field("NONCE", 0), "0x0000000000000000"),
        (
            header_field("EXTRA_DATA", int.from_bytes(b"Titan (titanbuilder.xyz)")),
            "“Titan (titanbuilder.xyz)”",
        ),
        (header_field("EXTRA_DATA", int.from_bytes(b"\xff\x01")), "0xff01"),
        (header_field("EXTRA_DATA", 0), "empty"),
        (header_field("UNCLES_HASH", int.from_bytes(EMPTY_UNCLES_HASH)), "no uncles"),
        (header_field("LOGS_BLOOM", int.from_bytes(keccak256(bytes(256)))), "no logs"),
        (block_at_time(1_700_000_000, 18_573_000), "block 18,573,000"),
        (slot(0), "zero"),
        (slot(123_456_789), "123,456,789"),
        (slot(2**256 - 1), "2^256 - 1"),
        (slot(NUMBER_OF_ACCOUNT), "0xd8dA…6045"),
        (slot(2**128 - 1), f"{2**128 - 1:,}"),
        (slot(2**128 + 2**200), "0x1000…0000"),
        (slot(_text_slot("Tether USD")), "“Tether USD”"),
        (slot(_text_slot("\u202eDSU")), "0xe280…000c"),
    ],
)
def test_the_short_form(fact: FactView, short: str) -> None:
    assert decode_fact(fact, "ETH").short == short


def test_an_address_is_checksummed() -> None:
    assert decode_fact(header_field("COINBASE", NUMBER_OF_ACCOUNT), "ETH").exact == ACCOUNT
    plausible = decode_fact(slot(NUMBER_OF_ACCOUNT), "ETH")
    assert plausible.exact == ACCOUNT
    assert plausible.remark == "If it is an address."


WORDS = st.integers(0, 2**256 - 1) | st.binary(max_size=31).map(
    lambda text: int.from_bytes(text.ljust(31, b"\0") + bytes([2 * len(text)]), "big")
)


@given(WORDS, st.sampled_from(sorted(HeaderField.__members__)))
def test_any_word_is_decoded_to_printable_text(number: int, name: str) -> None:
    for fact in (slot(number), header_field(name, number), account_field("BALANCE", number)):
        value = decode_fact(fact, "ETH")
        assert value.short
        assert value.exact
        for text in (value.short, value.exact, value.unit_text):
            assert text.isprintable()
