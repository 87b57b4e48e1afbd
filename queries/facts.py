"""The facts that a query asks for, and their names. A query stores its fields as a bit mask.

Iterating the enum dominated the cost, so results are cached by bit mask.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from eth_utils.address import to_checksum_address

from queries.proving.facts import ACCOUNT_KINDS, BlockFact, FactKind
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField

BLOCK_AT_TIME = "BLOCK_AT_TIMESTAMP"
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


def requested_facts(query: Any) -> Iterator[tuple[str, BlockFact]]:
    """The facts that a query asks for, by its row, each with its name as the query spells it.

    Those of its events are known once the block's content has been read. Those of its account have
    no address until its ENS name is resolved.
    """
    if query.timestamp is not None:
        yield BLOCK_AT_TIME, BlockFact(FactKind.BLOCK_AT_TIME, query.timestamp)
    for name in header_names(query.header_fields):
        yield name, BlockFact(FactKind.HEADER_FIELD, HeaderField[name])
    for name in query.event_names:
        if fact := BlockFact.parse(name):
            yield name, fact
    account = bytes.fromhex(query.account[2:])
    for field in account_fields(query.props):
        yield field.name, BlockFact(FactKind.ACCOUNT_FIELD, field, account)
    for slot in query.slots:
        yield f"0x{slot}", BlockFact(FactKind.STORAGE_SLOT, int(slot, 16), account)


def facts_of(query: Any) -> dict[str, BlockFact]:
    """The facts that a query asks for, by their names; its block must be resolved.

    Those of its account are missing until its ENS name is resolved.
    """
    if query.block is None:
        raise ValueError("the query's block is not resolved yet")
    return {
        name: fact
        for name, fact in requested_facts(query)
        if fact.account or fact.kind not in ACCOUNT_KINDS
    }


@lru_cache(1 << 13)  # each pass names thousands of accounts of a block several times
def row_account(account: bytes | None) -> str:
    """The account as rows have it: checksummed, or empty for the block itself."""
    return to_checksum_address(account) if account else ""


def subject(query: Any, fact: BlockFact) -> str:
    """The account of a query's fact; empty for facts of the block."""
    return query.account if fact.kind in ACCOUNT_KINDS else ""
