"""Templates escape whatever they show; what calls a text safe, and so escapes itself, is named."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template import Engine

pytestmark = pytest.mark.no_database
CALLED_SAFE = {
    ("descriptions.py", r"mark_safe(CODE.sub('<code>\\1</code>', escape(text)))"),
    ("charts.py", "SafeString('')"),
}
CALLS = {"mark_safe", "SafeString", "SafeText"}
WITH_PLACES = {"format_html": 0, "format_html_join": 1}  # which argument is not escaped


def test_no_template_switches_escaping_off(repository: Path) -> None:
    assert Engine.get_default().autoescape
    templates = list((repository / "templates").rglob("*.html"))
    assert len(templates) > 50
    switched_off = r"\|\s*safe(seq)?\b|\bautoescape\b|\bmark_safe\b"
    assert [each for each in templates if re.search(switched_off, each.read_text())] == []


def test_what_is_called_safe_was_escaped_or_is_our_own_words(repository: Path) -> None:
    found = set()
    for file, call, name in _calls(repository):
        if name in CALLS:
            found.add((file.name, ast.unparse(call)))
        if name in WITH_PLACES:
            assert isinstance(call.args[WITH_PLACES[name]], ast.Constant), ast.unparse(call)
    assert found == CALLED_SAFE


def _calls(repository: Path) -> Iterator[tuple[Path, ast.Call, str]]:
    for app in ("accounts", "explorer", "queries"):
        for file in (repository / app).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                    yield file, node, name
                assert getattr(node, "name", "") != "__html__", file
