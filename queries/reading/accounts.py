"""What was proven of an account, block for block."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, QuerySet

from queries.models import Query
from queries.reading.lines import QueryLine, line_of, with_lines
from queries.reading.slices import Cursor, Slice, slice_of

# Names and balances are those of the newest rows: a page reads so many and no more.
NEWEST = 500


@dataclass(frozen=True, slots=True)
class AccountView:
    """An address, and on which chains something is proven of it."""

    address: str
    chains: tuple[int, ...]  # where facts are, of those that were looked at
    newest: int | None  # the chain that it was last asked on; None: it never was
    names: tuple[str, ...]  # it was asked under, lately


@dataclass(frozen=True, slots=True)
class Balance:
    """What the account had at the end of a block."""

    block: int
    wei: int


def account(address: str, chains: Iterable[int]) -> AccountView:
    """In two statements: the last query of it, and the names of the last ones."""
    facts = _facts(address)
    known = {f"on_{chain}": Exists(facts.filter(source=chain)) for chain in chains}
    asked = Query.objects.filter(account=address).order_by("-id")
    newest = asked.annotate(**known).values("source", *known).first()
    if newest is None:
        return AccountView(address, (), None, ())
    with_facts = tuple(int(name.removeprefix("on_")) for name in known if newest[name])
    lately = asked.values_list("name", flat=True)[:NEWEST]
    names = tuple(dict.fromkeys(name for name in lately if name))
    return AccountView(address, with_facts, newest["source"], names)


def facts_of(address: str, chain: int, cursor: Cursor | None, most: int) -> Slice[QueryLine]:
    """Queries with their values, newest block first."""
    rows = _facts(address).filter(source=chain)
    return slice_of(with_lines(rows), ("block", "id"), cursor, most, line_of)


def balances_of(address: str, chain: int) -> tuple[Balance, ...]:
    """By block, oldest first, each block once; those among the newest facts."""
    rows = _facts(address).filter(source=chain).order_by("-block", "-id")
    found = {
        block: int(word, 16)
        for block, word in rows.values_list("block", "values__BALANCE")[:NEWEST]
        if word is not None and block is not None
    }
    return tuple(Balance(block, wei) for block, wei in sorted(found.items()))


def _facts(address: str) -> QuerySet[Query]:
    return Query.objects.filter(account=address, values__isnull=False).exclude(account="")
