"""The interface, reader, mock and npm package for Solidity developers."""

import json
import os
import re
import shutil
import tarfile
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path

import pytest
from django.test import Client

from tests.commands import run_program
from tests.rigs.quiet_server import QuietHandler, handler_server

pytestmark = pytest.mark.no_database

FORGE = Path(__file__).parents[2] / "forge"
BINARIES = Path(__file__).parents[2] / "js" / "node_modules" / ".bin"
CONTRACTS = Path(__file__).parents[3] / "queries" / "contracts"


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    variables = {**os.environ, "FOUNDRY_DISABLE_NIGHTLY_WARNING": "1", **variables}
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


class _Site(QuietHandler, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = Client().get(self.path)
        self.answer(answer.content, answer.status_code, Content_Type=answer["Content-Type"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A project with the package installed from the URL at which a server serves it."""
    npm = shutil.which("npm")
    assert npm
    (tmp_path / "package.json").write_text("{}")
    with handler_server(_Site) as port:
        url = f"http://127.0.0.1:{port}/contracts/tacitus-contracts.tgz"
        run(npm, "install", "--no-audit", "--no-fund", url, folder=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/contracts/tacitus-contracts.tgz", CONTRACTS),
        ("/tacitus.tgz", CONTRACTS.parent / "client" / "typescript"),
    ],
)
def test_a_served_package_is_what_npm_packs(tmp_path: Path, path: str, folder: Path) -> None:
    npm = shutil.which("npm")
    assert npm
    packing = ("pack", "--json", "--pack-destination", tmp_path)
    (packed,) = json.loads(run(npm, *packing, folder=folder))
    answer = Client().get(path)
    assert answer["Content-Type"] == "application/gzip"
    assert answer["Access-Control-Allow-Origin"] == "*"
    cached = Client().get(path, HTTP_IF_NONE_MATCH=answer["ETag"])
    assert cached.status_code == 304
    assert contents(answer.content) == contents((tmp_path / packed["filename"]).read_bytes())


def contents(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        return {file.name: content.read() for file in files if (content := files.extractfile(file))}


def test_the_npm_package_has_what_it_exports(package: Path) -> None:
    names = (
        "interfaces/IFactsRegistry.sol",
        "interfaces/FactsLookupClient.sol",
        "interfaces/FactsReader.sol",
        "interfaces/MockFactsRegistry.sol",
        "interfaces/IFactsLookup.sol",
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


def readme_examples(package: Path, *marks: str) -> list[str]:
    """The first examples in the package's README that contain these texts."""
    readme = (package / "node_modules" / "tacitus-contracts" / "README.md").read_text()
    blocks = re.findall(r"```\w+\n(.*?)```", readme, re.DOTALL)
    return [next(block for block in blocks if mark in block) for mark in marks]


def test_a_forge_project_tests_its_contract_as_the_packages_readme_says(package: Path) -> None:
    """With npm's compiler instead of a download."""
    marks = ("remappings", "contract Holders ", "contract HoldersTest ", "env node")
    settings, contract, test, compiler = readme_examples(package, *marks)
    (package / "foundry.toml").write_text(f"{settings}offline = true\n")
    for name, source in (("src/Holders.sol", contract), ("test/Holders.t.sol", test)):
        (package / name).parent.mkdir()
        (package / name).write_text(source)
    (package / "solc.cjs").write_text(compiler)
    (package / "solc.cjs").chmod(0o755)
    (package / "node_modules" / "solc").symlink_to(CONTRACTS / "node_modules" / "solc")
    output = run(BINARIES / "forge", "test", "--use", "./solc.cjs", folder=package)
    assert "1 tests passed, 0 failed, 0 skipped" in output


def test_a_hardhat_project_compiles_with_the_package_as_its_readme_says(package: Path) -> None:
    """With npm's compiler instead of a download."""
    settings, contract = readme_examples(package, "npmFilesToBuild", "contract Holders ")
    modules = BINARIES.parent
    for name in ("hardhat", "@nomicfoundation"):
        (package / "node_modules" / name).symlink_to(modules / name)
    compiler = json.dumps(str(CONTRACTS / "node_modules" / "solc" / "soljson.js"))
    settings = re.sub('version: "[^"]+"', f'version: "0.8.37", path: {compiler}', settings)
    (package / "hardhat.config.ts").write_text(settings)
    (package / "package.json").write_text('{"type": "module"}')
    (package / "contracts").mkdir()
    (package / "contracts" / "Holders.sol").write_text(contract)
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
