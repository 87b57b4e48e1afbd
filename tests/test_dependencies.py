"""Every package is told at /docs/security, with why it is here."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from explorer.security.dependencies import (
    ANALYSE,
    DEPENDENCIES,
    DEVELOP,
    IMAGES,
    NEEDED_BY,
    NPM,
    OF_NPM_NEEDED_BY,
    RUN,
    TO_ANALYSE_NEEDED_BY,
    TO_DEVELOP_NEEDED_BY,
)

pytestmark = pytest.mark.no_database
RUNS, DEVELOPS, ANALYSES = "requirements.txt", "requirements-dev.txt", "requirements-analyser.txt"
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def _names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def _pinned(repository: Path, file: str) -> dict[str, str]:
    """Package → version."""
    pins = PIN.findall((repository / file).read_text())
    return {canonicalize_name(name): pinned for name, pinned in pins}


def _of_npm(repository: Path, file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((repository / "queries" / "contracts" / file).read_text())
    return content


def test_every_direct_dependency_says_why_it_is_here(repository: Path) -> None:
    content = tomllib.loads((repository / "pyproject.toml").read_text())
    project, groups = content["project"], content["dependency-groups"]
    run = _names(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        run |= _names(extra)
    assert set(RUN) == run
    assert set(groups) == {"dev", "analyser"}
    assert set(DEVELOP) == _names(groups["dev"])
    assert set(ANALYSE) == _names(groups["analyser"])
    assert set(NPM) == set(_of_npm(repository, "package.json")["devDependencies"])
    for packages in DEPENDENCIES:
        assert all(len(why) >= 10 for why in packages.named.values())


def test_what_others_need_is_told_with_who_does(repository: Path) -> None:
    run, develop, analyse = (_pinned(repository, each) for each in (RUNS, DEVELOPS, ANALYSES))
    assert set(NEEDED_BY) == set(run) - set(RUN)
    assert set(TO_DEVELOP_NEEDED_BY) == set(develop) - set(run) - set(DEVELOP)
    assert set(TO_ANALYSE_NEEDED_BY) == set(analyse) - set(run) - set(ANALYSE)
    for needed, pinned in ((NEEDED_BY, run), (TO_DEVELOP_NEEDED_BY, develop)):
        for name, each in _pairs(needed):
            assert each in pinned, each
            assert name in _names(requires(each) or []), (name, each)


def test_what_the_analyser_needs_is_pinned_beside_it(repository: Path) -> None:
    """Its environment may not be here, so that of most packages cannot be asked what they need."""
    pinned = _pinned(repository, ANALYSES)
    for _, each in _pairs(TO_ANALYSE_NEEDED_BY):
        assert each in pinned, each


def test_every_image_is_told_by_its_tag(repository: Path) -> None:
    built = re.findall(r"^FROM (\S+)", (repository / "Dockerfile").read_text(), re.MULTILINE)
    run = re.findall(r"^ +image: (\S+)", (repository / "compose.yaml").read_text(), re.MULTILINE)
    assert set(IMAGES) == {*built, *run} - {"tacitus"}


def _pairs(needed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, them in needed.items():
        for each in them.split(", "):
            yield name, each


def test_what_packages_of_npm_need_is_told_with_who_does(repository: Path) -> None:
    locked = {
        name.removeprefix("node_modules/"): package
        for name, package in _of_npm(repository, "package-lock.json")["packages"].items()
        if name
    }
    assert set(OF_NPM_NEEDED_BY) == set(locked) - set(NPM)
    for name, each in _pairs(OF_NPM_NEEDED_BY):
        asked = {
            **locked[each].get("dependencies", {}),
            **locked[each].get("optionalDependencies", {}),
        }
        assert name in asked, (name, each)


def test_all_of_them_are_in_tables_and_all_pins_are_audited(
    client: Client, repository: Path
) -> None:
    page = client.get("/docs/security").text
    for packages in DEPENDENCIES:
        assert (repository / packages.pins).exists()
        assert f"<code>{packages.pins}</code>" in page
        for name, _ in packages.rows():
            assert f'<tr><th scope="row"><code>{name}</code></th>' in page
    for name in IMAGES:
        assert f'<tr><th scope="row"><code>{name}</code></th>' in page
    files = sorted(each.name for each in repository.glob("requirements*.txt"))
    assert files == sorted({ANALYSES, DEVELOPS, RUNS})
    audited = re.findall(r"/pip-audit --require-hashes .*--requirement (\S+)$", page, re.MULTILINE)
    assert sorted(audited) == files
    assert "cd queries/contracts &amp;&amp; npm audit" in page
