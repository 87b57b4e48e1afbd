"""The facts that a query asks for, and their names. A query stores its fields as a bit mask.

Iterating the enum dominated the cost, so results are cached by bit mask.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast
from eth_utils.address import to_checksum_address

from queries.models import Query
from queries.proving import AccountField, HeaderField
from queries.proving.facts import (
    AccountFieldFact,
    BlockAtTimeFact,
    BlockFact,
    HeaderFieldFact,
    SlotFact,
    parse_fact,
)

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
        yield BLOCK_AT_TIME, BlockAtTimeFact(query.timestamp)
    for name in header_names(query.header_fields):
        yield name, HeaderFieldFact(HeaderField[name])
    for name in query.event_names:
        if fact := parse_fact(name):
            yield name, fact
    account = bytes.fromhex(query.account[2:])
    for field in account_fields(query.props):
        yield field.name, AccountFieldFact(field, account)
    for slot in query.slots:
        yield f"0x{slot}", SlotFact(int(slot, 16), account)


def facts_of(query: Any) -> dict[str, BlockFact]:
    """The facts that a query asks for, by their names; its block must be resolved.

    Those of its account are missing until its ENS name is resolved.
    """
    if query.block is None:
        raise ValueError("the query's block is not resolved yet")
    return {
        name: fact for name, fact in requested_facts(query) if fact.account or not fact.has_account
    }


def queries_for_fact(fact: BlockFact, queries: QuerySet[Query], account: str) -> QuerySet[Query]:
    """Those of the queries of the fact's block that ask for it; `account`: as rows have it."""
    if isinstance(fact, BlockAtTimeFact):
        return queries.filter(timestamp=fact.key)
    queries = queries.filter(account=account)
    if fact.is_event:
        names = queries.filter(event_count__gt=0).annotate(text=Cast("event_names", TextField()))
        return names.filter(text__contains=f'"{fact.name}"')
    if isinstance(fact, SlotFact):
        slots = queries.filter(slot_count__gt=0).annotate(text=Cast("slots", TextField()))
        return slots.filter(text__contains=fact.name[2:])
    if isinstance(fact, AccountFieldFact):
        column, bits = "props", 1 << fact.key
    else:
        column, bits = "header_fields", header_bits(spellings(fact))
    return queries.annotate(requested=F(column).bitand(bits)).filter(requested__gt=0)


@lru_cache(1 << 13)  # each pass names thousands of accounts of a block several times
def row_account(account: bytes | None) -> str:
    """The account as rows have it: checksummed, or empty for the block itself."""
    return to_checksum_address(account) if account else ""


def subject(query: Any, fact: BlockFact) -> str:
    """The account of a query's fact; empty for facts of the block."""
    return query.account if fact.has_account else ""
