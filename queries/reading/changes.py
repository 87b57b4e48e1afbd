"""What the polls of live pages compare: the columns that their pages show, read in a few statements
and without making views of them.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from accounts.models import Account
from queries.models import BlockJob, ChainRecord, Fact, Feed, NodeRecord

Columns = Sequence[tuple[Any, ...]]

_FEED_COLUMNS = "id", "state", "reason", "waits_for", "due", "budget", "last_value"
_NEWEST_RUNS = """
    SELECT * FROM (
        SELECT id, batch_id, error_code FROM queries_feedrun
        WHERE feed_id = %s ORDER BY id DESC LIMIT %s
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
    states = list(feeds.values_list(*_FEED_COLUMNS))
    if not states:
        return []
    runs = " UNION ALL ".join([_NEWEST_RUNS] * len(states))
    parameters = [value for feed_id, *_ in states for value in (feed_id, run_limit)]
    with connection.cursor() as cursor:
        cursor.execute(_RUN_STATES.format(runs), parameters)
        return [*states, *cursor.fetchall()]


def account_changes(address: str, chain: int | None, limit: int) -> Columns:
    """The newest facts of an account."""
    if chain is None:
        return []
    facts = Fact.objects.filter(account=address, source=chain).exclude(account="")
    return list(facts.order_by("-block", "-id").values_list("pk", "proven_at")[:limit])


def registry_changes(source: int, destination: int, limit: int) -> Columns:
    """The newest blocks of a route."""
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    return list(jobs.values_list("block", "block_hash", "due_at", "waits_for")[:limit])


def minute_of(moment: datetime) -> int:
    """Compared too by pages that say for how long something lasts."""
    return int(moment.timestamp()) // 60
