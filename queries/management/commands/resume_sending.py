"""`tacitus resume_sending`: sends to a chain again after the signer's key was used elsewhere."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.database_state import require_schema
from queries.chain import KeyUsedElsewhereError
from queries.database.clock import shared_now
from queries.management.base import OperatorCommand
from queries.models import BlockJob, SentTransaction
from queries.transactions.lane import NONCE_USED_ELSEWHERE, stopped_lanes


class Command(OperatorCommand):
    help = (
        "Has provers send to a chain again. They stop when a transaction that is not in the "
        "database has used a nonce of the signer's key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("chain", type=int, metavar="CHAIN", help="id of the destination")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *, chain: int, yes: bool, **_: Any) -> None:
        require_schema()
        stopped_rows = SentTransaction.objects.filter(NONCE_USED_ELSEWHERE, chain=chain)
        rows = list(stopped_rows.order_by("sender", "nonce").defer("raw"))
        if not rows:
            stopped = sorted({str(other) for other, _ in stopped_lanes()})
            elsewhere = f" It is to: {', '.join(stopped)}." if stopped else ""
            raise CommandError(f"Sending to chain {chain} is not stopped.{elsewhere}")
        for row in rows:
            self.report(f"Nonce {row.nonce} of {row.sender} was used by another program.")
        if not yes:
            self.confirm("Has that program stopped?", f"Sending to chain {chain} stays stopped.")
        SentTransaction.objects.filter(pk__in=[row.pk for row in rows]).update(
            nonce_used_block=None
        )
        waiting = BlockJob.objects.filter(destination=chain, wait_code=KeyUsedElsewhereError.code)
        waiting.exclude(due_at=None).update(due_at=shared_now())
        self.stdout.write(f"Provers send to chain {chain} again; waiting batches continue.")
