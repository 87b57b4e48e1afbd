"""`tacitus prune`: deletes batches that ended long ago, and the rows that only they needed."""

import re
import time
from argparse import ArgumentParser
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.database_state import require_schema
from accounts.wording import format_count
from queries.database.clock import shared_now
from queries.database.stored_proofs import EVENTS, HEADERS
from queries.management.base import OperatorCommand
from queries.models import (
    Batch,
    BlockJob,
    Fact,
    Feed,
    FeedRun,
    Proof,
    Query,
    SentTransaction,
    Share,
)
from queries.proving.facts import BlockAtTimeFact
from queries.statuses import FeedState
from queries.transactions.lane import NONCE_USED_ELSEWHERE

CHUNK_ROWS, CHUNK_BATCHES = 100, 5  # in a database transaction; a batch may have 1,000 queries
NOUNS = {
    "Batch": ("batch", "batches"), "Query": ("query", "queries"),
    "WebhookPost": ("webhook", "webhooks"),
    "SentTransaction": ("transaction",), "Fact": ("fact",), "Proof": ("proof",),
    "BlockJob": ("block job",),
}  # fmt: skip


class Command(OperatorCommand):
    help = "Deletes batches that ended long ago, with all that only they need. Facts on chain stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        age = "days since they ended, such as 90d"
        parser.add_argument("--older-than", required=True, metavar="DAYS", help=age)
        parser.add_argument("--dry-run", action="store_true", help="only count batches and queries")

    def handle(self, **options: Any) -> None:
        require_schema()
        days = re.fullmatch("([1-9][0-9]{0,4})d", options["older_than"])
        if days is None:  # less than a day would delete transactions that the daily budget counts
            raise CommandError("--older-than takes whole days, at least one, such as 90d.")
        cutoff = shared_now() - timedelta(days=int(days[1]))
        batches = deletable_batches(cutoff)
        if options["dry_run"]:
            queries = Query.objects.filter(batch__in=batches).count()
            count = format_count(batches.count(), "batch", "batches")
            self.stdout.write(
                f"Would delete {count} with {format_count(queries, 'query', 'queries')}, webhook "
                "deliveries, and transactions and block jobs that only they needed."
            )
            return
        counts = delete_in_chunks(batches, CHUNK_BATCHES) + _delete_unneeded(cutoff)
        rows = ", ".join(
            format_count(counts[f"queries.{name}"], *noun) for name, noun in NOUNS.items()
        )
        self.stdout.write(f"Deleted {rows}.")


def deletable_batches(cutoff: datetime) -> QuerySet[Batch]:
    """Batches that ended before `cutoff`, with nothing left to prove, deliver or pay."""
    unpaid = Share.objects.filter(_unfinished_filter("transaction__"), batch=OuterRef("pk"))
    batches = Batch.objects.filter(~Exists(unpaid), ended_at__lt=cutoff)
    return batches.exclude(queries__has_ended=False).exclude(
        Q(deliveries__due_at__isnull=False) | Q(webhook_posts__due_at__isnull=False)
    )


def _unfinished_filter(prefix: str = "") -> Q:
    """Match transactions that are not confirmed or not final; abandoned ones have no block."""
    not_final = Q(**{f"{prefix}final": False, f"{prefix}mined_block__isnull": False})
    return Q(**{f"{prefix}confirmed": False}) | not_final


def _delete_unneeded(cutoff: datetime) -> Counter[str]:
    """Delete transactions and jobs without queries, and facts and proofs of accounts that no query
    of the job asks for. Each sender's last transaction stays, for its nonce, and those that stop a
    lane. So do those that recorded a block's hash: no other row says from which blocks older ones
    are reached.
    """
    same_sender = {"chain": OuterRef("chain"), "sender": OuterRef("sender")}
    later_rows = SentTransaction.objects.filter(**same_sender, nonce__gt=OuterRef("nonce"))
    old_rows = SentTransaction.objects.filter(Exists(later_rows), signed_at__lt=cutoff)
    is_needed = _unfinished_filter() | NONCE_USED_ELSEWHERE | Q(recorded_block__isnull=False)
    has_user = Q(job_links__job__queries__isnull=False) | Q(deliveries__isnull=False)
    counts = delete_in_chunks(old_rows.exclude(is_needed).exclude(has_user))
    queries = Query.objects.filter(job=OuterRef("job"))
    facts = Fact.objects.exclude(Exists(queries.filter(account=OuterRef("account"))))
    has_time = Exists(queries.filter(timestamp__isnull=False))  # perhaps of an account's query
    counts += delete_in_chunks(facts.exclude(Q(has_time, kind=BlockAtTimeFact.kind)))
    proofs = Proof.objects.exclude(Exists(queries.filter(account=OuterRef("subject"))))
    counts += delete_in_chunks(proofs.exclude(subject__in=[HEADERS, EVENTS]))
    jobs = BlockJob.objects.filter(due_at=None).exclude(queries__isnull=False)
    counts += delete_in_chunks(jobs.exclude(transactions__isnull=False))
    # Other runs have batches, with which they are deleted.
    counts += delete_in_chunks(FeedRun.objects.filter(batch=None, submitted_at__lt=cutoff))
    old_feeds = Feed.objects.filter(state=FeedState.ENDED, created_at__lt=cutoff)
    return counts + delete_in_chunks(old_feeds.exclude(runs__isnull=False))


def delete_in_chunks(rows: QuerySet[Any], size: int = CHUNK_ROWS) -> Counter[str]:
    """Delete the rows and count them by model, with pauses because SQLite has one writer."""
    counts, remaining = Counter[str](), rows.order_by("pk").values_list("pk", flat=True)
    while keys := list(remaining[:size]):  # read without SQLite's write lock
        start_time = time.monotonic()
        with transaction.atomic():
            chunk = rows.filter(pk__in=keys).order_by("pk").select_for_update(skip_locked=True)
            locked_keys = list(chunk.values_list("pk", flat=True))
            counts += Counter(rows.model.objects.filter(pk__in=locked_keys).delete()[1])
        time.sleep(time.monotonic() - start_time)
        remaining = remaining.filter(pk__gt=keys[-1])
    return counts
