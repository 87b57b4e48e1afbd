"""`manage.py prune`: deletes batches that ended long ago, so that the database does not fill."""

import re
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from accounts.database_state import refuse_unmigrated
from accounts.wording import counted
from queries.management.base import OperatorCommand
from queries.pipeline.queue import shared_now
from queries.pruning import count_prunable, prune

NOUNS = {
    "queries.Batch": ("batch", "batches"),
    "queries.Query": ("query", "queries"),
    "queries.WebhookDelivery": ("webhook delivery", "webhook deliveries"),
    "queries.SentTransaction": ("transaction", ""),
    "queries.BlockJob": ("block job", ""),
}


class Command(OperatorCommand):
    help = (
        "Deletes batches that ended long ago, with all that only they needed: queries, proofs, "
        "transactions and webhook deliveries. Facts on chain stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", required=True, metavar="DAYS", help="since they ended, such as 90d"
        )
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def handle(self, **options: Any) -> None:
        refuse_unmigrated()
        days = re.fullmatch("([1-9][0-9]{0,4})d", options["older_than"])
        if days is None:
            raise CommandError("--older-than takes whole days, at least one, such as 90d.")
        before = shared_now() - timedelta(days=int(days[1]))
        rows = count_prunable(before) if options["dry_run"] else prune(before)
        verb = "Would delete" if options["dry_run"] else "Deleted"
        counts = ", ".join(counted(rows[label], *noun) for label, noun in NOUNS.items())
        self.stdout.write(f"{verb}: {counts}.")
