"""`tacitus create_api_key`: an API key without a browser, for scripts and first steps."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.database_state import require_schema
from accounts.http.errors import RefusalError
from accounts.keys import manage
from accounts.keys.manage import clean_name
from accounts.models import Account
from accounts.wallets import Wallet, wallet_address, wallet_chain_id


class Command(BaseCommand):
    help = "Creates and prints an API key for a wallet's account, and the account if it is new."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", default="", help="the wallet's address (0x…)")
        parser.add_argument("--chain", help="chain id, if it is a contract wallet")
        parser.add_argument("--name", default="Command line", help="the key's name (%(default)s)")

    def handle(self, **options: Any) -> None:
        require_schema()
        if not options["owner"]:
            raise CommandError("Say which wallet the key is for: --owner 0x…")
        try:
            chain = options["chain"]
            wallet = Wallet(
                wallet_address(options["owner"]), None if chain is None else wallet_chain_id(chain)
            )
            with transaction.atomic():
                owner, _ = Account.objects.get_or_create_for_wallet(wallet)
                if not owner.is_active:
                    raise CommandError(f"The account {owner} is disabled.")
                key = manage.add_key(owner, clean_name(options["name"]))
        except RefusalError as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(manage.reveal(key) or "")
