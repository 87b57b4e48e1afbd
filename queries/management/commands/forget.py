"""`manage.py forget`: removes an account and all that is its own."""

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import CommandError
from django.db.models import ProtectedError

from accounts.keys import manage
from accounts.models import Account, Allowance, SignInNonce
from accounts.shared.database_state import refuse_unmigrated
from accounts.shared.errors import Refusal
from accounts.shared.wallets import Wallet, wallet_address, wallet_chain_id
from accounts.shared.wording import counted
from queries.database.clock import shared_now
from queries.intake.cancel import cancel
from queries.management.base import OperatorCommand
from queries.management.commands.prune import BATCHES, delete_in_pieces, ended_batches
from queries.models import Batch, WebhookDelivery


class Command(OperatorCommand):
    help = "Removes an account with its keys, sessions, webhooks and batches. Facts on chain stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help="the account's wallet (0x…)")
        parser.add_argument("--chain", help="chain id, if it is a contract wallet")
        parser.add_argument("--yes", action="store_true", help="do not ask before deleting")

    def handle(self, **options: Any) -> None:
        refuse_unmigrated()
        chain = options["chain"] and wallet_chain_id(options["chain"])
        wallet = Wallet(wallet_address(options["address"]), chain)
        account = Account.objects.filter(address=wallet.address, chain_id=chain).first()
        if account is None:
            raise CommandError(f"There is no account of {wallet}.")
        key = account.pk
        if not options["yes"]:
            self.confirm(f"Delete {account} and all that is its own?", "Nothing was deleted.")
        _forget(account)
        if Account.objects.filter(pk=key).exists():
            rest = counted(Batch.objects.filter(owner_id=key).count(), "batch", "batches")
            raise CommandError(
                f"{account} is disabled. {rest} must end first, and "
                "their transactions become final: run this again later."
            )
        self.stdout.write(f"{account} is forgotten.")


def _forget(account: Account) -> None:
    """Delete what can be deleted by now; the account itself comes last."""
    Account.objects.filter(pk=account.pk).update(is_active=False)
    used = [manage.subject(key) for key in account.keys.all()]
    Allowance.objects.filter(pk__in=used).delete()
    account.keys.all().delete()
    account.sessions.all().delete()
    SignInNonce.objects.filter(address=account.address).delete()
    batches = Batch.objects.filter(owner=account)
    batches.exclude(webhook_url="").update(webhook_url="", webhook_headers=[])
    for batch in batches.filter(ended=None):
        with suppress(Refusal):  # a transaction for it is signed, or it has just ended
            cancel(account, batch.pk)
    delete_in_pieces(WebhookDelivery.objects.filter(owner=account))
    delete_in_pieces(ended_batches(shared_now()).filter(owner=account), BATCHES)
    with suppress(ProtectedError):  # by a batch
        account.delete()
