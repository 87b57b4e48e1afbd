"""Lists of facts: of an account, of a block, and those that a transaction proved.

A list shows each fact once, whichever batches asked for it, with all destinations on which it was
asked for.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from queries.database.stored_facts import MAX_LISTED
from queries.models import IS_UNRESOLVED, Fact, Query
from queries.proving import AccountField
from queries.proving.facts import KINDS, EventFact
from queries.reading.facts import FactView, fact_view
from queries.reading.pagination import Cursor, Page, read_page

FACT_LIST_COLUMNS = ("block", "id")
FactRows = QuerySet[Fact]
Place = tuple[int, int, str]  # a source, a block, and an account or empty
MAX_REQUESTS = 3  # listed beside facts


def account_facts(address: str, chain: int | None) -> FactRows:
    """The account's proven facts; none without a chain."""
    if chain is None:
        return Fact.objects.none()
    rows = Fact.objects.filter(account=address, source=chain, proven_at__isnull=False)
    return rows.exclude(account="")


def block_facts(chain: int, number: int) -> FactRows:
    """The facts that batches have asked for, proven or not."""
    return Fact.objects.filter(source=chain, block=number)


def transaction_facts(transaction_id: int) -> FactRows:
    """The facts that the transaction proved."""
    return Fact.objects.filter(transaction=transaction_id, proven_at__isnull=False)


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A fact in a list; its word is empty while it is not proven."""

    fact: FactView  # on the first destination
    destinations: tuple[int, ...]  # on which it is proven, or else asked for; the source first
    is_open: bool  # a query waits for it, or for another one of its group


@dataclass(frozen=True, slots=True)
class QueryReference:
    """The batch and position of a query."""

    batch: str
    position: int


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """The facts of an account in a block, or those of the block itself."""

    facts: tuple[ListEntry, ...]
    unlisted: Mapping[str, int]  # how many more there are, by kind
    requests: tuple[QueryReference, ...]  # the newest queries for some of them, newest first
    more_requests: int  # how many older ones there are


def read_groups(rows: FactRows, cursor: Cursor | None, limit: int) -> Page[ListedGroup]:
    """A page of about `limit` facts, newest block first; it ends with a whole group."""
    listed = rows.filter(is_listed=True).select_related("job", "token").defer("job__header")
    page = read_page(listed, FACT_LIST_COLUMNS, cursor, limit, group=_place)
    groups = dict[Place, list[Fact]]()
    for row in page.rows:
        groups.setdefault(_place(row), []).append(row)
    places = sorted(groups, key=lambda place: _place_order(place, groups[place]))
    keys = {(row.job_id, row.block, row.account) for row in page.rows}
    requests, unlisted = _requests(places), _unlisted_counts(rows, keys)
    return page.with_rows(
        _group(groups[place], requests.get(place, []), unlisted.get(place, {})) for place in places
    )


def _place(row: Any) -> Place:
    return row.source, row.block, row.account


def _place_order(place: Place, rows: Sequence[Fact]) -> tuple[object, ...]:
    """The newest block first; in it, its own facts, then accounts in the order of the requests."""
    source, block, account = place
    return source, -block, bool(account), min(row.pk for row in rows)


def _group(
    rows: Sequence[Fact], requests: Sequence[Any], unlisted: Mapping[str, int]
) -> ListedGroup:
    ens_name = next((row.name for row in requests if row.name), "")
    by_name = dict[str, list[Fact]]()
    for row in sorted(rows, key=_destination_order):
        by_name.setdefault(row.name, []).append(row)
    is_open = bool(requests and requests[0].open_count)
    facts = [_listed_fact(same, ens_name, is_open=is_open) for same in by_name.values()]
    return ListedGroup(
        tuple(sorted(facts, key=_fact_order)),
        unlisted,
        tuple(QueryReference(row.batch_id, row.position) for row in requests),
        requests[0].total - len(requests) if requests else 0,
    )


def _destination_order(row: Fact) -> tuple[bool, bool, int]:
    """Proven facts first, in the order of destinations of a fact's page."""
    return row.proven_at is None, row.job.destination != row.source, row.job.destination


def _listed_fact(rows: Sequence[Fact], ens_name: str, *, is_open: bool) -> ListEntry:
    """`rows`: the fact on each destination. `is_open`: a query waits for facts of its group."""
    proven = [row for row in rows if row.proven_at] or rows
    return ListEntry(
        fact_view(rows[0], ens_name), tuple(row.job.destination for row in proven), is_open
    )


