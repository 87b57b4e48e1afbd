"""Every package is told at /docs/security, with why it is here."""

import json
import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from explorer.security.dependencies import DEVELOP, NEEDED_BY, RUN

pytestmark = pytest.mark.no_database


def _names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def test_every_direct_dependency_says_why_it_is_here(repository: Path) -> None:
    content = tomllib.loads((repository / "pyproject.toml").read_text())
    project = content["project"]
    run = _names(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        run |= _names(extra)
    package = json.loads((repository / "queries" / "contracts" / "package.json").read_text())
    assert set(RUN) == run
    groups = [each for group in content["dependency-groups"].values() for each in group]
    assert set(DEVELOP) == _names(groups) | set(package["devDependencies"])
    assert all(len(why) >= 10 for why in (*RUN.values(), *DEVELOP.values()))


def test_what_others_need_is_told_with_who_does(repository: Path) -> None:
    pins = (repository / "requirements.txt").read_text()
    pinned = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", pins, re.MULTILINE)}
    assert set(NEEDED_BY) == pinned - set(RUN)
    for name, them in NEEDED_BY.items():
        for each in them.split(", "):
            assert name in _names(requires(each) or []), (name, each)
            assert each in pinned, each
