"""What all tests share."""

import os
from pathlib import Path

import pytest

pytest_plugins = [
    "tests.accounts.wallet",
    "tests.accounts.sign_in_page",
    "tests.browser",
    "tests.commands",
    "tests.corpus",
    "tests.local_chain",
]

# Playwright runs an event loop in the test's own thread, where Django then refuses the database.
# Nothing here is asynchronous: the test waits for the browser, and the server is another thread.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test says whether it needs a database: CI runs those that do once per engine.

    That a `no_database` test really touches none is held by pytest-django, which blocks the
    database for every test without `django_db`.
    """
    undecided = [
        item.nodeid
        for item in items
        if _touches_database(item) == (item.get_closest_marker("no_database") is not None)
    ]
    if undecided:
        raise pytest.UsageError(
            "exactly one of no_database and django_db must mark: " + ", ".join(undecided)
        )


def _touches_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or bool(fixtures & DATABASE_FIXTURES)
