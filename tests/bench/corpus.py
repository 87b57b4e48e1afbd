"""Recorded blocks and proofs, read from a folder of JSON files and checked.

A file holds one block and accounts proven under its state root:
`{block: {number?, hash?, stateRoot, headerRlp?}, accounts: [{address?, addressHash,
accountProof, account: {nonce, balance, storageHash, codeHash} | null,
storageProof?: [{key, value, proof}]}]}`, all values 0x-hex. Headers and proofs are
checked like a node's answers.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from queries.proving.accounts import ADDRESS_BYTES, AccountProof, check_account_proof
from queries.proving.errors import HeaderMalformedError, ProofError
from queries.proving.headers import MAX_HEADER_BYTES, Header, decode_header
from queries.proving.json_values import (
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)
from queries.proving.keccak import HASH_BYTES
from queries.proving.tries import CheckedNodes
from tests.bench.command import BenchError

MAX_ITEMS = 100_000


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A file's block, its header if it was recorded, and its checked proofs."""

    state_root: bytes
    number: int | None
    header: Header | None
    accounts: tuple[AccountProof, ...]


@dataclass(frozen=True, slots=True)
class RecordedAccount:
    """A checked account proof, with the file's names of the account and its slots."""

    name: str
    proof: AccountProof
    slot_names: dict[int, str]


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file's block and accounts, without duplicates."""

    name: str
    block: RecordedBlock
    accounts: tuple[RecordedAccount, ...]


def read_corpus(folder: Path) -> list[RecordedFile]:
    """Read every file of the folder. Raises BenchError, which names all unreadable files."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise BenchError(f"There is no .json file in {folder}.")
    files, faults = [], []
    for path in paths:
        try:
            files.append(_read_file(path))
        except (ProofError, OSError, ValueError, RecursionError) as error:
            faults.append(f"{path.name} cannot be read: {error}.")
    if faults:
        raise BenchError(" ".join(faults))
    return files


def _read_file(path: Path) -> RecordedFile:
    document: Any = json.loads(path.read_text())
    block = read_recorded_block(document)
    if block.header is None and not block.accounts:
        raise ValueError("it has neither a header nor an account to prove")
    recorded = document.get("accounts", [])
    return RecordedFile(path.stem, block, tuple(_distinct(recorded, block.accounts)))


def _distinct(
    recorded: Iterable[dict[str, Any]], proofs: Iterable[AccountProof]
) -> Iterable[RecordedAccount]:
    """Merge entries of the same account."""
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


def read_recorded_block(document: object) -> RecordedBlock:
    """Check a file's parsed content."""
    fields = read_object(document, "a corpus file")
    block = read_object(fields.get("block"), "block")
    state_root = read_fixed_bytes(block.get("stateRoot"), "stateRoot", HASH_BYTES)
    checked = CheckedNodes()
    accounts = tuple(
        _check_account(account, state_root, checked)
        for account in read_list(fields.get("accounts", []), "accounts", MAX_ITEMS)
    )
    number = None
    if block.get("number") is not None:
        number = read_quantity(block["number"], "number")
    header = None
    if block.get("headerRlp") is not None:
        header = _recorded_header(block, state_root, number)
    return RecordedBlock(state_root, number, header, accounts)


def _recorded_header(block: dict[str, object], state_root: bytes, number: int | None) -> Header:
    """Decode the header, which must match the rest of the file."""
    expected = None
    if block.get("hash") is not None:
        expected = read_fixed_bytes(block["hash"], "hash", HASH_BYTES)
    encoded = read_bytes(block["headerRlp"], "headerRlp", MAX_HEADER_BYTES)
    header = decode_header(encoded, expected)
    if header.state_root != state_root or number not in (None, header.number):
        raise HeaderMalformedError(
            f"the header is of block {header.number} with the state root "
            f"0x{header.state_root.hex()}; the file states another"
        )
    return header


def _check_account(recorded: object, state_root: bytes, checked: CheckedNodes) -> AccountProof:
    """Convert the entry to an `eth_getProof` answer, and check it like one."""
    account = read_object(recorded, "an account")
    entries = read_list(account.get("storageProof", []), "storageProof", MAX_ITEMS)
    slots = [read_quantity(read_object(entry, "a slot").get("key"), "key") for entry in entries]
    # As geth answers for an absent account.
    absent = {"nonce": "0x0", "balance": "0x0", "storageHash": "0x0", "codeHash": "0x0"}
    answer = {**account, "storageProof": entries}
    answer |= read_object(account.get("account") or absent, "account")
    if account.get("address") is not None:
        name = read_fixed_bytes(account["address"], "address", ADDRESS_BYTES)
    else:
        name = read_fixed_bytes(account.get("addressHash"), "addressHash", HASH_BYTES)
    return check_account_proof(answer, state_root, name, slots, checked)
