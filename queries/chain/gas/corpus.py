"""A folder of recorded blocks and proofs, read whole before anything is measured."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from queries.proving.account_proofs import AccountProof
from queries.proving.corpus import RecordedBlock, read_recorded_block
from queries.proving.errors import ProofError


class CorpusUnreadable(Exception):  # noqa: N818
    """A folder or a file of it cannot be measured; a sentence for each fault."""


@dataclass(frozen=True, slots=True)
class RecordedAccount:
    """One checked account proof, with the names that the file gives it and its slots."""

    name: str
    proof: AccountProof
    slot_names: dict[int, str]


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One file's block and accounts, each account and slot once."""

    name: str
    block: RecordedBlock
    accounts: tuple[RecordedAccount, ...]


def read_corpus(folder: Path) -> list[RecordedFile]:
    """Read every file of the folder, or say of each one that cannot be read why."""
    if not folder.is_dir():
        raise CorpusUnreadable(f"There is no folder {folder}.")
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise CorpusUnreadable(f"The folder {folder} holds no .json file.")
    files, faults = [], []
    for path in paths:
        try:
            files.append(_read_file(path))
        except CorpusUnreadable as fault:
            faults.append(str(fault))
        except (ProofError, OSError, ValueError, RecursionError) as fault:
            faults.append(f"{path.name} is not of the corpus's shape: {fault}.")
    if faults:
        raise CorpusUnreadable("\n".join(faults))
    return files


def _read_file(path: Path) -> RecordedFile:
    document: Any = json.loads(path.read_text())
    block = read_recorded_block(document)
    if block.header is None and not block.accounts:
        raise CorpusUnreadable(f"{path.name} has neither a header nor an account to prove.")
    recorded = document.get("accounts", [])
    return RecordedFile(path.stem, block, tuple(_distinct(recorded, block.accounts)))


def _distinct(
    recorded: Iterable[dict[str, Any]], proofs: Iterable[AccountProof]
) -> Iterable[RecordedAccount]:
    """An account that is recorded twice is one with the slots of both."""
    accounts: dict[bytes, RecordedAccount] = {}
    for entry, proof in zip(recorded, proofs, strict=True):
        known = accounts.get(proof.address_hash)
        if known is None:
            name = entry.get("address") or entry["addressHash"]
            known = RecordedAccount(name, replace(proof, slots=()), {})
        names = dict(known.slot_names)
        slots = list(known.proof.slots)
        for slot_entry, slot in zip(entry.get("storageProof", ()), proof.slots, strict=True):
            if slot.slot not in names:
                names[slot.slot] = slot_entry["key"]
                slots.append(slot)
        accounts[proof.address_hash] = RecordedAccount(
            known.name, replace(known.proof, slots=tuple(slots)), names
        )
    return accounts.values()
