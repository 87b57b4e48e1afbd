"""The recorded blocks, and their accounts as `eth_getProof` answers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class RecordedAnswer:
    """A recorded account in the form of its `eth_getProof` answer."""

    state_root: bytes
    account: bytes
    slots: list[int]
    exists: bool
    answer: dict[str, Any]


@pytest.fixture(scope="session")
def corpus(corpus_folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(corpus_folder.glob("*.json"))]


@pytest.fixture(scope="session")
def recorded_answers(corpus: list[dict[str, Any]]) -> list[RecordedAnswer]:
    return [
        recorded_answer(document["block"]["stateRoot"], account)
        for document in corpus
        for account in document.get("accounts", [])
    ]


def recorded_answer(state_root: str, account: dict[str, Any]) -> RecordedAnswer:
    """Restore the answer's form; absent accounts are stated as by geth."""
    state = account["account"]
    storage_proof = account.get("storageProof", [])
    answer = {
        "accountProof": account["accountProof"],
        "storageProof": storage_proof,
        **(
            state
            or {"nonce": "0x0", "balance": "0x0", "storageHash": "0x0", "codeHash": f"0x{0:064x}"}
        ),
    }
    if "address" in account:
        answer["address"] = account["address"]
    return RecordedAnswer(
        bytes.fromhex(state_root[2:]),
        bytes.fromhex(account.get("address", account["addressHash"])[2:]),
        [int(entry["key"], 16) for entry in storage_proof],
        state is not None,
        answer,
    )
