"""Decode proven words for people, from the word and the fact's name alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from eth_utils.address import to_checksum_address

from accounts.wallets import short_hash
from accounts.wording import datetime_from_unix, format_count, format_utc
from queries.amounts import exact_amount, gwei, short_amount
from queries.proving import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.reading import FactView

BLOB_GAS = 131_072  # gas of one blob
EMPTY_TRIE, EMPTY_CODE = EMPTY_TRIE_ROOT.hex(), EMPTY_CODE_HASH.hex()
# What these fields hold for an empty list, and its meaning.
EMPTY_HEADERS = {
    "UNCLES_HASH": (EMPTY_UNCLES_HASH.hex(), "no uncles"),
    "TRANSACTIONS_ROOT": (EMPTY_TRIE, "no transactions"),
    "RECEIPTS_ROOT": (EMPTY_TRIE, "no receipts"),
    "WITHDRAWALS_ROOT": (EMPTY_TRIE, "no withdrawals"),
    "LOGS_BLOOM": (keccak256(bytes(256)).hex(), "no logs"),
    "REQUESTS_HASH": (sha256().hexdigest(), "no requests"),
}
MAX_WORD = 2**256 - 1
MAX_SHORT_STRING = 31  # bytes
MAX_SHOWN_DIGITS = 40  # a longer number is shown in hex first
MIN_HASH = 2**128  # from here on a word is more likely a hash or a packed struct
# An address has twelve leading zero bytes; amounts have them too, but are seldom this large.
PLAUSIBLE_ADDRESSES = range(2**112, 2**160)


@dataclass(frozen=True, slots=True)
class WordForm:
    """One way to read a slot's word."""

    label: str
    text: str
    plain: str  # to copy
    is_guess: bool  # that it is the right way


@dataclass(frozen=True, slots=True)
class DecodedValue:
    short: str  # fits in a table cell
    exact: str
    unit_text: str = ""  # in another unit, such as `5 wei`
    remark: str = ""  # a sentence
    moment: datetime | None = None
    wei: str = ""  # digits to copy, if it is an amount
    is_title: bool = False  # the fact's sentence says it already


def same_text(text: str, unit_text: str = "", *, remark: str = "") -> DecodedValue:
    return DecodedValue(text, text, unit_text, remark)


def proves_no_account(facts: Sequence[FactView]) -> bool:
    """Whether all four fields are proven and empty; some contracts have only code or storage."""
    return is_absent({fact.name: fact.word for fact in facts if fact.account})


def is_absent(words: Mapping[str, str]) -> bool:
    """`words`: of an account, by the names of its facts."""
    zero = f"{0:064x}"
    fields = {"NONCE": zero, "BALANCE": zero, "STORAGE_ROOT": EMPTY_TRIE, "CODE_HASH": EMPTY_CODE}
    return all(words.get(name, "").removeprefix("0x") == word for name, word in fields.items())


def decode_account_field(name: str, number: int, currency: str) -> DecodedValue:
    if name == "BALANCE":
        return _decode_amount(number, currency)
    if name == "NONCE":
        return _decode_number(number)
    digits = f"{number:064x}"
    if name == "STORAGE_ROOT" and digits == EMPTY_TRIE:
        return same_text("empty storage")
    if name == "CODE_HASH" and digits == EMPTY_CODE:
        return same_text("empty code", remark="A wallet without code, or no account at all.")
    return _decode_hash(digits)


def _decode_amount(wei: int, currency: str) -> DecodedValue:
    exact, short = exact_amount(wei, currency), short_amount(wei, currency)
    return DecodedValue(short, exact, f"{wei:,} wei", wei=f"{wei}")


def _decode_hash(digits: str, remark: str = "") -> DecodedValue:
    return DecodedValue(short_hash(f"0x{digits}"), f"0x{digits}", remark=remark)


def decode_header_field(name: str, word: str) -> DecodedValue:
    number, digits = int(word, 16), word.removeprefix("0x")
    empty = EMPTY_HEADERS.get(name)
    if empty and digits == empty[0]:
        return same_text(empty[1], remark=HASH_REMARKS.get(name, ""))
    decode = HEADER_FIELDS.get(name)
    return decode(number) if decode else _decode_hash(digits, HASH_REMARKS.get(name, ""))


def _decode_number(number: int) -> DecodedValue:
    return same_text(f"{number:,}")


def _decode_gas(number: int) -> DecodedValue:
    return same_text(f"{number:,} gas")


def _decode_blob_gas(number: int) -> DecodedValue:
    blobs, rest = divmod(number, BLOB_GAS)
    return same_text(f"{number:,} gas", "" if rest else format_count(blobs, "blob"))


