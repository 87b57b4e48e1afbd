"""Small bundles of recorded blocks, and tools to forge them."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from queries.proving.accounts import AccountProof
from queries.proving.bundles import (
    BlockProof,
    ClaimedRegistry,
    ClaimedTransaction,
    canonical_json,
    write_bundle,
)
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.rlp_items import encode_integer, encode_list, encode_string, split_list
from queries.proving.witnesses import AccountField, AccountToStore
from tests.bench.corpus import RecordedBlock, read_recorded_block

BATCH = "01J2VM6JSA6VKKZ0ENWGYYPR18"
DESTINATION = 10
REGISTRY = ClaimedRegistry("attested", bytes(19) + b"\x07")
SENT = ClaimedTransaction(bytes(31) + b"\x09", 12)


def recorded(folder: Path, name: str) -> RecordedBlock:
    return read_recorded_block(json.loads((folder / f"{name}.json").read_text()))


def child_of(parent: Header, seconds: int = 12) -> Header:
    items = split_list(parent.rlp)
    items[HeaderField.PARENT_HASH] = encode_string(parent.hash)
    items[HeaderField.BLOCK_NUMBER] = encode_integer(parent.number + 1)
    items[HeaderField.TIMESTAMP] = encode_integer(parent.timestamp + seconds)
    return decode_header(encode_list(items))


def block_proof(block: RecordedBlock, chain: int = 1) -> BlockProof:
    """Proof of everything that can be requested of the block."""
    header = block.header
    assert header
    return BlockProof(
        chain,
        DESTINATION,
        header,
        child_of(header),
        frozenset({HeaderField.TIMESTAMP, HeaderField.LOGS_BLOOM}),
        (header.timestamp, header.timestamp + 11),
        tuple(
            sorted(map(_account, block.accounts), key=lambda account: account.proof.address or b"")
        ),
        REGISTRY,
        (SENT,),
    )


def _account(proof: AccountProof) -> AccountToStore:
    slots = {slot.slot: slot for slot in proof.slots}
    ordered = tuple(slots[slot] for slot in sorted(slots))
    return AccountToStore(replace(proof, slots=ordered), frozenset(AccountField))


def file_of(*blocks: BlockProof, batch: str = BATCH) -> bytes:
    destination = blocks[0].destination if blocks else DESTINATION
    return "".join(write_bundle(batch, destination, blocks)).encode()


def with_digest(members: dict[str, Any]) -> bytes:
    """Encode a forged bundle with a correct digest."""
    without_digest = {key: value for key, value in members.items() if key != "digest"}
    digest = f"0x{sha256(canonical_json(without_digest).encode()).hexdigest()}"
    return f"{canonical_json(members | {'digest': digest})}\n".encode()
