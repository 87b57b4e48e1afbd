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


def test_the_npm_package_has_what_it_exports(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    assert npm
    (packed,) = json.loads(
        run(npm, "pack", "--json", "--pack-destination", tmp_path, folder=CONTRACTS)
    )
    (tmp_path / "package.json").write_text("{}")
    install = ("install", "--offline", "--no-audit", "--no-fund", f"./{packed['filename']}")
    run(npm, *install, folder=tmp_path)
    names = (
        "interfaces/IFactsRegistry.sol",
        "interfaces/FactsReader.sol",
        "interfaces/MockFactsRegistry.sol",
        "examples/SnapshotVote.sol",
        "build/AttestedRegistry.json",
        "build/addresses.json",
        "build/standard-input.json",
    )
    script = "console.log(JSON.stringify(process.argv.slice(1).map(n => require.resolve(n))))"
    asked = [f"tacitus-contracts/{name}" for name in names]
    found = json.loads(run("node", "-e", script, *asked, folder=tmp_path))
    for name, file in zip(names, found, strict=True):
        assert Path(file).read_bytes() == (CONTRACTS / name).read_bytes()


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
