"""What all tests share."""

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.db import connection
from django.test.client import MULTIPART_CONTENT, RequestFactory
from django.utils.http import urlencode

from tests.emptied import emptied_without_new_files

pytest_plugins = [
    "tests.accounts.wallet",
    "tests.accounts.sign_in_page",
    "tests.browser",
    "tests.commands",
    "tests.corpus",
    "tests.rigs.local_chain",
    "tests.scenarios.fixtures",
]

# Playwright runs an event loop in the test's own thread, where Django then refuses the database.
# Nothing here is asynchronous: the test waits for the browser, and the server is another thread.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def _posted_as_our_forms_are(posted: Callable[..., Any]) -> Callable[..., Any]:
    """Django's client sends a form as what no browser sends one of ours as, and no page takes."""

    @wraps(posted)
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
        return posted(client, path, data, content_type, **more)

    return post


RequestFactory.post = _posted_as_our_forms_are(RequestFactory.post)  # type: ignore[method-assign]

# How long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("tacitus", deadline=None)
hypothesis.settings.load_profile("tacitus")

DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup", "template"}


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None,  # noqa: ARG001  (pytest-django's own)
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """SQLite in a file, as people run it: in memory, threads and locks are others."""
    if connection.vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        connection.settings_dict["TEST"]["NAME"] = str(file)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:  # noqa: ARG001  (pytest-django's own)
    with emptied_without_new_files():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test says whether it needs a database: CI runs those that do once per engine.

    That a `no_database` test really touches none is held by pytest-django, which blocks the
    database for every test without `django_db`.
    """
    needless = [
        item.nodeid
        for item in items
        if item.get_closest_marker("either_database") and not _touches_database(item)
    ]
    if needless:
        raise pytest.UsageError("either_database marks what needs none: " + ", ".join(needless))
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
