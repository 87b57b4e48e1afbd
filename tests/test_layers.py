"""The import rules of the house hold, and each rule can be broken."""

import subprocess
from pathlib import Path

import pytest

from tests.layers import violations

pytestmark = pytest.mark.no_database

TOP_LEVEL = {
    "manage.py", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile",
    "requirements.txt", "requirements-dev.txt", ".ci", ".gitignore",
    "explorer", "accounts", "queries", "templates", "static", "tests",
}  # fmt: skip


def _files(repository: Path) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return [file for file in listed.stdout.splitlines() if (repository / file).exists()]


def test_the_code_keeps_every_rule(repository: Path) -> None:
    sources = {
        file: (repository / file).read_text()
        for file in _files(repository)
        if file.endswith(".py") and not file.startswith("tests/")
    }
    assert {"manage.py", "explorer/settings.py", "queries/apps.py"} <= set(sources)
    assert violations(sources) == []


def test_the_top_level_is_the_designs(repository: Path) -> None:
    assert {file.split("/")[0] for file in _files(repository)} <= TOP_LEVEL


def test_no_module_is_an_empty_placeholder(repository: Path) -> None:
    empty = [
        file
        for file in _files(repository)
        if not file.endswith("__init__.py") and not (repository / file).read_bytes().strip()
    ]
    assert empty == []


@pytest.mark.parametrize(
    ("rule", "file", "source"),
    [
        ("proving is pure", "queries/proving/headers.py", "import django"),
        ("proving is pure", "queries/proving/headers.py", "import time"),
        ("proving is pure", "queries/proving/headers.py", "from queries import models"),
        ("proving is pure", "queries/proving/headers.py", "from ..models import Batch"),
        ("only chain and webhooks talk", "queries/intake.py", "import requests"),
        ("only chain and webhooks talk", "explorer/views.py", "from web3 import Web3"),
        ("accounts imports neither", "accounts/views.py", "from queries.reading import batch"),
        ("accounts imports neither", "accounts/views.py", "import explorer.urls"),
        ("queries never imports explorer", "queries/api.py", "from explorer import page_links"),
        ("pages use reading", "explorer/views.py", "from queries.models import Batch"),
        ("pages use reading", "explorer/views.py", "from accounts import models"),
        ("no Django signals", "queries/apps.py", "from django.db.models.signals import post_save"),
        ("no import inside", "queries/api.py", "def f():\n    import json"),
        ("only transitions writes", "queries/intake.py", "batch.status = 'DONE'"),
        ("only transitions writes", "queries/intake.py", "rows.update(status='DONE')"),
        ("only settings reads", "queries/intake.py", "import os\nos.environ['X']"),
        ("only settings reads", "queries/intake.py", "import os\nos.getenv('X')"),
    ],
)
def test_a_break_of_a_rule_is_found(rule: str, file: str, source: str) -> None:
    assert [line for line in violations({file: source}) if line.startswith(rule)]


def test_a_second_user_of_celery_is_found() -> None:
    one = {"queries/engines/celery_engine.py": "from celery import Celery"}
    assert violations(one) == []
    assert violations({**one, "queries/api.py": "import celery"}) != []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("queries/chain/nodes.py", "import requests"),
        ("queries/proving/tries.py", "from .headers import Header"),
        ("queries/transitions.py", "batch.status = 'DONE'"),
        ("explorer/settings.py", "import os\nos.environ['X']"),
    ],
)
def test_what_is_allowed_is_not_reported(file: str, source: str) -> None:
    assert violations({file: source}) == []
