"""A block of which nothing was proven keeps no header: its chain may put another in its place."""

from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import BlockJob
from queries.proving.header_fields import HeaderField
from queries.proving.headers import decode_header, header_from_json, header_to_json
from queries.proving.rlp_items import encode_list, encode_string
from queries.reading.registries import record_of
from tests.local_chain import CHAIN_ID, ETHER, HOLDER
from tests.queries.pipeline.between import Change, between, retold
from tests.queries.pipeline.bundles import whole_proof
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"


def _ends(service: Service, block: int, fee: int) -> BlockJob:
    """The job of a batch that offers so much, when nobody looks at it any more."""
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": entry}}, fee=str(fee))
    service.work(batch)
    said = service.status(batch)["queryStatus"]
    assert said == ("DONE" if fee > 1 else "REJECTED")
    service.work_until(lambda: not BlockJob.objects.exclude(look_again=None).exists())
    return BlockJob.objects.get(block=block)


def test_only_what_was_proven_keeps_its_header(node: LocalNode) -> None:
    with running_service(node, free=False) as service:
        service.mine(4)
        proven, rejected = service.head() - 2, service.head() - 1
        kept = _ends(service, proven, ETHER)
        assert kept.header
        assert kept.block_hash
        forgotten = _ends(service, rejected, 1)
        assert (forgotten.header, forgotten.block_hash) == (b"", "")
        assert record_of(CHAIN_ID, CHAIN_ID).blocks == 1
        asked_again = _ends(service, proven, ETHER)  # what is there already costs nothing
        assert asked_again.block_hash == kept.block_hash


def _prunes(of: str) -> Change:
    """A node that proves nothing of any account but this one."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getProof" and asked["params"][0].lower() != of.lower():
            answer.pop("result")
            answer["error"] = {"code": -32000, "message": "missing trie node 0x1 (path )"}

    return change


def test_a_block_that_is_rejected_for_a_fault_keeps_none(service: Service) -> None:
    with between(service.node.url, retold(_prunes(HOLDER))) as (address, _):
        prover = through(service, address)
        block = service.head() - 1
        batch = prover.ask_balance(OTHER, block)
        prover.work(batch)
        assert prover.status(batch)["code"] == "state_not_available"
        prover.work_until(lambda: not BlockJob.objects.exclude(look_again=None).exists())
    job = BlockJob.objects.get(block=block)
    assert (job.header, job.block_hash) == (b"", "")


def test_a_fault_takes_no_header_from_what_is_proven(service: Service) -> None:
    """Whoever asks for what no node has any more would take their proofs from all others."""
    with between(service.node.url, retold(_prunes(HOLDER))) as (address, _):
        prover = through(service, address)
        block = service.head() - 1
        prover.work(done := prover.ask_balance(HOLDER, block))
        kept = BlockJob.objects.get(block=block)
        prover.work(rejected := prover.ask_balance(OTHER, block))
        assert prover.status(rejected)["queryStatus"] == "REJECTED"
    job = BlockJob.objects.get(block=block)
    assert (job.header, job.block_hash) == (kept.header, kept.block_hash)
    told = service.client.get(f"/batch-queries/{done}/proof", headers={"api-key": service.key})
    assert told.status_code == 200
    told.close()


def _another(header: Any) -> Any:
    """As if it had been mined with other words."""
    known = header_from_json(header)
    payloads = list(known.payloads)
    payloads[HeaderField.EXTRA_DATA] = b"another"
    encoded = encode_list([*map(encode_string, payloads), *known.later_items])
    return {**header, **header_to_json(decode_header(encoded))}


def _forks(at: int) -> Change:
    """A node that once proves nothing, and tells of another header from then on."""
    failed = False

    def change(asked: Any, answer: Any) -> None:
        nonlocal failed
        if asked["method"] == "eth_getProof" and not failed:
            answer["result"], failed = None, True
        elif failed and (asked["method"], asked["params"][:1]) == (
            "eth_getBlockByNumber",
            [hex(at)],
        ):
            answer["result"] = _another(answer["result"])

    return change


def test_a_fork_takes_no_header_from_what_is_proven(service: Service) -> None:
    """Nor is anybody rejected for it."""
    block = service.head() - 2
    service.work(done := service.ask_balance(HOLDER, block))
    kept = BlockJob.objects.get(block=block)
    with between(service.node.url, retold(_forks(block))) as (address, _):
        prover = through(service, address, service.node.url)
        prover.work(other := prover.ask_balance(OTHER, block))
        assert prover.status(other)["queryStatus"] == "DONE"
    assert BlockJob.objects.get(block=block).header == kept.header
    assert whole_proof(service, done).blocks[0].header.hash.hex() == kept.block_hash
