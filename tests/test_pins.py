"""The pins are complete, belong to pyproject.toml and name no index."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.no_database

PIN = re.compile(
    r"^([a-z0-9.-]+)==(\S+)(?: ;.*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE
)


def _pins(file: Path) -> dict[str, str]:
    text = file.read_text()
    pins = dict(PIN.findall(text))
    assert len(pins) == len(re.findall(r"^\S", text, re.MULTILINE)), "a line is no pin"
    return pins


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_every_dependency_has_a_range_and_a_pin_in_it(repository: Path, file: str) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    if file == "requirements-dev.txt":
        wanted += project["dependency-groups"]["dev"]
    pins = _pins(repository / file)
    for requirement in map(Requirement, wanted):
        assert {"<", ">="} <= {clause.operator for clause in requirement.specifier}, requirement
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_development_uses_the_versions_of_production(repository: Path) -> None:
    production = _pins(repository / "requirements.txt")
    development = _pins(repository / "requirements-dev.txt")
    assert production.items() <= development.items()


def test_the_npm_lock_holds_what_package_json_names(repository: Path) -> None:
    contracts = repository / "queries" / "contracts"
    wanted = json.loads((contracts / "package.json").read_text())["devDependencies"]
    lock = json.loads((contracts / "package-lock.json").read_text())["packages"]
    assert lock.pop("")["devDependencies"] == wanted
    for name, version in wanted.items():
        assert lock[f"node_modules/{name}"]["version"] == version
    assert all(package["integrity"].startswith("sha512-") for package in lock.values())


@pytest.mark.parametrize(
    "file",
    [
        "requirements.txt",
        "requirements-dev.txt",
        "queries/contracts/package.json",
        "queries/contracts/.npmrc",
        "queries/contracts/package-lock.json",
    ],
)
def test_no_pin_names_an_address(repository: Path, file: str) -> None:
    named = [
        line
        for line in (repository / file).read_text().splitlines()
        if "://" in line and '"url": ' not in line  # a package's funding page
    ]
    assert named == []
    assert "resolved" not in (repository / file).read_text().replace("-resolved=true", "")
