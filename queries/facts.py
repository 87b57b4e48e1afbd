"""The facts that a query asks for, and their names. A query stores its fields as a bit mask.

Iterating the enum dominated the cost, so results are cached by bit mask.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from queries.models import Query
from queries.proving.facts import BlockFact, FactKind
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField

BLOCK_AT_TIME = "BLOCK_AT_TIMESTAMP"
FIELD_NAMES = frozenset((*AccountField.__members__, *HeaderField.__members__))


def display_name(name: str) -> str:
    """A slot with 0x, other names as they are."""
    return name if name in FIELD_NAMES or ":" in name else f"0x{name}"


def display_values(words: Mapping[str, str]) -> dict[str, str]:
    """A query's values with 0x; the database stores bare hex digits."""
    return {display_name(name): f"0x{word}" for name, word in words.items()}


# PROPOSER is another name of COINBASE. Answers use the name that the request used.
_HEADER_BITS = {**{field.name: field.value for field in HeaderField}, "PROPOSER": 30}

_CACHED_HEADER_SETS = 1_024  # bounded, because clients choose the sets


@lru_cache(1 << len(AccountField))
def account_fields(bits: int) -> tuple[AccountField, ...]:
    return tuple(field for field in AccountField if bits >> field & 1)


@lru_cache(_CACHED_HEADER_SETS)
def header_names(bits: int) -> tuple[str, ...]:
    return tuple(name for name, bit in _HEADER_BITS.items() if bits >> bit & 1)


def spellings(field: BlockFact) -> tuple[str, ...]:
    """The names that requests may use for a header field."""
    return ("COINBASE", "PROPOSER") if field.name == "COINBASE" else (field.name,)


def header_bits(names: Iterable[str]) -> int:
    return sum(1 << _HEADER_BITS[name] for name in set(names))


def fact_count(query: Any) -> int:
    """The number of facts that a query asks for, by its row, without a block at a time."""
    fields: int = query.props.bit_count() + query.header_fields.bit_count()
    return fields + int(query.slot_count) + int(query.event_count)


def facts_of_block(
    timestamp: int | None, header_fields: Iterable[str], events: Iterable[str]
) -> Iterator[tuple[str, BlockFact]]:
    """The facts of a query about the block itself, each with its name as the query spells it."""
    if timestamp is not None:
        yield BLOCK_AT_TIME, BlockFact(FactKind.BLOCK_AT_TIME, timestamp)
    for name in header_fields:
        yield name, BlockFact(FactKind.HEADER_FIELD, HeaderField[name])
    for name in events:
        if fact := BlockFact.parse(name):
            yield name, fact


def facts_of_account(
    account: str, props: Iterable[AccountField], slots: Iterable[str]
) -> Iterator[tuple[str, BlockFact]]:
    """The same of its account, which may be empty until its ENS name is resolved."""
    address = bytes.fromhex(account[2:])
    for field in props:
        yield field.name, BlockFact(FactKind.ACCOUNT_FIELD, field, address)
    for slot in slots:
        yield slot, BlockFact(FactKind.STORAGE_SLOT, int(slot, 16), address)


def facts_of(query: Query) -> dict[str, BlockFact]:
    """The facts that a query requests, by the names of their values.

    Those of its events are known once the block's content has been read.
    """
    if query.block is None:
        raise ValueError("the query's block is not resolved yet")
    fields, events = header_names(query.header_fields), (event["name"] for event in query.events)
    facts = dict(facts_of_block(query.timestamp, fields, events))
    if query.account:
        facts |= facts_of_account(query.account, account_fields(query.props), query.slots)
    return facts
