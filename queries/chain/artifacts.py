"""The compiled contracts as they are committed: what is deployed is what is in the repository."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

BUILD = Path(__file__).parent.parent / "contracts" / "build"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One contract's build output."""

    name: str
    abi: tuple[dict[str, Any], ...]
    bytecode: bytes
    deployed_bytecode: bytes


@cache
def load_artifact(name: str) -> Artifact:
    built = json.loads((BUILD / f"{name}.json").read_text())
    return Artifact(
        name,
        tuple(built["abi"]),
        bytes.fromhex(built["bytecode"]),
        bytes.fromhex(built["deployedBytecode"]),
    )
