"""What a bundle proves, in lines for people."""

from collections.abc import Collection, Iterator

from eth_utils.address import to_checksum_address

from accounts.shared.wording import spoken
from queries.amounts import UNIT_DIGITS, in_units
from queries.proving.bundles import BlockProof, Fact, FactKind
from queries.proving.headers import FIELD_RULES, Form, HeaderField

ADDRESS_BYTES = 20
LONGEST_ALIGNED = 24  # longer names of slots push their values aside


def block_lines(block: BlockProof) -> Iterator[str]:
    header = block.header
    yield f"Block {header.number:,} of chain {block.chain}, {spoken(header.timestamp)}"
    yield f"  hash 0x{header.hash.hex()}"
    address, kind = to_checksum_address(block.registry.address), block.registry.kind
    yield f"  facts, as the {kind} registry {address} keeps them on chain {block.destination}:"
    absent = {each.proof.address for each in block.accounts if not each.proof.exists}
    rows = [(_whose(fact, absent), *_told(fact)) for fact in block.facts]
    width = max(min(len(name), LONGEST_ALIGNED) for _, name, _ in rows)
    before = ""
    for whose, name, value in rows:
        if whose != before:
            yield f"    {whose}"
            before = whose
        yield f"      {name:{width}}  {value}"


def _whose(fact: Fact, absent: Collection[bytes | None]) -> str:
    if fact.account is None:
        return "its header" if fact.kind is FactKind.HEADER_FIELD else "its time"
    there_is = " (there was no such account)" if fact.account in absent else ""
    return f"{to_checksum_address(fact.account)}{there_is}"


def _told(fact: Fact) -> tuple[str, str]:
    """Its name and its value."""
    number = int.from_bytes(fact.word, "big")
    if fact.kind is FactKind.BLOCK_AT_TIME:
        return spoken(int(fact.name)), f"block {number:,} was the last one"
    if fact.kind is FactKind.HEADER_FIELD:
        return fact.name, _header_value(HeaderField[fact.name], fact.word)
    if fact.kind is FactKind.STORAGE_SLOT:
        digits = fact.name[2:].lstrip("0") or "0"
        shown = "0" if number == 0 else f"0x{fact.word.hex()} ({number})"
        return f"slot 0x{digits}", shown
    if fact.name == "BALANCE":
        return fact.name, f"{in_units(number, UNIT_DIGITS)} ({number} wei)"
    return fact.name, str(number) if fact.name == "NONCE" else f"0x{fact.word.hex()}"


def _header_value(field: HeaderField, word: bytes) -> str:
    number = int.from_bytes(word, "big")
    if field is HeaderField.TIMESTAMP:
        return f"{number} ({spoken(number)})"
    if field is HeaderField.COINBASE:
        return str(to_checksum_address(word[-ADDRESS_BYTES:]))
    return str(number) if FIELD_RULES[field].form is Form.INTEGER else f"0x{word.hex()}"
