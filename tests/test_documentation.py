"""What the README says exists, and what exists is in the README."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database


def _settings(repository: Path) -> dict[str, str]:
    """Every setting that settings.py reads, with the method that reads it."""
    tree = ast.parse((repository / "explorer" / "settings.py").read_text())
    return {
        node.args[0].value: node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def test_the_table_of_settings_is_complete(repository: Path) -> None:
    readme = (repository / "README.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)`(?: or `([A-Z_]+)`)? \|", readme, re.MULTILINE)
    settings = _settings(repository)
    assert sorted(name for name, _ in rows) == sorted(settings)
    for name, file in rows:
        assert (file == f"{name}_FILE") is (settings[name] == "secret"), name


def test_every_make_target_is_explained(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    explained = set(re.findall(r"^([a-z]+):.*## \S", makefile, re.MULTILINE))
    assert explained | {"setup"} == set(phony[1].split())
    readme = (repository / "README.md").read_text()
    assert set(re.findall(r"`make ([a-z]+)", readme)) <= explained
    assert {"demo", "test"} <= set(re.findall(r"^make ([a-z]+)", readme, re.MULTILINE))


def test_make_help_lists_them(repository: Path) -> None:
    listed = subprocess.run(
        ["make", "help"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"^  make demo +\S", listed, re.MULTILINE)


def test_the_changelog_tells_of_this_version(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert f"## {project['version']}" in (repository / "CHANGELOG.md").read_text()
