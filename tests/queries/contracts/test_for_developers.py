"""What Solidity developers build on: the interface, the reader, the mock and the npm package."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database

FORGE = Path(__file__).parents[2] / "forge"
NEEDED = Path(__file__).parents[2] / "js" / "node_modules" / ".bin"
CONTRACTS = Path(__file__).parents[3] / "queries" / "contracts"


def run(*command: str | Path, folder: Path) -> str:
    variables = {**os.environ, "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1"}
    ended = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_forge_tests_pass_and_cost_the_recorded_gas() -> None:
    """After a change: `forge snapshot --no-match-test Fuzz` in tests/forge records it anew."""
    if not (NEEDED / "forge").exists():
        pytest.fail("forge is not installed: run make tests/js/node_modules/.tacitus-ready")
    said = run(NEEDED / "forge", "test", folder=FORGE)
    assert "15 tests passed, 0 failed, 0 skipped" in said
    run(NEEDED / "forge", "snapshot", "--check", "--no-match-test", "Fuzz", folder=FORGE)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A project into which the packed package is installed."""
    npm = shutil.which("npm")
    assert npm
    packing = ("pack", "--json", "--pack-destination", tmp_path)
    (packed,) = json.loads(run(npm, *packing, folder=CONTRACTS))
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    install = ("install", "--offline", "--no-audit", "--no-fund", f"../{packed['filename']}")
    run(npm, *install, folder=project)
    return project


def test_the_npm_package_has_what_it_exports(package: Path) -> None:
    names = (
        "interfaces/IFactsRegistry.sol",
        "interfaces/FactsReader.sol",
        "interfaces/MockFactsRegistry.sol",
        "examples/SnapshotVote.sol",
        "build/AttestedRegistry.json",
        "build/FactsRouter.json",
        "build/addresses.json",
        "build/standard-input.json",
    )
    script = "console.log(JSON.stringify(process.argv.slice(1).map(n => require.resolve(n))))"
    asked = [f"tacitus-contracts/{name}" for name in names]
    found = json.loads(run("node", "-e", script, *asked, folder=package))
    for name, file in zip(names, found, strict=True):
        assert Path(file).read_bytes() == (CONTRACTS / name).read_bytes()
    licence = package / "node_modules" / "tacitus-contracts" / "LICENSE"
    assert licence.read_bytes() == (CONTRACTS.parents[1] / "LICENSE").read_bytes()


def test_a_forge_project_compiles_with_the_package_as_its_readme_says(package: Path) -> None:
    readme = (package / "node_modules" / "tacitus-contracts" / "README.md").read_text()
    settings, contract = (
        readme.partition(f"```{language}\n")[2].partition("```")[0]
        for language in ("toml", "solidity")
    )
    compiler = json.dumps(str(FORGE / "solc"))
    (package / "foundry.toml").write_text(f"{settings}solc = {compiler}\noffline = true\n")
    (package / "src").mkdir()
    (package / "src" / "Holders.sol").write_text(f"pragma solidity ^0.8.4;\n{contract}")
    mock = "tacitus-contracts/interfaces/MockFactsRegistry.sol"
    (package / "src" / "Mock.sol").write_text(f'pragma solidity ^0.8.4;\nimport "{mock}";\n')
    run(NEEDED / "forge", "build", folder=package)
    built = json.loads((package / "out" / "Holders.sol" / "Holders.json").read_text())
    assert "heldAt(address,uint256)" in built["methodIdentifiers"]
    assert (package / "out" / "MockFactsRegistry.sol").exists()


def test_the_interfaces_compile_with_the_oldest_compiler_that_they_name(tmp_path: Path) -> None:
    files = CONTRACTS.glob("interfaces/*.sol")
    question = {
        "language": "Solidity",
        "sources": {each.name: {"content": each.read_text()} for each in files},
        "settings": {"outputSelection": {"*": {"*": ["evm.bytecode.object"]}}},
    }
    (asked := tmp_path / "input.json").write_text(json.dumps(question))
    script = (
        "const solc = require('solc-0.8.4'), input = require('fs').readFileSync(process.argv[1]);"
        "console.log(JSON.stringify([solc.version(), JSON.parse(solc.compile(String(input)))]))"
    )
    said = run("node", "-e", script, str(asked), folder=NEEDED.parents[1])
    version, output = json.loads(said.splitlines()[-1])
    assert version.startswith("0.8.4+")
    assert not [each for each in output.get("errors", []) if each["severity"] == "error"]
    mock = output["contracts"]["MockFactsRegistry.sol"]["MockFactsRegistry"]
    assert mock["evm"]["bytecode"]["object"]
