"""Parsing of settings, errors without secrets, and the database."""

import os
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from stat import S_IMODE

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from explorer.settings.database import PrivateFile, database
from explorer.settings.environment import Environment
from tests.commands import PRODUCTION, Manage

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
LOCK = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


@pytest.mark.no_database
def test_settings_are_parsed() -> None:
    env = Environment(
        {
            "ON": " on ",
            "OFF": "No",
            "EMPTY": " ",
            "HOSTS": "a.example, B.example ,,10.0.0.7,[::2]",
            "WALLETS": f" {WALLET},10:{WALLET} ,",
            "SITE_URL": "HTTPS://Proofs.Example.ORG:443/",
        }
    )
    assert (env.flag("ON"), env.flag("OFF", default=True)) == (True, False)
    assert (env.flag("EMPTY", default=True), env.number("EMPTY", 7)) == (True, 7)
    assert env.hosts("HOSTS") == ["a.example", "b.example", "10.0.0.7", "[::2]"]
    assert env.wallets("WALLETS") == [WALLET, f"10:{WALLET}"]
    origin = ("https://proofs.example.org", "proofs.example.org")
    assert env.origin("SITE_URL", "", https=True) == origin
    assert Environment({"X": "mailto:a@b.example"}).link("X", ("mailto",)) == "mailto:a@b.example"


PARSERS: dict[str, Callable[[Environment], object]] = {
    "flag": lambda env: env.flag("X"),
    "number": lambda env: env.number("X", 9, minimum=5),
    "hosts": lambda env: env.hosts("X"),
    "wallets": lambda env: env.wallets("X"),
    "origin": lambda env: env.origin("X", "", https=True),
    "link": lambda env: env.link("X", ("mailto", "https")),
}


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("kind", "texts", "sentence"),
    [
        ("flag", ["maybe", "2"], "set it to 1 or 0"),
        ("number", ["-1", "1e3", "0x10", "٣", "4", "2147483648", "9" * 5000], "from 5 to 214748"),
        ("hosts", ["*", ".example.org", "a_b.example", "a.example:8000", "a b"], "a host is"),
        ("hosts", ["bücher.example", "::1"], "IPv6 is written in brackets, and other alphabets as"),
        ("hosts", ["user:hunter2@proofs.example.org", "x/?hunter2@y"], "is not understood"),
        ("wallets", [WALLET.lower(), f"0:{WALLET}", f"eth:{WALLET}", "10:"], "with their checksum"),
        ("origin", ["proofs.example.org", "https://a.example/path", "https://*.example"], "X is"),
        ("origin", ["https://a.example?x=1", "https://:443", "https://[half", "ftp://a"], "X is"),
        ("link", ["javascript:alert(1)", "a.example", "https://a b"], "with mailto or https:"),
        ("link", ["hunter2@a.example"], "is not understood"),
        ("origin", ["https://user:hunter2@a.example", "https://hunter2@x/"], "is not understood"),
    ],
)
def test_errors_about_invalid_settings_do_not_repeat_passwords(
    kind: str, texts: list[str], sentence: str
) -> None:
    for text in texts:
        with pytest.raises(ImproperlyConfigured, match=sentence) as error:
            PARSERS[kind](Environment({"X": text}))
        assert "hunter2" not in "".join(traceback.format_exception(error.value))


