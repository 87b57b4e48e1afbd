"""`manage.py prune`: deletes batches that ended long ago, and what only they needed.

Rows that may still change stay, and so does the proof of every other batch.
"""

import re
import time
from argparse import ArgumentParser
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.shared.database_state import refuse_unmigrated
from accounts.shared.wording import counted
from queries.database.clock import shared_now
from queries.management.base import OperatorCommand
from queries.models import Batch, BlockJob, Query, SentTransaction, Share

CHUNK_ROWS, CHUNK_BATCHES = (
    100,
    5,
)  # rows of a database transaction; a batch may have a thousand queries
NOUNS = {
    "Batch": ("batch", "batches"), "Query": ("query", "queries"),
    "WebhookDelivery": ("webhook delivery", "webhook deliveries"),
    "SentTransaction": ("transaction",), "BlockJob": ("block job",),
}  # fmt: skip


class Command(OperatorCommand):
    help = "Deletes batches that ended long ago, and what only they needed. Facts on chain stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        age = "how long ago they ended, such as 90d"
        parser.add_argument("--older-than", required=True, metavar="DAYS", help=age)
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def handle(self, **options: Any) -> None:
        refuse_unmigrated()
        days = re.fullmatch("([1-9][0-9]{0,4})d", options["older_than"])
        if days is None:  # the daily budget counts the transactions of a day
            raise CommandError("--older-than takes whole days, at least one, such as 90d.")
        before = shared_now() - timedelta(days=int(days[1]))
        batches = deletable_batches(before)
        if options["dry_run"]:
            queries = Query.objects.filter(batch__in=batches).count()
            count = counted(batches.count(), "batch", "batches")
            sentence = f"Would delete {count} with {counted(queries, 'query', 'queries')}"
            self.stdout.write(f"{sentence}, webhook deliveries, and what only they needed.")
            return
        deleted = delete_in_chunks(batches, CHUNK_BATCHES) + _delete_unneeded(before)
        sentence = ", ".join(
            counted(deleted[f"queries.{name}"], *noun) for name, noun in NOUNS.items()
        )
        self.stdout.write(f"Deleted {sentence}.")


def deletable_batches(before: datetime) -> QuerySet[Batch]:
    """Batches that ended before then, with nothing left to prove, to deliver or to pay."""
    unpaid = Share.objects.filter(_is_unfinished("transaction__"), batch=OuterRef("pk"))
    ended = Batch.objects.filter(~Exists(unpaid), ended__lt=before)
    return ended.exclude(queries__ended=False).exclude(deliveries__look_again__isnull=False)


def _is_unfinished(at: str = "") -> Q:
    """A transaction is not confirmed or not final; one that was given up has no block."""
    not_final = Q(**{f"{at}final": False, f"{at}mined_block__isnull": False})
    return Q(**{f"{at}settled": False}) | not_final


def _delete_unneeded(before: datetime) -> Counter[str]:
    """Delete transactions and block jobs without queries. The next nonce is counted from the last
    transaction of each sender, which stays.
    """
    own = {"chain": OuterRef("chain"), "sender": OuterRef("sender")}
    later = SentTransaction.objects.filter(**own, nonce__gt=OuterRef("nonce"))
    old = SentTransaction.objects.filter(Exists(later), signed__lt=before).exclude(_is_unfinished())
    deleted = delete_in_chunks(old.exclude(for_jobs__job__queries__isnull=False))
    jobs = BlockJob.objects.filter(look_again=None).exclude(queries__isnull=False)
    return deleted + delete_in_chunks(jobs.exclude(transactions__isnull=False))


def delete_in_chunks(rows: QuerySet[Any], size: int = CHUNK_ROWS) -> Counter[str]:
    """Delete the rows, and return how many of each model. SQLite has one writer, so each piece has
    a database transaction of its own, with a pause after it.
    """
    deleted, rest = Counter[str](), rows.order_by("pk").values_list("pk", flat=True)
    while keys := list(rest[:size]):  # found without SQLite's write lock
        begin = time.monotonic()
        with transaction.atomic():
            piece = rows.filter(pk__in=keys).order_by("pk").select_for_update(skip_locked=True)
            locked = list(piece.values_list("pk", flat=True))
            deleted += Counter(rows.model.objects.filter(pk__in=locked).delete()[1])
        time.sleep(time.monotonic() - begin)
        rest = rest.filter(pk__gt=keys[-1])
    return deleted
