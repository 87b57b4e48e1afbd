"""What the polls of live pages compare: the columns that their pages show, read in a few statements
and without making views of them.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery

from accounts.models import Account
from queries.feeds.triggers import TRIGGERS
from queries.models import (
    BlockJob,
    ChainRecord,
    Fact,
    FactMention,
    Feed,
    FeedRun,
    NodeRecord,
    Query,
)
from queries.statuses import FeedState

Columns = Sequence[tuple[Any, ...]]

_COUNTED_IN_BLOCKS = {
    code for code, kind in TRIGGERS.items() if kind.can_run_now and not kind.is_time
}

_FEED_COLUMNS = (
    "id", "name", "state", "trigger", "source", "reason", "waits_for", "due", "budget",
    "last_value", "read_value",
)  # fmt: skip
_NEWEST_RUNS = """
    SELECT * FROM (
        SELECT id, batch_id, error_code FROM queries_feedrun
        WHERE feed_id = %s AND submitted_at IS NOT NULL ORDER BY id DESC LIMIT %s
    ) AS newest
"""
_RUN_STATES = """
    SELECT runs.id, runs.error_code, batch.status, batch.spent, delivery.state, delivery.refusals,
        delivery.transaction_id, delivery.wait_code
    FROM ({}) AS runs
    LEFT JOIN queries_batch AS batch ON batch.id = runs.batch_id
    LEFT JOIN queries_delivery AS delivery ON delivery.batch_id = runs.batch_id
    ORDER BY runs.id, delivery.position
"""


def chain_changes(chains: Collection[int]) -> Columns:
    """The newest and the final block of each chain, and what nodes answered."""
    records = ChainRecord.objects.filter(chain__in=chains).order_by("chain")
    nodes = NodeRecord.objects.filter(chain__in=chains).order_by("chain", "position")
    return [
        *records.values_list("chain", "number", "final_number", "signer"),
        *nodes.values_list("chain", "position", "fault", "lag"),
    ]


def feed_changes(feed_id: str, run_limit: int) -> Columns:
    """The feed, and so many of its newest runs with their deliveries; nothing if it is unknown."""
    return _feed_changes(Feed.objects.filter(pk=feed_id), run_limit)


def own_feed_changes(owner: Account, limit: int, run_limit: int) -> Columns:
    """As `feed_changes`, of so many of the account's newest feeds."""
    return _feed_changes(Feed.objects.filter(owner=owner).order_by("-id")[:limit], run_limit)


def _feed_changes(feeds: QuerySet[Feed], run_limit: int) -> Columns:
    waiting = FeedRun.objects.filter(feed=OuterRef("pk"), submitted_at=None).order_by("id")
    first_waiting = [Subquery(waiting.values(name)[:1]) for name in ("due", "waits_for")]
    states = list(feeds.values_list(*_FEED_COLUMNS, *first_waiting))
    if not states:
        return []
    runs = " UNION ALL ".join([_NEWEST_RUNS] * len(states))
    parameters = [value for feed_id, *_ in states for value in (feed_id, run_limit)]
    with connection.cursor() as cursor:
        cursor.execute(_RUN_STATES.format(runs), parameters)
        run_states = cursor.fetchall()
    # Pages say how many blocks are left.
    sources = {
        source
        for _, _, state, trigger, source, *_ in states
        if state == FeedState.ACTIVE and trigger in _COUNTED_IN_BLOCKS
    }
    heads = ChainRecord.objects.filter(chain__in=sources).order_by("chain")
    return [*states, *run_states, *heads.values_list("chain", "number")]


def account_changes(address: str, chain: int | None, limit: int) -> Columns:
    """The newest facts of an account."""
    if chain is None:
        return []
    facts = Fact.objects.filter(account=address, source=chain).exclude(account="")
    # Facts of older blocks are found by their queries.
    queries = Query.objects.filter(account=address).order_by("-id")
    mentions = FactMention.objects.filter(address_or_hash=address.lower(), source=chain)
    return [
        *facts.order_by("-block", "-id").values_list("pk", "proven_at")[:limit],
        *queries.values_list("pk", "has_ended")[:limit],
        *mentions.order_by("-block").values_list("fact")[:limit],
    ]


def registry_changes(source: int, destination: int, limit: int) -> Columns:
    """The newest blocks of a route."""
    newest_query = Query.objects.filter(job=OuterRef("pk")).order_by("-id").values("id")[:1]
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    jobs = jobs.annotate(newest_query=Subquery(newest_query))
    columns = "block", "block_hash", "due_at", "waits_for", "newest_query"
    return list(jobs.values_list(*columns)[:limit])


def minute_of(moment: datetime) -> int:
    """Compared too by pages that say for how long something lasts."""
    return int(moment.timestamp()) // 60
