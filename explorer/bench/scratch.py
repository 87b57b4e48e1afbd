"""The database that a row is measured on, as its processes are told of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from django.db import connection

from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet
from explorer.bench.rows import BenchFailed
from queries.management.scratch_database import scratch_database

OWNER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


@contextmanager
def scratch() -> Iterator[str]:
    """Its address; inside, models here are kept in it as well."""
    with scratch_database():
        yield _address()


def _address() -> str:
    held = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{held['NAME']}"
    user, password = (quote(str(held[each]), safe="") for each in ("USER", "PASSWORD"))
    who = f"{user}:{password}" if password else user
    return f"postgres://{who}@{held['HOST']}:{held['PORT'] or 5432}/{held['NAME']}"


def new_key() -> str:
    """An API key of the scratch database."""
    owner, _ = Account.objects.of_wallet(Wallet(OWNER))
    text = api_keys.shown(api_keys.add_key(owner, "Bench"))
    if text is None:
        raise BenchFailed("The bench cannot make an API key.")
    return text
