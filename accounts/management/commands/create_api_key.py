"""`manage.py create_api_key`: a key without a browser, for scripts and first steps."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts import api_keys
from accounts.models import Account
from accounts.refusals import Refusal
from accounts.wallet_login import wallet_address


class Command(BaseCommand):
    help = "Prints a new API key of a wallet's account, which is made where there is none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", required=True, help="the wallet's address (0x…)")
        parser.add_argument("--name", default="Command line", help="of the key (%(default)s)")

    def handle(self, **options: Any) -> None:
        try:
            address = wallet_address(options["owner"])
            with transaction.atomic():
                owner, _ = Account.objects.of_wallet(address)
                if not owner.is_active:
                    raise CommandError(f"The account {address} is disabled.")
                key = api_keys.add_key(owner, api_keys.key_name(options["name"]))
        except Refusal as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(api_keys.shown(key) or "")