def _decode_base_fee(wei: int) -> DecodedValue:
    text = gwei(wei)
    return DecodedValue(text, text, f"{wei:,} wei", wei=f"{wei}")


def _decode_coinbase(number: int) -> DecodedValue:
    if number >= PLAUSIBLE_ADDRESSES.stop:
        return _decode_hash(f"{number:064x}")
    address = to_checksum_address(number.to_bytes(20, "big"))
    return DecodedValue(short_hash(address), address)


def decode_time(seconds: int) -> DecodedValue:
    moment = datetime_from_unix(seconds)
    if moment is None:
        return _decode_number(seconds)
    text = format_utc(moment)
    return DecodedValue(text, text, f"{seconds} unix seconds", moment=moment)


def _decode_block_nonce(number: int) -> DecodedValue:
    """A header's nonce: eight bytes, not a number."""
    if number >= 2**64:
        return _decode_hash(f"{number:064x}")
    remark = "Zero since blocks are no longer mined." if number == 0 else ""
    return same_text(f"0x{number:016x}", remark=remark)


def _decode_extra_data(number: int) -> DecodedValue:
    remark = "Up to 32 bytes are stored as they are, longer data (on some chains) as its keccak256."
    if number == 0:
        return same_text("empty", remark=remark)
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    exact = f"0x{content.hex()}"
    if text := _printable(content):
        return same_text(f"“{text}”", f"bytes {exact}", remark=remark)
    return DecodedValue(short_hash(exact), exact, remark=remark)


HEADER_FIELDS: Mapping[str, Callable[[int], DecodedValue]] = {
    "COINBASE": _decode_coinbase,
    "DIFFICULTY": _decode_number,
    "BLOCK_NUMBER": _decode_number,
    "GAS_LIMIT": _decode_gas,
    "GAS_USED": _decode_gas,
    "TIMESTAMP": decode_time,
    "EXTRA_DATA": _decode_extra_data,
    "NONCE": _decode_block_nonce,
    "BASE_FEE_PER_GAS": _decode_base_fee,
    "BLOB_GAS_USED": _decode_blob_gas,
    "EXCESS_BLOB_GAS": _decode_blob_gas,
}
# Remarks about hashes whose field name does not say what is hashed.
HASH_REMARKS = {
    "LOGS_BLOOM": "The keccak256 of the bloom filter, because its 256 bytes do not fit in a word.",
    "MIX_HASH": "The beacon chain's randomness (prevRandao), since blocks are no longer mined.",
}


def decode_slot(number: int) -> DecodedValue:
    """The likeliest form; `word_forms` has the others."""
    if number == 0:
        return same_text("zero", remark="Nothing was ever stored, or it was cleared.")
    text, address = _slot_guesses(number)
    if text:
        return same_text(f"“{text}”", remark="If it is a short string.")
    if address:
        return DecodedValue(short_hash(address), address, remark="If it is an address.")
    if number == MAX_WORD:
        return same_text("2^256 - 1", remark="The largest number that a slot can hold.")
    plain = f"0x{number:x}"
    if number >= MIN_HASH:
        return DecodedValue(short_hash(plain), f"0x{number:064x}")
    return same_text(f"{number:,}")


def word_forms(word: str) -> tuple[WordForm, ...]:
    """A slot's word as a number, in hex, and as a text or an address if it may be one."""
    number = int(word, 16)
    if number == 0:
        return ()
    text, address = _slot_guesses(number)
    is_long = len(str(number)) > MAX_SHOWN_DIGITS
    forms = [
        WordForm("Dec", f"{number:,}", str(number), not (is_long or text or address)),
        WordForm("Hex", word, word, is_long and not text),
    ]
    forms += [WordForm("Text", f"“{text}”", text, is_guess=True)] if text else []
    forms += [WordForm("Address", address, address, is_guess=True)] if address else []
    return tuple(forms)


def _slot_guesses(number: int) -> tuple[str, str]:
    """A text and an address that the word may be; empty if that is unlikely."""
    text = _short_string(number)
    has_all_bits_set = not number & (number + 1)
    if text or number not in PLAUSIBLE_ADDRESSES or has_all_bits_set:
        return text, ""
    return "", to_checksum_address(number.to_bytes(20, "big"))


def _short_string(number: int) -> str:
    """Solidity stores up to 31 bytes left-aligned, and twice their length in the last byte."""
    word = number.to_bytes(32, "big")
    length, odd = divmod(word[31], 2)
    if odd or not 0 < length <= MAX_SHORT_STRING or any(word[length:31]):
        return ""
    return _printable(word[:length])


def _printable(content: bytes) -> str:
    """Empty if it is not UTF-8, or has control or bidi characters."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and text.strip() else ""
