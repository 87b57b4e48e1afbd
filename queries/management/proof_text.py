"""Format the facts of a proof file as text."""

from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter

from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_timestamp
from queries.amounts import UNIT_DIGITS, format_units
from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.bundles import BlockProof, BundleFact
from queries.proving.facts import FactKind
from queries.proving.headers import FIELD_RULES, FieldFormat, HeaderField

MAX_ALIGNED_NAME = 24  # longer slot numbers do not widen the column


def block_lines(block: BlockProof) -> Iterator[str]:
    header = block.header
    yield f"Block {header.number:,} of chain {block.chain}, {format_timestamp(header.timestamp)}"
    yield f"  hash 0x{header.hash.hex()}"
    address, kind = to_checksum_address(block.registry.address), block.registry.kind
    yield f"  facts, as the {kind} registry {address} keeps them on chain {block.destination}:"
    absent = {entry.proof.address for entry in block.accounts if not entry.proof.exists}
    rows = [(_owner_line(fact, absent), *_name_and_value(fact)) for fact in block.facts]
    width = max(min(len(name), MAX_ALIGNED_NAME) for _, name, _ in rows)
    for owner, group in groupby(rows, key=itemgetter(0)):
        yield f"    {owner}"
        yield from (f"      {name:{width}}  {value}" for _, name, value in group)


def _owner_line(fact: BundleFact, absent: Collection[bytes | None]) -> str:
    if fact.account is None:
        return "its header" if fact.kind is FactKind.HEADER_FIELD else "its time"
    remark = " (there was no such account)" if fact.account in absent else ""
    return f"{to_checksum_address(fact.account)}{remark}"


def _name_and_value(fact: BundleFact) -> tuple[str, str]:
    number = int.from_bytes(fact.word, "big")
    if fact.kind is FactKind.BLOCK_AT_TIME:
        return format_timestamp(int(fact.name)), f"block {number:,} was the last one"
    if fact.kind is FactKind.HEADER_FIELD:
        return fact.name, _header_value(HeaderField[fact.name], fact.word)
    if fact.kind is FactKind.STORAGE_SLOT:
        digits = fact.name[2:].lstrip("0") or "0"
        return f"slot 0x{digits}", f"0x{fact.word.hex()} ({number})" if number else "0"
    if fact.name == "BALANCE":
        return fact.name, f"{format_units(number, UNIT_DIGITS)} ({number} wei)"
    return fact.name, str(number) if fact.name == "NONCE" else f"0x{fact.word.hex()}"


def _header_value(field: HeaderField, word: bytes) -> str:
    number = int.from_bytes(word, "big")
    if field is HeaderField.TIMESTAMP:
        return f"{number} ({format_timestamp(number)})"
    if field is HeaderField.COINBASE:
        return str(to_checksum_address(word[-ADDRESS_BYTES:]))
    return str(number) if FIELD_RULES[field].format is FieldFormat.INTEGER else f"0x{word.hex()}"
