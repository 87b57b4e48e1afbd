"""The interface, reader, mock and npm package for Solidity developers."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.commands import run_program

pytestmark = pytest.mark.no_database

FORGE = Path(__file__).parents[2] / "forge"
BINARIES = Path(__file__).parents[2] / "js" / "node_modules" / ".bin"
CONTRACTS = Path(__file__).parents[3] / "queries" / "contracts"


def run(*command: str | Path, folder: Path) -> str:
    variables = {**os.environ, "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1"}
    process = run_program(command, cwd=folder, env=variables)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_forge_tests_pass_and_cost_the_recorded_gas() -> None:
    """Run `forge snapshot --no-match-test Fuzz` in tests/forge to record changed gas."""
    if not (BINARIES / "forge").exists():
        pytest.fail("forge is not installed: run make tests/js/node_modules/.tacitus-ready")
    output = run(BINARIES / "forge", "test", folder=FORGE)
    assert "15 tests passed, 0 failed, 0 skipped" in output
    run(BINARIES / "forge", "snapshot", "--check", "--no-match-test", "Fuzz", folder=FORGE)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A project with the packed package installed."""
    npm = shutil.which("npm")
    assert npm
    packing = ("pack", "--json", "--pack-destination", tmp_path)
    (archive,) = json.loads(run(npm, *packing, folder=CONTRACTS))
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    install = ("install", "--offline", "--no-audit", "--no-fund", f"../{archive['filename']}")
    run(npm, *install, folder=project)
    return project


def test_the_npm_package_has_what_it_exports(package: Path) -> None:
    names = (
        "interfaces/IFactsRegistry.sol",
        "interfaces/FactsLookupClient.sol",
        "interfaces/FactsReader.sol",
        "interfaces/MockFactsRegistry.sol",
        "examples/SnapshotVote.sol",
        "examples/TransferClaim.sol",
        "build/AttestedRegistry.json",
        "build/EventsVerifier.json",
        "build/EventsRouter.json",
        "build/FactsLookup.json",
        "build/FactsRouter.json",
        "build/addresses.json",
        "build/standard-input.json",
    )
    script = "console.log(JSON.stringify(process.argv.slice(1).map(n => require.resolve(n))))"
    paths = [f"tacitus-contracts/{name}" for name in names]
    files = json.loads(run("node", "-e", script, *paths, folder=package))
    for name, file in zip(names, files, strict=True):
        assert Path(file).read_bytes() == (CONTRACTS / name).read_bytes()
    licence = package / "node_modules" / "tacitus-contracts" / "LICENSE"
    assert licence.read_bytes() == (CONTRACTS.parents[1] / "LICENSE").read_bytes()


def readme_examples(package: Path, *languages: str) -> list[str]:
    """The first example in each of these languages in the README that the package has."""
    readme = (package / "node_modules" / "tacitus-contracts" / "README.md").read_text()
    return [readme.partition(f"```{language}\n")[2].partition("```")[0] for language in languages]


def test_a_forge_project_compiles_with_the_package_as_its_readme_says(package: Path) -> None:
    settings, contract = readme_examples(package, "toml", "solidity")
    compiler = json.dumps(str(FORGE / "solc"))
    (package / "foundry.toml").write_text(f"{settings}solc = {compiler}\noffline = true\n")
    (package / "src").mkdir()
    (package / "src" / "Holders.sol").write_text(f"pragma solidity ^0.8.4;\n{contract}")
    mock = "tacitus-contracts/interfaces/MockFactsRegistry.sol"
    (package / "src" / "Mock.sol").write_text(f'pragma solidity ^0.8.4;\nimport "{mock}";\n')
    run(BINARIES / "forge", "build", folder=package)
    built = json.loads((package / "out" / "Holders.sol" / "Holders.json").read_text())
    assert "heldAt(address,uint256)" in built["methodIdentifiers"]
    assert (package / "out" / "MockFactsRegistry.sol").exists()


def test_a_hardhat_project_compiles_with_the_package_as_its_readme_says(package: Path) -> None:
    """With npm's compiler instead of a download."""
    settings, contract = readme_examples(package, "ts", "solidity")
    modules = BINARIES.parent
    for name in ("hardhat", "@nomicfoundation"):
        (package / "node_modules" / name).symlink_to(modules / name)
    compiler = json.dumps(str(CONTRACTS / "node_modules" / "solc" / "soljson.js"))
    settings = re.sub('version: "[^"]+"', f'version: "0.8.37", path: {compiler}', settings)
    (package / "hardhat.config.ts").write_text(f"export default {{{settings}}};\n")
    (package / "package.json").write_text('{"type": "module"}')
    (package / "contracts").mkdir()
    (package / "contracts" / "Holders.sol").write_text(f"pragma solidity ^0.8.4;\n{contract}")
    run(BINARIES / "hardhat", "build", folder=package)
    artifacts = package / "artifacts"
    for file, function in (
        ("contracts/Holders.sol/Holders.json", "heldAt"),
        ("tacitus-contracts/interfaces/MockFactsRegistry.sol/MockFactsRegistry.json", "setSlot"),
    ):
        artifact = json.loads((artifacts / file).read_text())
        assert function in {entry.get("name") for entry in artifact["abi"]}, file


def test_the_interfaces_compile_with_the_oldest_compiler_that_they_name(tmp_path: Path) -> None:
    files = CONTRACTS.glob("interfaces/*.sol")
    compiler_input = {
        "language": "Solidity",
        "sources": {file.name: {"content": file.read_text()} for file in files},
        "settings": {"outputSelection": {"*": {"*": ["evm.bytecode.object"]}}},
    }
    (input_file := tmp_path / "input.json").write_text(json.dumps(compiler_input))
    script = (
        "const solc = require('solc-0.8.4'), input = require('fs').readFileSync(process.argv[1]);"
        "console.log(JSON.stringify([solc.version(), JSON.parse(solc.compile(String(input)))]))"
    )
    lines = run("node", "-e", script, str(input_file), folder=BINARIES.parents[1])
    version, output = json.loads(lines.splitlines()[-1])
    assert version.startswith("0.8.4+")
    assert all(message["severity"] != "error" for message in output.get("errors", []))
    mock = output["contracts"]["MockFactsRegistry.sol"]["MockFactsRegistry"]
    assert mock["evm"]["bytecode"]["object"]
