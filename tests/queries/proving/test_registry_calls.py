"""Headers and proofs are recovered from the calldata of `prove()`; what a call leaves out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import rlp

from queries.proving.errors import (
    ArgumentMalformedError,
    CallMalformedError,
    HeaderFieldMissingError,
    ProofError,
    TrieNodeMissingError,
    WitnessMalformedError,
)
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.registry_calls import (
    HeaderStep,
    RecoveredProofs,
    accumulated_section,
    headers_section,
    prove_call,
    read_call,
    rebuild_account_proof,
)
from queries.proving.tries import CheckedNodes
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.bench.corpus import RecordedBlock, read_recorded_block
from tests.queries.proving.bundle_parts import child_of

pytestmark = pytest.mark.no_database

BALANCE = frozenset({AccountField.BALANCE})


@pytest.fixture(scope="module")
def block(corpus_folder: Path) -> RecordedBlock:
    file = corpus_folder / "sepolia_8423389.json"
    return read_recorded_block(json.loads(file.read_text()))


def witness_of(block: RecordedBlock) -> bytes:
    return build_witness([AccountToStore(proof, BALANCE) for proof in block.accounts])


def test_headers_and_proofs_are_recovered(block: RecordedBlock) -> None:
    assert block.header
    child = child_of(block.header)
    step = HeaderStep(
        block.header, witness_of(block), accumulate=True, fields=frozenset({HeaderField.NONCE})
    )
    child_step = HeaderStep(child, timestamps=(block.header.timestamp,))
    recovered = RecoveredProofs()
    read_call(prove_call([headers_section([step, child_step])]), recovered)
    assert recovered.children == {block.header.parent_hash: block.header, block.header.hash: child}
    checked = CheckedNodes()
    for proof in block.accounts:
        assert proof.address
        slots = [slot.slot for slot in proof.slots]
        root = block.header.state_root
        assert rebuild_account_proof(root, proof.address, slots, recovered.nodes, checked) == proof


def test_proofs_are_recovered_from_a_call_for_an_accumulated_block(block: RecordedBlock) -> None:
    recovered = RecoveredProofs()
    read_call(prove_call([accumulated_section(1, 2, bytes(32), witness_of(block))]), recovered)
    (proof, *_) = block.accounts
    assert proof.address
    slots = [slot.slot for slot in proof.slots]
    rebuilt = rebuild_account_proof(
        block.state_root, proof.address, slots, recovered.nodes, CheckedNodes()
    )
    assert rebuilt == proof
    with pytest.raises(TrieNodeMissingError, match="is missing"):
        rebuild_account_proof(block.state_root, bytes(20), (), recovered.nodes, CheckedNodes())


def test_malformed_calls_are_refused(block: RecordedBlock) -> None:
    assert block.header
    step = HeaderStep(block.header)
    call = prove_call([headers_section([step])])
    for data in (b"", b"\0\0\0\0" + call[4:], prove_call([b"\x04"])):
        with pytest.raises(CallMalformedError):
            read_call(data, RecoveredProofs())
    abbreviated = prove_call([headers_section([replace(step, parent_known=True)])])
    with pytest.raises(CallMalformedError, match="leaves out hashes that only its destination"):
        read_call(abbreviated, RecoveredProofs())
    for length in range(5, len(call)):
        with pytest.raises(ProofError):
            read_call(call[:length], RecoveredProofs())
    with pytest.raises(WitnessMalformedError):
        read_call(call + b"\x01", RecoveredProofs())


WIDTHS = [32, 32, 20, 32, 32, 32, 256, 0, 4, 4, 4, 4, 3, 32, 8, 4, 32, 0, 0, 32, 32]


def header(fields: int = 21, **changes: bytes) -> Header:
    payloads = [bytes([index + 1]) * width for index, width in enumerate(WIDTHS[:fields])]
    for name, payload in changes.items():
        payloads[HeaderField[name]] = payload
    return decode_header(rlp.encode(payloads))


def test_unlinked_headers_are_refused() -> None:
    with pytest.raises(ArgumentMalformedError, match="is not the child of header"):
        headers_section([HeaderStep(header()), HeaderStep(header())])


def test_only_an_existing_beacon_root_can_be_left_out() -> None:
    with pytest.raises(HeaderFieldMissingError, match="PARENT_BEACON_BLOCK_ROOT"):
        headers_section([HeaderStep(header(17), beacon_known=True)])
    long_header = header(EXTRA_DATA=bytes(97))
    assert headers_section([HeaderStep(long_header)])
    with pytest.raises(ArgumentMalformedError, match="bytes before the beacon root"):
        headers_section([HeaderStep(header(EXTRA_DATA=bytes(200)), beacon_known=True)])
