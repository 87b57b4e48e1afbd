"""Encode calldata, and read the contracts' committed build output."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode

from queries.proving import keccak256

StateOverride = Mapping[str, object]  # the last parameter of eth_call and eth_estimateGas
BUILD = Path(__file__).parent / "build"


@cache
def selector(signature: str) -> bytes:
    return keccak256(signature.encode())[:4]


def call_data(signature: str, *arguments: Any) -> bytes:
    """The calldata of a call such as `accountField(address,uint256,uint8)`."""
    types = signature[signature.index("(") + 1 : -1]
    return selector(signature) + encode([t for t in types.split(",") if t], arguments)


@dataclass(frozen=True, slots=True)
class Artifact:
    name: str
    abi: tuple[dict[str, Any], ...]
    bytecode: bytes
    deployed_bytecode: bytes


@cache
def load_artifact(name: str) -> Artifact:
    output = json.loads((BUILD / f"{name}.json").read_text())
    code, runtime = (bytes.fromhex(output[key]) for key in ("bytecode", "deployedBytecode"))
    return Artifact(name, tuple(output["abi"]), code, runtime)
