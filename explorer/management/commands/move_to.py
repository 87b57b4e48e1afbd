"""`tacitus move_to`: copies everything in a SQLite database to an empty PostgreSQL database."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Model
from django.db.models.functions import Now

from accounts.database_state import require_schema
from accounts.secret_files import read_secret_file
from explorer.settings.database import POSTGRESQL, database
from queries.models import LeasedRow

TARGET = "target"
ROWS_AT_ONCE = 2_000
# `migrate` fills these, and their ids differ in each database.
FILLED_BY_MIGRATE = {"auth.permission", "contenttypes.contenttype"}


class Command(BaseCommand):
    help = (
        "Copies all accounts, keys, batches, facts and feeds from SQLite to an empty PostgreSQL "
        "database, in one transaction. Stop the service first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "database", help="postgres://user:password@host/name, or a file that contains it"
        )

    def handle(self, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError("This moves SQLite databases, and DATABASE_URL names another.")
        require_schema()
        _add_target(options["database"])
        call_command("migrate", database=TARGET, verbosity=0)
        for model in _models():
            if model._meta.label_lower not in FILLED_BY_MIGRATE and (
                model._default_manager.using(TARGET).exists()
            ):
                raise CommandError(
                    f"That database is not empty: its table {model._meta.db_table} has rows. "
                    "Create another. Nothing was copied."
                )
        # SQLite's transactions take the write lock at once, so nothing is written meanwhile.
        with transaction.atomic(), transaction.atomic(using=TARGET):
            _require_stopped_service()
            for model in _models():
                if model._meta.label_lower in FILLED_BY_MIGRATE:
                    model._default_manager.using(TARGET).all().delete()
            for model in _models():
                count = _copy(model)
                if count:
                    self.stdout.write(f"{model._meta.db_table:<36}{count:>12,}")
            target = connections[TARGET]
            with target.cursor() as cursor:
                for statement in target.ops.sequence_reset_sql(no_style(), list(_models())):
                    cursor.execute(statement)
        self.stdout.write(
            "All of it is in the new database. Set DATABASE_URL or DATABASE_URL_FILE to it and "
            "start the service. Never start it with the old file again: two databases with one "
            "signer would send everything twice."
        )


def _models() -> Iterator[type[Model]]:
    """Those of all tables, also of relations between many and many."""
    for model in apps.get_models(include_auto_created=True):
        if model._meta.managed and not model._meta.proxy:
            yield model


def _add_target(text: str) -> None:
    try:
        url = text if "://" in text else read_secret_file(Path(text))
        config = database(url, Path())
    except ImproperlyConfigured as error:
        raise CommandError(str(error).replace("DATABASE_URL", "The address")) from None
    except ValueError as error:
        raise CommandError(
            f"The file that you name {error}. Name one, or an address: postgres://…"
        ) from None
    if config["ENGINE"] != POSTGRESQL:
        raise CommandError("The address must be that of a PostgreSQL database: postgres://…")
    both = {DEFAULT_DB_ALIAS: settings.DATABASES[DEFAULT_DB_ALIAS], TARGET: config}
    connections.settings[TARGET] = connections.configure_settings(both)[TARGET]


def _require_stopped_service() -> None:
    for model in _models():
        if not issubclass(model, LeasedRow):
            continue
        if model._default_manager.filter(lease_until__gt=Now()).exists():
            raise CommandError(
                "A prover or a worker is at work. Stop all of them and the web server, wait a "
                "minute, and try again. Nothing was copied."
            )


def _copy(model: type[Model]) -> int:
    """Copy all rows of a table; foreign keys are checked at the end of the transaction."""
    count, rows = 0, list[Model]()
    target = model._default_manager.using(TARGET)
    for row in model._default_manager.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE):
        rows.append(row)
        if len(rows) == ROWS_AT_ONCE:
            count += len(target.bulk_create(rows))
            rows.clear()
    return count + len(target.bulk_create(rows))
