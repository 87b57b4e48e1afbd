"""`tacitus forget`: deletes an account and everything that belongs to it."""

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import CommandError
from django.db.models import ProtectedError

from accounts.database_state import require_schema
from accounts.http.errors import RefusalError
from accounts.keys import manage
from accounts.models import Account, SignInNonce, UsageCounter
from accounts.sign_in.attempts import wallet_subject
from accounts.wallets import Wallet, wallet_address, wallet_chain_id
from accounts.wording import format_count
from queries.database.clock import shared_now
from queries.feeds.runs import delete_waiting_runs
from queries.intake.cancel import cancel
from queries.management.base import OperatorCommand
from queries.management.commands.prune import CHUNK_BATCHES, deletable_batches, delete_in_chunks
from queries.models import Batch, Feed, WebhookPost
from queries.transitions import end_feeds


class Command(OperatorCommand):
    help = "Deletes an account with its keys, sessions, webhooks and batches. Facts on chain stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help="the account's wallet (0x…)")
        parser.add_argument("--chain", help="chain id, if it is a contract wallet")
        parser.add_argument("--yes", action="store_true", help="do not ask before deleting")

    def handle(self, **options: Any) -> None:
        require_schema()
        chain = options["chain"] and wallet_chain_id(options["chain"])
        wallet = Wallet(wallet_address(options["address"]), chain)
        account = Account.objects.filter(address=wallet.address, chain_id=chain).first()
        if account is None:
            raise CommandError(f"There is no account of {wallet}.")
        account_id = account.pk
        if not options["yes"]:
            self.confirm(f"Delete {account} and all its data?", "Nothing was deleted.")
        _delete_account(account)
        if Account.objects.filter(pk=account_id).exists():
            count = Batch.objects.filter(owner_id=account_id).count()
            batches = format_count(count, "batch", "batches")
            raise CommandError(
                f"{account} is disabled; {batches} must become final first. Run this again later."
            )
        self.stdout.write(f"{account} is deleted.")


def _delete_account(account: Account) -> None:
    """Delete everything that can be deleted now; the account itself comes last."""
    # First, and by a statement that waits for the provers that work on them: else they pause the
    # feeds of a disabled account, and store a webhook while the feed is deleted.
    feeds = Feed.objects.filter(owner=account)
    end_feeds(feeds, "The operator has deleted the account.")
    delete_waiting_runs(feeds)
    Account.objects.filter(pk=account.pk).update(is_active=False)
    subjects = [manage.usage_subject(key) for key in account.keys.all()]
    if account.wallet:
        subjects.append(wallet_subject(account.wallet))
    UsageCounter.objects.filter(pk__in=subjects).delete()
    account.keys.all().delete()
    account.sessions.all().delete()
    SignInNonce.objects.filter(address=account.address).delete()
    batches = Batch.objects.filter(owner=account)
    batches.exclude(webhook_url="").update(webhook_url="", webhook_headers=[])
    for batch in batches.filter(ended_at=None):
        with suppress(RefusalError):  # it has a signed transaction, or has just ended
            cancel(account, batch.pk)
    delete_in_chunks(WebhookPost.objects.filter(owner=account))
    feeds.delete()
    delete_in_chunks(deletable_batches(shared_now()).filter(owner=account), CHUNK_BATCHES)
    with suppress(ProtectedError):  # it still has batches
        account.delete()
