"""Safe by default: what production needs and does not have is said, not guessed."""

import os

import pytest
from django.db import connection

from explorer.environment import Environment
from tests.commands import PRODUCTION, Manage


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({}, "SECRET_KEY is not set. Set SECRET_KEY, or SECRET_KEY_FILE"),
        ({"SECRET_KEY": PRODUCTION["SECRET_KEY"]}, "SITE_URL is not set. Set it to"),
        ({**PRODUCTION, "SITE_URL": "http://proofs.example.org"}, "it is https"),
        ({**PRODUCTION, "DEBUG": "1"}, "DEBUG shows settings and code to every visitor"),
        ({**PRODUCTION, "LOG_LEVEL": "loud"}, "LOG_LEVEL is 'LOUD'; set it to"),
        ({**PRODUCTION, "DATABASE_URL": "hunter2"}, "DATABASE_URL cannot be read."),
        ({**PRODUCTION, "DATABASE_URL": "postgres://u:hunter2@h:port/n"}, "DATABASE_URL cannot"),
        ({**PRODUCTION, "DATABASE_URL": "mysql://u:hunter2@h/n"}, "Tacitus runs on these two"),
        ({**PRODUCTION, "DATABASE_URL": "sqlite://"}, "DATABASE_URL cannot be read."),
        ({**PRODUCTION, "DATABASE_URL": "sqlite:////x?hunter2=1"}, "Known are: none, for SQLite."),
        ({**PRODUCTION, "DATABASE_URL": "postgres://h/n?hunter2"}, "Known are: application_name"),
        ({**PRODUCTION, "SECRET_KEY": 7 * "hunter2"}, "SECRET_KEY can be guessed. Take at least"),
        ({**PRODUCTION, "SECRET_KEY": 30 * "hu"}, "SECRET_KEY can be guessed. Take at least 50"),
        ({**PRODUCTION, "SECRET_KEY": f"django-insecure-{PRODUCTION['SECRET_KEY']}"}, "guessed"),
        ({**PRODUCTION, "SECRET_KEY": "", "SECRET_KEY_FILE": "hunter2"}, "SECRET_KEY_FILE names"),
        ({**PRODUCTION, "SITE_URL": "https://u:hunter2@h"}, "SITE_URL is not understood; set it"),
        ({**PRODUCTION, "HSTS_SECONDS": 20 * "9"}, "a whole number from 0 to 2147483647"),
        (
            {**PRODUCTION, "DEMO_WALLET_NODE": "http://127.0.0.1:8545"},
            "Unset it; it is for the demo",
        ),
        ({"DEVELOPMENT": "1", "DEMO_WALLET_NODE": "http://10.0.0.1:8545"}, "http://127.0.0.1:port"),
        ({**PRODUCTION, "EXTRA_HOSTS": "*"}, "EXTRA_HOSTS is '*'; a host is letters"),
    ],
)
def test_it_refuses_to_start_and_says_what_to_set(
    manage: Manage, variables: dict[str, str], sentence: str
) -> None:
    ended = manage("check", **variables)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Tacitus cannot start. ")
    assert sentence in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert "hunter2" not in ended.stderr


@pytest.mark.no_database
def test_production_settings_pass_djangos_deployment_check(manage: Manage) -> None:
    ended = manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "System check identified no issues (0 silenced).\n"


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("variables", "silenced"),
    [({"HSTS_SECONDS": "0"}, 1), ({"HSTS_SUBDOMAINS": "0"}, 2), ({"HSTS_SECONDS": "60"}, 0)],
)
def test_what_the_operator_chose_of_hsts_is_no_warning(
    manage: Manage, variables: dict[str, str], silenced: int
) -> None:
    ended = manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION, **variables)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == f"System check identified no issues ({silenced} silenced).\n"


# Two connections to one file, as two workers have them: the second waits at BEGIN for the first.
TWO_WRITERS = """
import threading, time
from django.db import connection, transaction
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE counter (n)")
    cursor.execute("INSERT INTO counter VALUES (0)")
def add():
    with transaction.atomic(), connection.cursor() as cursor:
        (n,) = cursor.execute("SELECT n FROM counter").fetchone()
        time.sleep(0.05)
        cursor.execute("UPDATE counter SET n = %s", [n + 1])
    connection.close()
writers = [threading.Thread(target=add) for _ in range(8)]
[writer.start() for writer in writers], [writer.join() for writer in writers]
with connection.cursor() as cursor:
    for asked in ("PRAGMA journal_mode", "PRAGMA foreign_keys", "SELECT n FROM counter"):
        print(cursor.execute(asked).fetchone()[0])
"""


@pytest.mark.no_database
def test_sqlite_writers_wait_for_each_other_and_lose_nothing(manage: Manage) -> None:
    ended = manage("shell", "--no-imports", "--command", TWO_WRITERS, **PRODUCTION)
    assert (ended.stdout.split(), ended.stderr) == (["wal", "1", "8"], "")


@pytest.mark.django_db
def test_the_database_under_test_is_the_one_that_was_named() -> None:
    env = Environment(os.environ)
    named = (
        "sqlite" if env.secret("DATABASE_URL", "sqlite:").startswith("sqlite:") else "postgresql"
    )
    # CI says in REQUIRE_VENDOR what it means to test on, so that no run is on another by mistake.
    assert connection.vendor == named == env.text("REQUIRE_VENDOR", named)
