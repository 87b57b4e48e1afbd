"""What a call of `prove()` left out comes out of it again: headers, and proofs node by node."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from queries.proving.call_reading import Shown, read_call, rebuilt_account_proof
from queries.proving.errors import CallMalformedError, NodeMissing, ProofError, WitnessMalformed
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.tries import CheckedNodes
from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.bench.corpus import RecordedBlock, read_recorded_block
from tests.queries.proving.bundle_parts import child_of

pytestmark = pytest.mark.no_database

BALANCE = frozenset({AccountField.BALANCE})


@pytest.fixture(scope="module")
def block(corpus_folder: Path) -> RecordedBlock:
    file = corpus_folder / "sepolia_8423389.json"
    return read_recorded_block(json.loads(file.read_text()))


def witness_of(block: RecordedBlock) -> bytes:
    return build_witness([AccountRequest(proof, BALANCE) for proof in block.accounts])


def test_headers_and_proofs_come_out_as_they_went_in(block: RecordedBlock) -> None:
    assert block.header
    child = child_of(block.header)
    step = HeaderStep(
        block.header, witness_of(block), accumulate=True, fields=frozenset({HeaderField.NONCE})
    )
    above = HeaderStep(child, timestamps=(block.header.timestamp,))
    shown = Shown()
    read_call(prove_call([headers_section([step, above])]), shown)
    assert shown.children == {block.header.parent_hash: block.header, block.header.hash: child}
    of_block, of_child = shown.stored_blocks
    number = block.header.number
    assert (of_block.block, of_block.fields, of_block.timestamps) == (
        number,
        1 << HeaderField.NONCE,
        (),
    )
    assert (of_child.block, of_child.fields, of_child.accounts) == (number + 1, 0, ())
    assert of_child.timestamps == (block.header.timestamp,)
    wanted = {each.address: {slot.slot for slot in each.slots} for each in block.accounts}
    assert {each.name: set(each.slots) for each in of_block.accounts} == wanted
    assert {each.mask for each in of_block.accounts} == {1 << AccountField.BALANCE}
    checked = CheckedNodes()
    for proof in block.accounts:
        assert proof.address
        slots = [slot.slot for slot in proof.slots]
        root = block.header.state_root
        assert rebuilt_account_proof(root, proof.address, slots, shown.nodes, checked) == proof


def test_the_words_of_an_accumulated_block_show_as_much(block: RecordedBlock) -> None:
    shown = Shown()
    read_call(prove_call([accumulated_section(1, 2, bytes(32), witness_of(block))]), shown)
    (stored,) = shown.stored_blocks
    assert (stored.block, len(stored.accounts)) == (1, len(block.accounts))
    (proof, *_) = block.accounts
    assert proof.address
    slots = [slot.slot for slot in proof.slots]
    found = rebuilt_account_proof(
        block.state_root, proof.address, slots, shown.nodes, CheckedNodes()
    )
    assert found == proof
    with pytest.raises(NodeMissing, match="is missing"):
        rebuilt_account_proof(block.state_root, bytes(20), (), shown.nodes, CheckedNodes())


def test_what_is_no_call_of_prove_is_refused(block: RecordedBlock) -> None:
    assert block.header
    told = HeaderStep(block.header)
    whole = prove_call([headers_section([told])])
    for data in (b"", b"\0\0\0\0" + whole[4:], prove_call([b"\x04"])):
        with pytest.raises(CallMalformedError):
            read_call(data, Shown())
    left_out = prove_call([headers_section([replace(told, parent_known=True)])])
    with pytest.raises(CallMalformedError, match="leaves out hashes that only its destination"):
        read_call(left_out, Shown())
    for length in range(5, len(whole)):
        with pytest.raises(ProofError):
            read_call(whole[:length], Shown())
    with pytest.raises(WitnessMalformed):
        read_call(whole + b"\x01", Shown())
