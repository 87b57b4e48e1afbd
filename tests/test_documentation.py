"""What the README says exists, and what exists is in the README."""

import ast
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import screenshots
from tests.layers import ENVIRONMENT_NAMES
from tests.references import read

pytestmark = pytest.mark.no_database


@dataclass(frozen=True)
class Setting:
    reader: str  # the method of Environment that reads it
    default: str  # as the README writes it; empty where it is not a plain value


def _settings(repository: Path) -> dict[str, Setting]:
    """Every setting that settings.py reads."""
    tree = ast.parse((repository / "explorer" / "settings.py").read_text())
    return {
        node.args[0].value: Setting(node.func.attr, _default(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "env"
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def _default(call: ast.Call) -> str:
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "default")]
    constants = [each.value for each in given if isinstance(each, ast.Constant)]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "flag":
        return str(int(True in constants))
    return str(constants[0]) if constants else ""


def test_the_table_of_settings_is_complete_and_its_defaults_are_true(repository: Path) -> None:
    readme = (repository / "README.md").read_text()
    row = r"^\| `([A-Z_]+)`(?: or `([A-Z_]+)`)? \| (.*?) \|"
    rows = re.findall(row, readme, re.MULTILINE)
    settings = _settings(repository)
    assert sorted(name for name, *_ in rows) == sorted(settings)
    for name, file, default in rows:
        assert (file == f"{name}_FILE") is (settings[name].reader == "secret"), name
        if settings[name].default:
            assert default == f"`{settings[name].default}`", name
        else:
            assert default.startswith("none") or "var/" in default, name


def test_settings_reads_the_environment_in_one_place(repository: Path) -> None:
    """What is read beside `env` would be in no table."""
    text = (repository / "explorer" / "settings.py").read_text()
    names = [each.name.split(".") for each in read("explorer/settings.py", text).references]
    reads = [".".join(name) for name in names if ENVIRONMENT_NAMES & set(name[1:])]
    assert reads == ["os.environ"]
    assert "env = Environment(os.environ)\n" in text
    assert not [name for name in names if name[0] == "environ"]


def test_the_readme_tells_of_what_the_tests_ask_for(repository: Path) -> None:
    contributing = (repository / "README.md").read_text().partition("## Contributing")[2]
    assert "`REQUIRE_BROWSER=1`" in contributing
    assert "`REQUIRE_BROKERS=1`" in contributing
    assert "`REQUIRE_VENDOR`" in contributing


def test_every_make_target_is_explained(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    explained = set(re.findall(r"^([a-z]+):.*## \S", makefile, re.MULTILINE))
    assert explained == set(phony[1].split())
    readme = (repository / "README.md").read_text()
    assert set(re.findall(r"`make ([a-z]+)", readme)) <= explained
    assert {"demo", "test"} <= set(re.findall(r"^make ([a-z]+)", readme, re.MULTILINE))


def test_the_readmes_pictures_are_there_and_small(repository: Path) -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (repository / "README.md").read_text())
    assert [repository / each for each in sorted(shown)] == sorted(screenshots.PICTURES.iterdir())
    for each in shown:
        content = (repository / each).read_bytes()
        assert len(content) <= screenshots.MOST_BYTES
        assert int.from_bytes(content[16:20]) == screenshots.WIDTH  # as its header says it


def test_make_help_lists_them(repository: Path) -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    makefile = (repository / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    assert set(re.findall(r"^  make ([a-z]+) +\S", listed, re.MULTILINE)) == set(phony[1].split())
    assert listed.endswith(": .venv/bin/python manage.py help\n")


def test_the_changelog_tells_of_this_version(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert f"## {project['version']}" in (repository / "CHANGELOG.md").read_text()
