"""What a proven word means to a person. Pure: it uses only the word and the fact's name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from eth_utils.address import to_checksum_address

from accounts.shared.wallets import shortened
from accounts.shared.wording import moment_of, utc
from queries.amounts import exact_amount, gwei, short_amount
from queries.proving.bundles import FactKind
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.reading.facts import FactView

BLOB = 131_072  # units of gas
NUMBER_SHOWN = 10**15  # a greater one is shown as hex where there is little room
EMPTY_TRIE, EMPTY_CODE = EMPTY_TRIE_ROOT.hex(), EMPTY_CODE_HASH.hex()
# The hash of nothing in these fields, and what it means.
EMPTY_HEADERS = {
    "UNCLES_HASH": (EMPTY_UNCLES_HASH.hex(), "no uncles"),
    "TRANSACTIONS_ROOT": (EMPTY_TRIE, "no transactions"),
    "RECEIPTS_ROOT": (EMPTY_TRIE, "no receipts"),
    "WITHDRAWALS_ROOT": (EMPTY_TRIE, "no withdrawals"),
    "LOGS_BLOOM": (keccak256(bytes(256)).hex(), "no logs"),
    "REQUESTS_HASH": (sha256().hexdigest(), "no requests"),
}
GREATEST = 2**256 - 1
LARGE = 2**128  # from here on a word is rather a hash, or several values beside each other
# A word that is an address begins with twelve zeros; so do amounts, which are seldom this large.
PLAUSIBLE_ADDRESSES = range(2**112, 2**160)


@dataclass(frozen=True, slots=True)
class Reading:
    """The word in one more way."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """What is read first, and what stands beside it."""

    short: str  # fits a line
    exact: str
    readings: tuple[Reading, ...] = ()
    remark: str = ""  # a sentence
    moment: datetime | None = None
    address: str = ""  # where the word is one for certain


def _as_it_is(text: str, *readings: Reading, remark: str = "") -> Decoded:
    return Decoded(text, text, readings, remark)


def decoded(fact: FactView, currency: str) -> Decoded:
    if fact.kind is FactKind.BLOCK_AT_TIME:
        shown, asked = f"block {int(fact.word, 16):,}", _moment(fact.key)
        remark = f"The last block that is not later than {asked.exact}."
        return Decoded(shown, shown, asked.readings, remark, asked.moment)
    of_account = fact.kind is FactKind.ACCOUNT_FIELD
    return decoded_value(fact.name, fact.word, currency, of_account=of_account)


def decoded_value(name: str, word: str, currency: str, *, of_account: bool) -> Decoded:
    """By what it is called: a nonce may be an account's or a header's."""
    number = int(word, 16)
    if name.startswith("0x"):
        return _slot(number)
    return _account_field(name, number, currency) if of_account else _header_field(name, number)


def no_such_account(facts: Sequence[FactView]) -> bool:
    """Whether an account's four fields are all proven, and those of an address where nothing is.

    Fewer do not show it: one with neither nonce nor balance may have code, and a few contracts
    from before EIP-161 have neither, and no code, but storage.
    """
    return is_absent(
        {fact.name: fact.word for fact in facts if fact.kind is FactKind.ACCOUNT_FIELD}
    )


def is_absent(fields: Mapping[str, str]) -> bool:
    """The same by what an account's fields are called."""
    zero = f"{0:064x}"
    return {name: word.removeprefix("0x") for name, word in fields.items()} == {
        "NONCE": zero,
        "BALANCE": zero,
        "STORAGE_ROOT": EMPTY_TRIE,
        "CODE_HASH": EMPTY_CODE,
    }


def _account_field(name: str, number: int, currency: str) -> Decoded:
    if name == "BALANCE":
        return _amount(number, currency)
    if name == "NONCE":
        return _grouped(number)
    digits = f"{number:064x}"
    if name == "STORAGE_ROOT" and digits == EMPTY_TRIE:
        return _as_it_is("empty storage")
    if name == "CODE_HASH" and digits == EMPTY_CODE:
        return _as_it_is("empty code", remark="A wallet without code, or no account at all.")
    return _hash(digits)


def _amount(wei: int, currency: str) -> Decoded:
    exact, short = exact_amount(wei, currency), short_amount(wei, currency)
    return Decoded(short, exact, (Reading("wei", f"{wei:,}"),))


def _hash(digits: str, remark: str = "") -> Decoded:
    return Decoded(shortened(f"0x{digits}"), f"0x{digits}", remark=remark)


