"""Fixtures and settings of all tests."""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.db import connection
from django.test.client import MULTIPART_CONTENT, RequestFactory
from django.utils.http import urlencode

from tests.emptied import deleting_instead_of_truncating

pytest_plugins = [
    "tests.accounts.wallet",
    "tests.accounts.sign_in_page",
    "tests.browser",
    "tests.commands",
    "tests.recordings",
    "tests.rigs.deployed_contracts",
    "tests.scenarios.fixtures",
]

# Playwright runs an event loop in the test's thread, where Django would refuse the database. The
# test only waits for the browser, and the server runs in another thread.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def _post_url_encoded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Django's test client posts multipart forms, which no page of ours sends or accepts."""

    @wraps(original)
    def post(
        client: RequestFactory,
        path: str,
        data: Any = None,
        content_type: str = MULTIPART_CONTENT,
        **more: Any,
    ) -> Any:
        if content_type == MULTIPART_CONTENT:
            data = urlencode(data or {}, doseq=True)
            content_type = "application/x-www-form-urlencoded"
        return original(client, path, data, content_type, **more)

    return post


RequestFactory.post = _post_url_encoded(RequestFactory.post)  # type: ignore[method-assign]

# The time of an example depends on the machine.
hypothesis.settings.register_profile("tacitus", deadline=None)
hypothesis.settings.load_profile("tacitus")

# Files that take most of a minute start first, so that the run does not end with one of them.
LONGEST = (
    "test_beacon_routes", "test_sources", "test_engines", "test_gas", "test_pages_in_the_browser",
    "test_build", "test_forgeries", "test_surface", "test_demo", "test_calls",
    "test_typescript_client", "test_money", "test_destination_reorg", "test_transactions",
    "test_no_untrue_fact", "test_nodes", "test_guides", "test_new_batch_in_the_browser",
    "test_handlers", "test_light_client", "test_delivery_faults", "test_recent_lookups",
    "test_lookups",
)  # fmt: skip
SLOW_SETUP_SECONDS, SLOWEST_SETUPS = 1, 10
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup", "template"}


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, because threads and locks differ in memory."""
    if connection.vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        connection.settings_dict["TEST"]["NAME"] = str(file)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    with deleting_instead_of_truncating():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collected tests and modules out of garbage collections, which would search them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure() -> None:
    """Tests press Ctrl-C. A shell that starts a run in the background may have it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check that every test is marked for the databases on which CI runs it, and sort them.

    Leave out installations unless they are asked for. pytest-django blocks the database for tests
    without `django_db`.
    """
    if "installation" not in config.option.markexpr:
        items[:] = [item for item in items if not item.get_closest_marker("installation")]
    items.sort(key=_place)
    needless = [
        item.nodeid
        for item in items
        if item.get_closest_marker("either_database") and not _touches_database(item)
    ]
    if needless:
        raise pytest.UsageError("either_database without a database: " + ", ".join(needless))
    undecided = [
        item.nodeid
        for item in items
        if _touches_database(item) == (item.get_closest_marker("no_database") is not None)
    ]
    if undecided:
        raise pytest.UsageError(
            "exactly one of no_database and django_db must mark: " + ", ".join(undecided)
        )


def _place(item: pytest.Item) -> int:
    return LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what slows each run down: set-ups that many tests wait for."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    setups = [report for report in reports if getattr(report, "when", "") == "setup"]
    setups = [report for report in setups if report.duration >= SLOW_SETUP_SECONDS]
    if setups:
        terminalreporter.section("slowest set-ups")
        for report in sorted(setups, key=lambda report: -report.duration)[:SLOWEST_SETUPS]:
            terminalreporter.write_line(f"{report.duration:6.2f} s  {report.nodeid}")


def _touches_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & DATABASE_FIXTURES)
