"""Contracts that only tests compile. Builds are cached, because one takes up to a minute.

One pytest process compiles while the others wait; later runs reuse the build until a source, a
setting or the compiler changes.
"""

import fcntl
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from queries.contracts.abi import Artifact, load_artifact
from queries.contracts.compiler import COMPILER, CONTRACTS, SETTINGS, read_sources, run_compiler

BUILDS = Path(__file__).parents[1] / ".pytest_cache" / "builds"  # `make clean` removes it
TEST_SOURCES = Path(__file__).parent / "queries" / "contracts" / "sources"
_QUICK = {"evmVersion": "cancun", "outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}
SETTABLE = "SettableRegistry"
SETTABLE_FILE = f"tests/{SETTABLE}.sol"  # its name for the compiler


def compile_cached(sources: Mapping[str, str], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the output of `run_compiler`, which is kept unless it is an error."""
    version = COMPILER.with_name("package.json").read_text()
    key = json.dumps([dict(sources), dict(settings), version], sort_keys=True)
    file = BUILDS / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    BUILDS.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            build = run_compiler(sources, settings)
            assert all(entry["severity"] != "error" for entry in build.get("errors", ())), build
            new_file = file.with_suffix(".new")
            new_file.write_text(json.dumps(build))
            new_file.rename(file)
        output: Mapping[str, Any] = json.loads(file.read_text())
    return output


@cache
def contract_for_tests(name: str) -> bytes:
    """The bytecode of a contract in tests/queries/contracts/sources, except SettableRegistry.

    The other sources import interfaces alone, and are compiled together.
    """
    files = [file for file in sorted(TEST_SOURCES.glob("*.sol")) if file.stem != SETTABLE]
    sources = {file: text for file, text in read_sources().items() if file.startswith("interfaces")}
    sources |= {file.name: file.read_text() for file in files}
    output = compile_cached(sources, _QUICK)["contracts"]
    (build,) = (contracts[name] for contracts in output.values() if name in contracts)
    return bytes.fromhex(build["evm"]["bytecode"]["object"])


@cache
def example(name: str) -> bytes:
    """The bytecode of an example of the guides."""
    folder = CONTRACTS / "examples"
    files = [*sorted(folder.glob("*.sol")), *sorted(CONTRACTS.glob("interfaces/*.sol"))]
    sources = {f"{file.parent.name}/{file.name}": file.read_text() for file in files}
    settings = {**SETTINGS, "outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}
    output = compile_cached(sources, settings)["contracts"][f"examples/{name}.sol"][name]
    return bytes.fromhex(output["evm"]["bytecode"]["object"])


def sources_with_settable() -> dict[str, str]:
    """The product's sources and SettableRegistry, whose hashes and leaves tests set."""
    return read_sources() | {SETTABLE_FILE: (TEST_SOURCES / f"{SETTABLE}.sol").read_text()}


@cache
def artifact(name: str) -> Artifact:
    """A committed build, or SettableRegistry compiled with the same settings."""
    if name != SETTABLE:
        return load_artifact(name)
    selection = SETTINGS["outputSelection"]["*"]["*"]
    settings = {**SETTINGS, "outputSelection": {SETTABLE_FILE: {SETTABLE: selection}}}
    build = compile_cached(sources_with_settable(), settings)["contracts"][SETTABLE_FILE][SETTABLE]
    code, deployed = (build["evm"][part]["object"] for part in ("bytecode", "deployedBytecode"))
    return Artifact(name, tuple(build["abi"]), bytes.fromhex(code), bytes.fromhex(deployed))