def _fact_order(entry: ListEntry) -> tuple[object, ...]:
    """Facts of the header, its time first, each transaction's, the block's."""
    fact, group = entry.fact.identity, (0, 0)
    if isinstance(fact, EventFact):
        group = (2, 0) if fact.transaction is None else (1, fact.transaction)
    return group, not entry.fact.is_time, list(KINDS).index(fact.kind), fact.position


def _requests(places: Iterable[Place]) -> Mapping[Place, list[Any]]:
    """The newest queries for each of these accounts, and how many there are in all."""
    keys = list(places)
    place = [F("source"), F("block"), F("account")]
    rows = Query.objects.filter(
        source__in={source for source, _, _ in keys},
        block__in={block for _, block, _ in keys},
        account__in={account for _, _, account in keys},
    ).exclude(IS_UNRESOLVED)
    ranked_rows = rows.annotate(
        rank=Window(RowNumber(), partition_by=place, order_by="-pk"),
        total=Window(Count("*"), partition_by=place),
        open_count=Window(Count("pk", filter=Q(has_ended=False)), partition_by=place),
    )
    newest_rows = ranked_rows.filter(rank__lte=MAX_REQUESTS).order_by("-pk")
    columns = ("source", "block", "account", "name", "batch_id", "position", "total", "open_count")
    matches = defaultdict[Place, list[Any]](list)
    for row in newest_rows.values_list(*columns, named=True):
        matches[_place(row)].append(row)
    return matches


def _unlisted_counts(
    rows: FactRows, keys: Collection[tuple[int, int, str]]
) -> Mapping[Place, Mapping[str, int]]:
    """How many of the rows with these jobs, blocks and accounts lists do not show, by kind."""
    if not keys:
        return {}
    jobs, blocks, accounts = (set(column) for column in zip(*keys, strict=True))
    # With the block, SQLite reads a busy account by its index from there on.
    unlisted = rows.filter(job__in=jobs, block__in=blocks, account__in=accounts, is_listed=False)
    counts = defaultdict[Place, dict[str, int]](dict)
    columns = ("source", "block", "account", "kind", "job")
    counted = unlisted.values(*columns).annotate(total=Count("*")).order_by()
    for row in counted.values_list(*columns, "total", named=True):
        kinds = counts[_place(row)]  # of the destination with most
        kinds[row.kind] = max(row.total, kinds.get(row.kind, 0))
    return counts


MAX_SUMMARISED = 500  # facts, the newest


class ListLine(NamedTuple):
    """A proven fact on one destination, in few columns."""

    source: int
    block: int
    account: str
    kind: str
    name: str
    word: bytes
    job: int
    destination: int

    @property
    def key(self) -> tuple[int, int, str, str]:
        return self.source, self.block, self.account, self.name


@dataclass(frozen=True, slots=True)
class ListSummary:
    """Figures of a list's proven facts, or of the newest ones if it has more."""

    lines: tuple[ListLine, ...]  # newest block first
    unlisted_count: int
    has_more: bool

    @property
    def facts(self) -> tuple[ListLine, ...]:
        """Each fact once."""
        return tuple({line.key: line for line in self.lines}.values())

    @property
    def fact_count(self) -> int:
        return len(self.facts) + self.unlisted_count

    @property
    def blocks(self) -> tuple[int, ...]:
        """Newest first."""
        return tuple(dict.fromkeys(line.block for line in self.lines))

    @property
    def accounts(self) -> frozenset[str]:
        return frozenset(line.account for line in self.lines) - {""}

    @property
    def balances(self) -> tuple[ListLine, ...]:
        """Of an account, newest block first."""
        return tuple(line for line in self.facts if line.name == AccountField.BALANCE.name)

    @property
    def destinations(self) -> frozenset[int]:
        return frozenset(line.destination for line in self.lines)

    def destinations_of(self, fact: ListLine) -> list[int]:
        """The source first."""
        destinations = sorted(line.destination for line in self.lines if line.key == fact.key)
        return sorted(destinations, key=fact.source.__ne__)


def summarise_facts(rows: FactRows) -> ListSummary:
    proven = rows.filter(proven_at__isnull=False)
    columns = [*ListLine._fields[:-1], "job__destination"]
    listed = proven.filter(is_listed=True).order_by("-block", "-id").values_list(*columns)
    lines = [ListLine(*row) for row in listed[: MAX_SUMMARISED + 1]]
    newest = tuple(lines[:MAX_SUMMARISED])
    counts = Counter((line.job, line.block, line.account, line.kind) for line in newest)
    wide = {key[:3] for key, count in counts.items() if count >= MAX_LISTED}
    count = sum(sum(kinds.values()) for kinds in _unlisted_counts(proven, wide).values())
    return ListSummary(newest, count, has_more=len(lines) > MAX_SUMMARISED)
