"""A build is made once, and again when what it is made of is another."""

from pathlib import Path

import pytest

from tests.queries.attacks.kept_builds import compiled

pytestmark = pytest.mark.no_database
SETTINGS = {"outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}


def _source(name: str) -> dict[str, str]:
    head = "// SPDX-License-Identifier: MIT\npragma solidity 0.8.37;\n"
    return {"a.sol": f"{head}contract {name} {{}}"}


def test_it_is_kept_until_its_source_changes(tmp_path: Path) -> None:
    first = compiled(_source("First"), SETTINGS, tmp_path)
    assert set(first["contracts"]["a.sol"]) == {"First"}
    (file,) = tmp_path.glob("*.json")
    file.write_text('{"kept": true}')
    assert compiled(_source("First"), SETTINGS, tmp_path) == {"kept": True}
    second = compiled(_source("Second"), SETTINGS, tmp_path)
    assert set(second["contracts"]["a.sol"]) == {"Second"}
    assert file not in tmp_path.iterdir()
