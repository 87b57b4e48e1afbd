"""SQL of our own stands in few modules, and what each joins into it is named here.

Ruff refuses SQL that is put together of texts (S608), and these are all its exceptions and what it
does not see. That no request's text comes among them is for whoever reads this list, and for
tests/explorer/test_statements.py.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.security.what_is_sent import INPUT

pytestmark = pytest.mark.no_database

RUNNERS = {"execute", "executemany", "executescript", "callproc", "copy", "raw", "extra"}
MAKERS = {"RawSQL", "RunSQL"}
WORDS = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|COPY|PRAGMA|WHERE|CREATE|ALTER|DROP|BETWEEN)\b|%s"
)
# By module: what stands in its SQL beside texts of its own. All are constants, numbers, or names of
# our tables and columns.
OWN_SQL = {
    "accounts/indexes.py": {"name"},  # an index's, quoted
    "accounts/patience.py": {"int(seconds * 1000)"},
    "accounts/rate_limits.py": {
        "DAY", "ENDED", "CLOCK[connection.vendor]", "SPEND.format(clock=CLOCK[connection.vendor])",
    },
    "explorer/health.py": set(),
    "explorer/management/commands/migrate.py": set(),
    "queries/durable.py": set(),
    "queries/pipeline/clock.py": set(),
    "queries/query_rows.py": {
        "sql", "_table()", "columns", "marks", "changes", "_column(field)", "_column(key)",
    },
    "queries/reading/batches.py": set(),
    "queries/waiting.py": {"_OF_ITS_JOB"},
}  # fmt: skip
# Made-up rows of a scratch database, for commands that measure.
OF_MEASUREMENTS = {
    "queries/management/many_queries.py": {"statement"},
    "queries/management/scratch_database.py": set(),
    "queries/management/scratch_rows.py": {"insert", "table", "columns", "marks"},
}


def joined(source: str) -> set[str] | None:
    """What stands in its SQL beside texts; None where it has no SQL."""
    tree = ast.parse(source)
    statements = [call.args[0] for call in _calls(tree) if _runs_sql(call)]
    if not statements:
        return None
    whole = [each for each in statements if not isinstance(each, ast.Constant | ast.JoinedStr)]
    parts = [
        part.value
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr) and (_is_sql(text) or text in statements)
        for part in text.values
        if isinstance(part, ast.FormattedValue)
    ]
    return {ast.unparse(each) for each in whole + parts}


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _runs_sql(call: ast.Call) -> bool:
    if not call.args:  # as what runs commands is called, and what copies a dict
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in RUNNERS | MAKERS
    return isinstance(call.func, ast.Name) and call.func.id in MAKERS


def _is_sql(text: ast.JoinedStr) -> bool:
    said = (each.value for each in text.values if isinstance(each, ast.Constant))
    return any(WORDS.search(str(each)) for each in said)


def test_own_sql_is_where_it_is_named_and_joins_what_is_named(repository: Path) -> None:
    found = {}
    for package in ("accounts", "explorer", "queries"):
        for file in (repository / package).rglob("*.py"):
            parts = joined(file.read_text())
            if parts is not None:
                found[file.relative_to(repository).as_posix()] = parts
    assert found == OWN_SQL | OF_MEASUREMENTS


def test_the_walk_names_these_modules() -> None:
    (row,) = [each for each in INPUT.requirements if each.numbers.startswith("5.3.4")]
    named = {f"{name}.py" for name in re.findall(r"[a-z]+(?:[_/][a-z]+)*", row.how)}
    ends = {file for file in OWN_SQL if any(file.endswith(f"/{name}") for name in named)}
    assert ends == set(OWN_SQL)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("cursor.execute(f'SELECT {name}')", {"name"}),
        ("cursor.execute('SELECT ' + name)", {"'SELECT ' + name"}),
        ("cursor.execute('SELECT %s' % name)", {"'SELECT %s' % name"}),
        ("sql = f'DELETE FROM {table}'\ncursor.execute(sql)", {"sql", "table"}),
        ("Batch.objects.raw(request.GET['q'])", {"request.GET['q']"}),
        ("Batch.objects.extra({name: 1})", {"{name: 1}"}),
        ("expressions.RawSQL(text, ())", {"text"}),
        ("cursor.execute('SELECT 1')", set()),
        ("command.execute()\nkept = told.copy()\nf'SELECT {name}'", None),
    ],
)
def test_what_is_joined_is_found(source: str, parts: set[str] | None) -> None:
    assert joined(source) == parts