def _header_field(name: str, number: int) -> Decoded:
    digits = f"{number:064x}"
    nothing = EMPTY_HEADERS.get(name)
    if nothing and digits == nothing[0]:
        return _as_it_is(nothing[1], remark=HASHES.get(name, ""))
    read = HEADER_FIELDS.get(name)
    return read(number) if read else _hash(digits, HASHES.get(name, ""))


def _grouped(number: int) -> Decoded:
    return _as_it_is(f"{number:,}")


def _gas(number: int) -> Decoded:
    return _as_it_is(f"{number:,} gas")


def _blob_gas(number: int) -> Decoded:
    blobs, rest = divmod(number, BLOB)
    return _gas(number) if rest else _as_it_is(f"{number:,} gas", Reading("blobs", f"{blobs:,}"))


def _base_fee(wei: int) -> Decoded:
    return _as_it_is(gwei(wei), Reading("wei", f"{wei:,}"))


def _address(number: int) -> Decoded:
    if number >= PLAUSIBLE_ADDRESSES.stop:
        return _hash(f"{number:064x}")
    address = to_checksum_address(number.to_bytes(20, "big"))
    return Decoded(shortened(address), address, address=address)


def _moment(seconds: int) -> Decoded:
    moment = moment_of(seconds)
    if moment is None:
        return _grouped(seconds)
    shown = utc(moment)
    return Decoded(shown, shown, (Reading("unix seconds", f"{seconds}"),), moment=moment)


def _seal(number: int) -> Decoded:
    """Eight bytes that are not a number."""
    if number >= 2**64:
        return _hash(f"{number:064x}")
    remark = "Zero since blocks are no longer mined." if number == 0 else ""
    return _as_it_is(f"0x{number:016x}", remark=remark)


def _extra_data(number: int) -> Decoded:
    remark = "Up to 32 bytes are stored as they are, longer data (on some chains) as its keccak256."
    if number == 0:
        return _as_it_is("empty", remark=remark)
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    exact = f"0x{content.hex()}"
    if text := _printable(content):
        return _as_it_is(f"“{text}”", Reading("bytes", exact), remark=remark)
    return Decoded(shortened(exact), exact, remark=remark)


HEADER_FIELDS: Mapping[str, Callable[[int], Decoded]] = {
    "COINBASE": _address,
    "DIFFICULTY": _grouped,
    "BLOCK_NUMBER": _grouped,
    "GAS_LIMIT": _gas,
    "GAS_USED": _gas,
    "TIMESTAMP": _moment,
    "EXTRA_DATA": _extra_data,
    "NONCE": _seal,
    "BASE_FEE_PER_GAS": _base_fee,
    "BLOB_GAS_USED": _blob_gas,
    "EXCESS_BLOB_GAS": _blob_gas,
}
# What a hash is the hash of, where its name does not say.
HASHES = {
    "LOGS_BLOOM": "The keccak256 of the bloom filter's 256 bytes, which no word can hold.",
    "MIX_HASH": "The beacon chain's randomness (prevRandao), since blocks are no longer mined.",
}


def _slot(number: int) -> Decoded:
    if number == 0:
        return _as_it_is("zero", remark="Nothing was ever stored, or it was cleared.")
    decimal, plain = f"{number:,}", f"0x{number:x}"
    as_number, as_hex = Reading("number", decimal), Reading("hex", plain)
    if text := _short_string(number):
        return _as_it_is(f"“{text}”", as_number, remark="If it is a short string.")
    has_all_bits_set = not number & (number + 1)
    if number in PLAUSIBLE_ADDRESSES and not has_all_bits_set:
        address = to_checksum_address(number.to_bytes(20, "big"))
        return Decoded(shortened(address), address, (as_number, as_hex), "If it is an address.")
    if number == GREATEST:
        remark = "The greatest number that a slot holds."
        return _as_it_is("2^256 - 1", as_number, remark=remark)
    if number >= LARGE:
        return Decoded(shortened(plain), f"0x{number:064x}", (as_number,))
    short = decimal if number < NUMBER_SHOWN else shortened(plain)
    return Decoded(short, decimal, (as_hex,))


def _short_string(number: int) -> str:
    """Solidity's own form for up to 31 bytes: they stand first, twice their count last."""
    word = number.to_bytes(32, "big")
    length, odd = divmod(word[31], 2)
    if odd or not 0 < length <= 31 or any(word[length:31]):  # noqa: PLR2004
        return ""
    return _printable(word[:length])


def _printable(content: bytes) -> str:
    """Empty where it is no text, or holds what moves or hides text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and text.strip() else ""
