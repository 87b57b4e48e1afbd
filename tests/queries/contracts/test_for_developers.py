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
TESTING = Path(__file__).parents[3] / "explorer" / "docs" / "testing.md"


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


def examples(document: Path, *marks: str) -> list[str]:
    """The only example in the document that contains each of these texts."""
    blocks = re.findall(r"```[^\n]*\n(.*?)```", document.read_text(), re.DOTALL)
    found = [[block for block in blocks if mark in block] for mark in marks]
    assert [len(matches) for matches in found] == [1] * len(marks), marks
    return [block for (block,) in found]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)


def test_a_forge_project_tests_its_contract_as_the_guide_says(package: Path) -> None:
    """With npm's compiler instead of a download. The contract of the package's README compiles."""
    marks = ("remappings", "contract TokenBalances ", "contract TokenBalancesTest ", "env node")
    settings, contract, test, compiler = examples(TESTING, *marks)
    (holders,) = examples(CONTRACTS / "README.md", "contract Holders ")
    files = {
        "foundry.toml": f'{settings}solc = "./solc.cjs"\noffline = true\n',
        "src/TokenBalances.sol": contract,
        "src/Holders.sol": holders,
        "test/TokenBalances.t.sol": test,
        "solc.cjs": compiler,
    }
    write(package, files)
    (package / "solc.cjs").chmod(0o755)
    (package / "node_modules" / "solc").symlink_to(CONTRACTS / "node_modules" / "solc")
    output = run(BINARIES / "forge", "test", folder=package)
    assert "2 tests passed, 0 failed, 0 skipped" in output


def test_a_hardhat_project_tests_its_contract_as_the_guide_says(package: Path) -> None:
    """With npm's compiler instead of a download."""
    marks = ("npmFilesToBuild", "createRequire", "contract TokenBalances ", "viem.deployContract")
    settings, compiler, contract, test = examples(TESTING, *marks)
    first_line, _, path = compiler.partition("\n\n")
    settings = f"{first_line}\n{settings}".replace('"0.8.37",\n', f'"0.8.37",\n{path}')
    files = {
        "package.json": '{"type": "module"}',
        "hardhat.config.ts": settings,
        "contracts/TokenBalances.sol": contract,
        "test/TokenBalances.ts": test,
    }
    write(package, files)
    modules = package / "node_modules"
    for name in ("hardhat", "viem", "@nomicfoundation"):
        (modules / name).symlink_to(BINARIES.parent / name)
    (modules / "solc").symlink_to(CONTRACTS / "node_modules" / "solc")
    (modules / "tacitus").symlink_to(CONTRACTS.parent / "client" / "typescript")
    output = run(BINARIES / "hardhat", "test", folder=package)
    assert "1 passing" in output


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