@pytest.mark.no_database
def test_secrets_are_read_from_files_and_errors_do_not_repeat_them(tmp_path: Path) -> None:
    """NAME_FILE may hold the secret itself by mistake."""
    contents = {"hunter2": b"the secret\n", "hunter22": b"\n", "hunter23": b"\xff\xfe"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    variables = {"SECRET_FILE": str(tmp_path / "hunter2")}
    assert Environment(variables).secret("SECRET") == "the secret"
    for changes, reason in (
        ({"SECRET": "hunter2"}, "both set"),
        ({"SECRET_FILE": str(tmp_path / "hunter24")}, "cannot be read: No such file"),
        ({"SECRET_FILE": str(tmp_path / "hunter22")}, "is empty"),
        ({"SECRET_FILE": str(tmp_path / "hunter23")}, "is not UTF-8 text"),
    ):
        with pytest.raises(ImproperlyConfigured, match=reason) as error:
            Environment(variables | changes).secret("SECRET", "default")
        assert "hunter2" not in "".join(traceback.format_exception(error.value))


@pytest.mark.no_database
def test_a_postgresql_url_with_options(tmp_path: Path) -> None:
    url = "postgres://user:pass%40word@db.example:5433/name?sslmode=require&connect_timeout=9"
    config = database(url, tmp_path)
    assert (config["HOST"], config["PORT"], config["NAME"]) == ("db.example", 5433, "name")
    assert (config["USER"], config["PASSWORD"]) == ("user", "pass@word")
    assert {"sslmode": "require", "connect_timeout": 9}.items() <= config["OPTIONS"].items()


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("hunter2", "cannot be read"),
        ("postgres://u:hunter2@h:port/n", "cannot be read"),
        ("postgres://h/n?hunter2", "Known are: application_name"),
        ("postgres://u:hunter2/@h/n", "password, such as %40 for @"),
        ("sqlite:///hunter2.sqlite3", "with four slashes: sqlite:////folder/file"),
        ("sqlite:////x?hunter2=1", "Known are: none, for SQLite"),
    ],
)
def test_errors_about_database_urls_do_not_repeat_passwords(
    tmp_path: Path, url: str, sentence: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=sentence) as error:
        database(url, tmp_path / "var" / "tacitus.sqlite3")
    assert "hunter2" not in str(error.value)


@pytest.mark.no_database
def test_production_passes_djangos_deployment_check(manage: Manage) -> None:
    """The operator's choice of HSTS is not a warning."""
    hsts = {"HSTS_SECONDS": "0", "HSTS_SUBDOMAINS": "0"}
    ended = manage("check", "--deploy", "--fail-level", "WARNING", **PRODUCTION, **hsts)
    assert (ended.returncode, ended.stderr) == (0, "")


# Each writer has its own connection, as workers have, and waits at BEGIN for the others.
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
    for statement in ("PRAGMA journal_mode", "PRAGMA foreign_keys", "SELECT n FROM counter"):
        print(cursor.execute(statement).fetchone()[0])
"""


@pytest.mark.no_database
def test_concurrent_sqlite_writers_lose_no_update(manage: Manage) -> None:
    ended = manage("shell", "--no-imports", "--command", TWO_WRITERS, **PRODUCTION)
    assert (ended.stdout.split(), ended.stderr) == (["wal", "1", "8"], "")


@pytest.fixture
def _permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.no_database
@pytest.mark.usefixtures("_permissive_umask")
def test_a_database_file_is_private_and_creating_it_keeps_sqlites_locks(tmp_path: Path) -> None:
    """POSIX drops a process's locks on a file when it closes any descriptor of it."""
    file = tmp_path / "a.sqlite3"
    with closing(sqlite3.connect(file, factory=PrivateFile, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode=WAL")
        holder.execute("CREATE TABLE example (number)")
        modes = {path.name: S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        names = ("a.sqlite3", "a.sqlite3-shm", "a.sqlite3-wal")
        assert modes == dict.fromkeys(names, 0o600)
        holder.execute("BEGIN IMMEDIATE")
        with closing(sqlite3.connect(file, factory=PrivateFile)):
            command = [sys.executable, "-c", LOCK, str(file)]
            ended = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert b"database is locked" in ended.stderr


@pytest.mark.django_db
def test_the_tests_run_on_the_database_of_the_environment() -> None:
    env = Environment(os.environ)
    vendor = (
        "sqlite" if env.secret("DATABASE_URL", "sqlite:").startswith("sqlite:") else "postgresql"
    )
    assert connection.vendor == vendor == env.text("REQUIRE_VENDOR", vendor)
