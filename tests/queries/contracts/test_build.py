"""The committed build output is that of the committed sources."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from queries import tacitus
from queries.chain.solidity import BUILD, load_artifact, selector
from queries.registries import FACTORY, Registry, RegistryKind, address_of, arguments
from tests.commands import clean_environment

pytestmark = pytest.mark.no_database

REGISTRIES = ["NativeRegistry", "OptimismRegistry", "OutputRegistry", "AttestedRegistry"]


def test_the_build_output_is_that_of_the_sources(repository: Path, tmp_path: Path) -> None:
    """With it the published input, from which anyone repeats the build with the compiler alone.

    By the command, which needs no settings.
    """
    ended = subprocess.run(
        [sys.executable, "manage.py", "build_contracts", "--check"],
        cwd=repository,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "NativeRegistry" in ended.stdout


def test_the_published_addresses_are_those_of_the_code() -> None:
    published = json.loads((BUILD / "addresses.json").read_text())
    for kind in (RegistryKind.NATIVE, RegistryKind.OPTIMISM):
        assert published[kind] == address_of(Registry(kind, 1, 1)) == tacitus.REGISTRIES[kind]
    attested = Registry(RegistryKind.ATTESTED, 5, 1, signers=(FACTORY,), threshold=1)
    code = load_artifact("AttestedRegistry").bytecode + arguments(attested)
    assert tacitus.registry_address(code) == address_of(attested).lower()


@pytest.mark.parametrize("name", REGISTRIES)
def test_deployed_consumers_find_the_functions_they_call(name: str) -> None:
    assert selector("accountField(address,uint256,uint8)").hex() == "7177899b"
    assert selector("accountStorageSlotValues(address,uint256,bytes32)").hex() == "7e445a26"
    functions = {
        f"{entry['name']}({','.join(argument['type'] for argument in entry['inputs'])})"
        for entry in load_artifact(name).abi
        if entry["type"] == "function"
    }
    assert {
        "accountField(address,uint256,uint8)",
        "tryAccountField(address,uint256,uint8)",
        "accountStorageSlotValues(address,uint256,bytes32)",
        "tryAccountStorageSlotValues(address,uint256,bytes32)",
        "headerField(uint256,uint8)",
        "tryHeaderField(uint256,uint8)",
        "blockNumberAt(uint256)",
        "tryBlockNumberAt(uint256)",
        "prove()",
        "multicall(bytes[])",
    } <= functions


@pytest.mark.parametrize("name", REGISTRIES)
def test_a_registry_fits_into_a_contract(name: str) -> None:
    assert len(load_artifact(name).deployed_bytecode) <= 24_576
    assert not [
        entry for entry in load_artifact(name).abi if entry.get("stateMutability") == "payable"
    ]
