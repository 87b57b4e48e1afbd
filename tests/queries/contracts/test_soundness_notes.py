"""What the notes on soundness name exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.queries.attacks.forgeries import FORGERIES
from tests.queries.attacks.header_forgeries import HEADER_FORGERIES
from tests.queries.attacks.registry_attacks import ATTACKS

pytestmark = pytest.mark.no_database


def test_each_invariant_names_what_attacks_it(repository: Path) -> None:
    notes = (repository / "queries" / "contracts" / "README.md").read_text()
    section = notes.split("## What soundness rests on\n")[1].split("\n## ")[0]
    lines = re.findall(r"^- (.*)$", section, re.MULTILINE)
    named = [re.findall(r"`(\w+_\w+_\w+)`", line) for line in lines]
    assert len(lines) > 20
    assert all(named)
    known = {*FORGERIES, *HEADER_FORGERIES, *ATTACKS, *_tests(repository)}
    assert {name for names in named for name in names} <= known


def _tests(repository: Path) -> set[str]:
    return {
        node.name
        for file in (repository / "tests" / "queries" / "contracts").glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
