"""Deletes batches that ended, and the transactions and block jobs that no other batch needs.

What is on chain stays, and so do the daily counts. A row that may still change, or that a proof
file of another batch needs, is kept. Rows go in small pieces: SQLite has one writer.
"""

import time
from collections import Counter
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from queries.models import (
    Batch,
    BlockJob,
    Query,
    SentTransaction,
    Share,
    TransactionOfJob,
    WebhookDelivery,
)

PIECE = 5  # rows in one database transaction; a batch may have a thousand queries


def _may_change(at: str = "") -> Q:
    """A transaction is not confirmed, or a reorg may still remove it. `at`: the path to it."""
    is_mined = {f"{at}final": False, f"{at}mined_block__isnull": False}
    return Q(**{f"{at}settled": False}) | Q(**is_mined)


def ended_batches(before: datetime) -> QuerySet[Batch]:
    """Batches that ended before then, with nothing left to prove, to pay or to deliver."""
    reopened = Query.objects.filter(batch=OuterRef("pk"), ended=False)
    unpaid = Share.objects.filter(_may_change("transaction__"), batch=OuterRef("pk"))
    pending = WebhookDelivery.objects.filter(batch=OuterRef("pk"), look_again__isnull=False)
    return Batch.objects.filter(
        ~Exists(reopened), ~Exists(unpaid), ~Exists(pending), ended__lt=before
    )


def unneeded_transactions(before: datetime, pruned: QuerySet[Batch]) -> QuerySet[SentTransaction]:
    """Transactions signed before then, and for no batch but the pruned ones.

    The last one of a sender stays, because the next nonce is counted from it. `before` is at least
    a day ago, because daily budgets count a day's transactions.
    """
    kept = Query.objects.exclude(batch__in=pruned).filter(job=OuterRef("job"))
    needed = TransactionOfJob.objects.filter(Exists(kept), transaction=OuterRef("pk"))
    later = SentTransaction.objects.filter(
        chain=OuterRef("chain"), sender=OuterRef("sender"), nonce__gt=OuterRef("nonce")
    )
    rows = SentTransaction.objects.exclude(_may_change())
    return rows.filter(~Exists(needed), Exists(later), signed__lt=before)


def unneeded_jobs(
    pruned: QuerySet[Batch], transactions: QuerySet[SentTransaction]
) -> QuerySet[BlockJob]:
    """Block jobs at rest without queries and transactions, but for the pruned ones."""
    kept = Query.objects.exclude(batch__in=pruned).filter(job=OuterRef("pk"))
    sent = TransactionOfJob.objects.exclude(transaction__in=transactions)
    return BlockJob.objects.filter(
        ~Exists(kept), ~Exists(sent.filter(job=OuterRef("pk"))), look_again=None
    )


def prune(before: datetime) -> Counter[str]:
    """Delete all of these. Returns how many rows of each model are gone."""
    deleted = delete_in_pieces(ended_batches(before))
    nothing, none = Batch.objects.none(), SentTransaction.objects.none()
    deleted += delete_in_pieces(unneeded_transactions(before, nothing))
    return deleted + delete_in_pieces(unneeded_jobs(nothing, none))


def count_prunable(before: datetime) -> Counter[str]:
    """Count what `prune` would delete."""
    batches = ended_batches(before)
    transactions = unneeded_transactions(before, batches)
    rows: list[QuerySet[Any]] = [
        batches,
        Query.objects.filter(batch__in=batches),
        WebhookDelivery.objects.filter(batch__in=batches),
        transactions,
        unneeded_jobs(batches, transactions),
    ]
    return Counter({each.model._meta.label: each.count() for each in rows})  # noqa: SLF001


def delete_in_pieces(rows: QuerySet[Any]) -> Counter[str]:
    """Delete the rows, each piece in a database transaction of its own, with a pause after it."""
    deleted, last = Counter[str](), None
    while True:
        rest = rows if last is None else rows.filter(pk__gt=last)
        # Found without SQLite's write lock; checked again under the rows' locks.
        keys = list(rest.order_by("pk").values_list("pk", flat=True)[:PIECE])
        if not keys:
            return deleted
        begin, last = time.monotonic(), keys[-1]
        with transaction.atomic():
            found = rows.filter(pk__in=keys).order_by("pk").values_list("pk", flat=True)
            locked = list(found.select_for_update(skip_locked=True))
            piece: models.QuerySet[Any] = rows.model._default_manager.filter(pk__in=locked)  # noqa: SLF001
            deleted += Counter(piece.delete()[1])
        time.sleep(time.monotonic() - begin)  # others write meanwhile
