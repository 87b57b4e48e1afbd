"""The pins are complete, belong to pyproject.toml and name no index."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

pytestmark = pytest.mark.no_database

PIN = re.compile(
    r"^([a-z0-9.-]+)==(\S+)(?: ;.*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE
)


def _pins(file: Path) -> dict[str, str]:
    text = file.read_text()
    pins = dict(PIN.findall(text))
    assert len(pins) == len(re.findall(r"^\S", text, re.MULTILINE)), "a line is no pin"
    return pins


def _wanted(repository: Path, file: str) -> list[Requirement]:
    """What pyproject.toml asks for, and what is pinned in `file`."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    if file == "requirements-analyser.txt":
        return [Requirement(each) for each in project["dependency-groups"]["analyser"]]
    wanted = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    if file == "requirements-dev.txt":
        wanted += project["dependency-groups"]["dev"]
    return [Requirement(each) for each in wanted]


@pytest.mark.parametrize(
    "file", ["requirements.txt", "requirements-dev.txt", "requirements-analyser.txt"]
)
def test_every_dependency_has_a_range_and_a_pin_in_it(repository: Path, file: str) -> None:
    pins = _pins(repository / file)
    for requirement in _wanted(repository, file):
        assert {"<", ">="} <= {clause.operator for clause in requirement.specifier}, requirement
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_what_the_pins_need_is_pinned(repository: Path, file: str) -> None:
    """On this platform, as the installed packages themselves tell it."""
    pins = _pins(repository / file)
    waiting = _wanted(repository, file)
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert requirement.specifier.contains(pins[name], prereleases=True), requirement
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        extras = requirement.extras or {""}
        waiting += [
            needed
            for needed in map(Requirement, metadata.requires(name) or [])
            if not needed.marker or any(needed.marker.evaluate({"extra": e}) for e in extras)
        ]
    assert len(seen) > len(_wanted(repository, file))


def test_siwes_own_dependency_is_held_where_siwe_still_imports(repository: Path) -> None:
    wanted = {each.name: each.specifier for each in _wanted(repository, "requirements.txt")}
    assert "2.9" not in wanted["abnf"]
    assert Version(_pins(repository / "requirements.txt")["abnf"]) < Version("2.9")


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
        "requirements-analyser.txt",
        "queries/contracts/package.json",
        "queries/contracts/.npmrc",
        "queries/contracts/package-lock.json",
    ],
)
def test_no_pin_names_an_address(repository: Path, file: str) -> None:
    text = (repository / file).read_text()
    assert "://" not in text
    assert "resolved" not in text.replace("-resolved=true", "")


def test_nothing_is_installed_unpinned_and_no_package_runs_a_script(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    installs = re.findall(r"-m pip install.*", makefile)
    assert installs
    assert all("--require-hashes --requirement requirements" in each for each in installs)
    options = (repository / "queries" / "contracts" / ".npmrc").read_text().splitlines()
    assert "ignore-scripts=true" in options
