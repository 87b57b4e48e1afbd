"""The import rules of the house hold, and each rule can be broken."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.layers import (
    CELERY,
    CLIENT,
    ENVIRONMENT,
    ENVIRONMENT_NAMES,
    IMPURE_CALLS,
    NETWORK,
    PURE,
    WIRING,
    violations,
)
from tests.status_writes import QUERY_WRITERS

pytestmark = pytest.mark.no_database

TOP_LEVEL = {
    "manage.py", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile",
    "requirements.txt", "requirements-analyser.txt", "requirements-dev.txt", ".ci", ".gitignore",
    "Dockerfile", "compose.yaml", ".dockerignore",
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


Break = tuple[str, str, str]  # the beginning of a rule, a file, a source that breaks it there

IMPORTS: list[Break] = [
    ("proving is pure", "queries/proving/headers.py", "import django"),
    ("proving is pure", "queries/proving/headers.py", "import time"),
    ("proving is pure", "queries/proving/headers.py", "from queries import models"),
    ("proving is pure", "queries/proving/headers.py", "from ..models import Batch"),
    ("only chain and webhooks talk", "explorer/views.py", "from web3 import Web3"),
    ("only chain and webhooks talk", "queries/intake.py", "import urllib"),
    (
        "only chain and webhooks talk",
        "queries/intake.py",
        "import urllib.parse\nurllib.request.urlopen(x)",
    ),
    ("only chain and webhooks talk", "queries/intake.py", "from django.core import mail"),
    ("only chain and webhooks talk", "queries/intake.py", "import os\nos.system(x)"),
    ("only chain and webhooks talk", "queries/intake.py", "from os import popen"),
    (
        "only chain and webhooks talk",
        "explorer/serving_process.py",
        "import multiprocessing\nmultiprocessing.connection.Client(x)",
    ),
    ("only chain and webhooks talk", "explorer/management/commands/serve.py", "import requests"),
    ("only chain and webhooks talk", "explorer/serving_process.py", "import asyncio"),
    ("only chain and webhooks talk", "explorer/management/commands/look.py", "import socket"),
    ("accounts knows neither", "accounts/views.py", "from queries.reading import batch"),
    ("accounts knows neither", "accounts/views.py", "import explorer.urls"),
    ("queries never knows explorer", "queries/api.py", "from explorer import page_links"),
    ("pages use reading", "explorer/views.py", "from queries.models import Batch"),
    ("pages use reading", "explorer/views.py", "from queries import *"),
    ("pages use reading", "explorer/views.py", "from queries import models"),
    ("pages use reading", "explorer/views.py", "import queries"),
    ("pages use reading", "explorer/views.py", "import queries.reading\nqueries.models.Batch"),
    ("pages use reading", "explorer/views_batch.py", "from queries import api"),
    ("pages use reading", "explorer/views.py", "from accounts import models"),
    ("pages use reading", "explorer/views.py", "from django.db import connection"),
    ("pages use reading", "explorer/views_batch.py", "from queries.chain import signer"),
    ("explorer only wires", "explorer/urls.py", "from queries import models"),
    ("explorer only wires", "explorer/charts.py", "from queries.pipeline import plan"),
    ("explorer only wires", "explorer/charts.py", "from queries import chain"),
    ("explorer only wires", "explorer/urls.py", "import queries.chain.nodes"),
    ("explorer only wires", "explorer/wiring.py", "from queries.api import api"),
    ("the client needs nothing but", CLIENT, "from queries.proving import keccak"),
    ("the client needs nothing but", CLIENT, "import urllib3"),
    ("the client needs nothing but", CLIENT, "from .proving import keccak"),
    ("the client is for others", "queries/intake.py", "from queries import tacitus"),
    ("an import names what it takes", "manage.py", "from django.conf import *"),
    ("no Django signals", "queries/apps.py", "from django.db.models.signals import post_save"),
    ("no Django signals", "queries/apps.py", "from django.core.signals import request_started"),
    (
        "no Django signals",
        "queries/apps.py",
        "from django.contrib.auth.signals import user_logged_in",
    ),
    ("no Django signals", "queries/apps.py", "import django.dispatch"),
    (
        "no Django signals",
        "queries/apps.py",
        "from django.db import models\nmodels.signals.post_save",
    ),
    ("no import inside", "queries/api.py", "def f():\n    import json"),
    ("no import inside", "accounts/eip4361.py", "def f():\n    import json"),
    ("no import inside", "accounts/views.py", "def f():\n    import siwe"),
    (
        "nothing is imported by its name",
        "explorer/views.py",
        "from django.apps import apps\napps.get_model('queries.Batch')",
    ),
    (
        "nothing is imported by its name",
        "explorer/views.py",
        "import importlib\nimportlib.import_module(x)",
    ),
    ("nothing is imported by its name", "explorer/views.py", "from importlib import import_module"),
    (
        "nothing is imported by its name",
        "explorer/views.py",
        "from django.utils.module_loading import import_string",
    ),
    ("nothing is imported by its name", "explorer/views.py", "__import__('queries')"),
]
STATUS_WRITES = [
    "batch.status = 'DONE'",
    "batch.status += 'DONE'",
    "setattr(batch, 'status', 'DONE')",
    "rows.bulk_update(batches, ['lease', 'status'])",
    "rows.abulk_update(batches, fields=('status',))",
    "rows.update(**{'status': 'DONE'})",
    "rows.update(**changes)",
    "rows.update(**{**changes})",
    "rows.update(**{name: 'DONE'})",
    "rows.create(batch=1, **changes)",
    "rows.update_or_create(id=1, defaults=changes)",
    "rows.bulk_update(batches, fields=names)",
    "cursor.execute('UPDATE queries_batch SET status = 1')",
    "cursor.execute(f'UPDATE {table} SET x = 1')",
    "cursor.executemany(CLAIM, rows)",
    "cursor.execute(sql=CLAIM)",
    "Batch.objects.raw('INSERT INTO x')",
    "Batch(**changes)",
    "rows.update_or_create(id=1, defaults={'status': 'DONE'})",
    "rows.update_or_create(id=1, create_defaults={'status': 'DONE'})",
    "Batch(status='DONE')",
    "Batch(**{'status': 'DONE'})",
    "from queries.models import Batch\nBatch(status='DONE')",
    "from queries import models\nmodels.Batch(status='DONE')",
    *(f"rows.{writer}(status='DONE')" for writer in sorted(QUERY_WRITERS - {"bulk_update"})),
]
ENVIRONMENT_READS = [
    *(f"import os\nos.{name}('X')" for name in sorted(ENVIRONMENT_NAMES)),
    *(f"from os import {name} as n" for name in sorted(ENVIRONMENT_NAMES)),
    *(f"import environ\n{name}('X')" for name in sorted(ENVIRONMENT)),
    *(f"from environ import {name.split('.')[1]} as E\nE('X')" for name in sorted(ENVIRONMENT)),
]
BREAKS: list[Break] = [
    *IMPORTS,
    *(("only chain and", "queries/intake.py", f"import {name}") for name in sorted(NETWORK)),
    *(("proving is", "queries/proving/a.py", f"{name}('x')") for name in sorted(IMPURE_CALLS)),
    *(("only transitions writes", "queries/intake.py", source) for source in STATUS_WRITES),
    *(("only settings reads", "queries/intake.py", source) for source in ENVIRONMENT_READS),
]


@pytest.mark.parametrize(("rule", "file", "source"), BREAKS)
def test_a_break_of_a_rule_is_found(rule: str, file: str, source: str) -> None:
    assert [line for line in violations({file: source}) if line.startswith(rule)]


@pytest.mark.parametrize("package", sorted(CELERY))
def test_a_second_user_of_celery_is_found(package: str) -> None:
    one = {"queries/engines/celery_engine.py": "from celery import Celery"}
    assert violations(one) == []
    assert violations({**one, "queries/api.py": f"import {package}"}) != []


ALLOWED = [
    ("accounts/eip4361.py", "def f():\n    import siwe as package"),
    ("queries/chain/nodes.py", "import requests"),
    ("queries/proving/tries.py", "from .headers import Header"),
    ("queries/transitions.py", "batch.status = 'DONE'"),
    ("queries/api.py", "from django.http import JsonResponse\nJsonResponse({}, status=404)"),
    ("queries/api.py", "from urllib.parse import quote\nquote(x)"),
    ("queries/reading.py", "class StepView: ...\nStepView(status=row.status)"),
    ("queries/models.py", "from django.db import models\nmodels.Index(fields=['status'])"),
    ("queries/migrations/0001_initial.py", "apps.get_model('queries', 'Batch')"),
    ("queries/migrations/0001_initial.py", "cursor.execute('UPDATE queries_batch SET x = 1')"),
    ("queries/reading.py", "cursor.execute('SELECT 1')"),
    ("manage.py", "ManagementUtility(arguments).execute()"),
    ("queries/intake.py", "rows.update(**{'lease': 1}, token=2)"),
    ("queries/intake.py", "rows.bulk_update(batches, ['lease'])"),
    ("queries/management/commands/contracts.py", "import subprocess\nsubprocess.run(x)"),
    ("explorer/management/commands/serve.py", "import socket"),
    ("explorer/settings.py", "import os\nos.environ['X']"),
    (CLIENT, "import os\nimport requests\nos.environ['X']"),
    ("explorer/database.py", "import environ\nenviron.Env.db_url_config(x)"),
    ("explorer/views.py", "from queries import reading\nreading.batch(x)"),
    ("explorer/views.py", "render(request, 'x.html', status=400)"),
    *(
        (file, f"import {module}")
        for file, module in sorted(
            (file, module) for module, files in WIRING.items() for file in files
        )
    ),
    *(("queries/proving/tries.py", f"import {module}") for module in sorted(PURE)),
]


@pytest.mark.parametrize(("file", "source"), ALLOWED)
def test_what_is_allowed_is_not_reported(file: str, source: str) -> None:
    assert violations({file: source}) == []


def test_no_work_is_put_off_in_a_comment(repository: Path) -> None:
    ends = (".py", ".sol", ".js", ".html", ".css")
    put_off = [
        f"{file}: {line}"
        for file in _files(repository)
        if file.endswith(ends)
        for line in (repository / file).read_text().splitlines()
        if re.search(r"\b(TO[D]O|FIX[M]E|X[X]X)\b", line)
    ]
    assert put_off == []
