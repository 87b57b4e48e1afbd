"""The proof file has the events of a batch, from calls to the events verifier."""

from collections.abc import Iterator

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.signer import Fees, Signer, UnsignedTransaction
from queries.config.registries import verifier_address
from queries.models import BlockJob, JobTransaction, Query, UnsentProof
from queries.proving.bundle_checks import check_bundle
from queries.proving.bundles import Bundle
from queries.proving.event_reading import prove_events_call, read_event_witness
from queries.proving.facts import EventFact
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import HeaderStep, headers_section
from tests.queries.events.groups import ReceiptGroup, ReceiptRequest, build_group_witness
from tests.queries.prover.bundles import proof_file, request_proof
from tests.queries.prover.service import CHAIN_ID, HOLDER, SIGNER_KEY, Service, running_service
from tests.rigs.deployed_contracts import day_old_genesis
from tests.rigs.local_events import emit_log, header_and_receipts, log_witness

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1", *day_old_genesis()) as running:
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        running.mine(3)
        yield running


def proven_batch(service: Service, block: int, *names: str) -> str:
    """A batch that is DONE, with these facts as values that were read back from the verifier."""
    entry = {"header": ["TIMESTAMP"], "accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": entry}})
    service.work(batch)
    _, receipts = header_and_receipts(service.node, block)
    words = dict(read_event_witness(log_witness(receipts))[0].facts)
    query = Query.objects.get(batch=batch, account="")
    for name in names:
        fact = EventFact.parse(name)
        assert fact
        query.events.append({"name": name, "word": words[fact].hex()})
    query.values = query.all_values | {item["name"]: item["word"] for item in query.events}
    query.save()
    return batch


def prove_call(service: Service, block: int, witness: bytes) -> bytes:
    header, _ = header_and_receipts(service.node, block)
    step = HeaderStep(header, fields=frozenset({HeaderField.RECEIPTS_ROOT}))
    return prove_events_call(headers_section([step]), witness)


def store_transaction(service: Service, batch: str, call: bytes) -> None:
    """Store the call as the query's last transaction, which went to the verifier."""
    query = Query.objects.get(batch=batch, account="")
    row = query.header_transaction
    assert row
    verifier = verifier_address(service.registry.address)
    fees = Fees(1, 1, 1)
    signed = Signer(SIGNER_KEY).sign(
        UnsignedTransaction(CHAIN_ID, row.nonce + 1, verifier, call, 10**6, fees)
    )
    row.pk, row.nonce, row.to, row.raw = None, row.nonce + 1, verifier, signed.raw
    row.save()
    JobTransaction.objects.create(job_id=query.job_id or 0, transaction=row, open=False)
    query.header_transaction = row
    query.save()


def events_of(bundle: Bundle) -> list[str]:
    (block,) = bundle.blocks
    return [fact.name for fact in block.facts if EventFact.parse(fact.name)]


def test_events_come_from_a_call_to_the_verifier(service: Service) -> None:
    """Of the facts that the call proves only the requested ones are listed."""
    block = emit_log(service.node)
    service.mine(3)
    batch = proven_batch(service, block, "LOG:0:0", "ABSENT_TRANSACTION:1")
    _, receipts = header_and_receipts(service.node, block)
    store_transaction(service, batch, prove_call(service, block, log_witness(receipts)))
    bundle = check_bundle(proof_file(service, batch))
    assert events_of(bundle) == ["ABSENT_TRANSACTION:1", "LOG:0:0"]
    (proof,) = bundle.blocks
    assert f"0x{proof.registry.address.hex()}" == service.registry.address.lower()
    assert len(proof.event_calls) == 1


def test_events_come_from_calls_that_rely_on_stored_roots(service: Service) -> None:
    """Such a call names the block, which may stand beside another one."""
    block, other = emit_log(service.node), emit_log(service.node)
    service.mine(3)
    batch = proven_batch(service, block, "RECEIPT:0")
    job = BlockJob.objects.get(block=block)
    groups = [
        ReceiptGroup(header_and_receipts(service.node, number)[1], {0: ReceiptRequest(True)})
        for number in (other, block)
    ]
    call = prove_events_call(b"", build_group_witness(groups, [other, block]))
    UnsentProof.objects.create(job=job, call=b"\x12" * 40)
    UnsentProof.objects.create(job=job, call=call)
    UnsentProof.objects.create(job=job, call=call)  # the same again is not needed
    bundle = check_bundle(proof_file(service, batch))
    assert events_of(bundle) == ["RECEIPT:0"]
    (witness,) = bundle.blocks[0].events
    assert [group.block for group in witness] == [None]


def test_events_that_others_proved_are_named(service: Service) -> None:
    block, other = emit_log(service.node), emit_log(service.node)
    service.mine(3)
    batch = proven_batch(service, block, "LOG:0:0")
    _, receipts = header_and_receipts(service.node, other)
    store_transaction(service, batch, prove_call(service, other, log_witness(receipts)))
    answer = request_proof(service, batch)
    assert (answer.status_code, answer.json()["code"]) == (409, "proof_unavailable")
    assert answer.json()["error"] == (
        f"The proof of LOG:0:0 at block {block:,} of chain {CHAIN_ID} is not stored here: others "
        "had proven it before, and the chain's nodes no longer had its data. The fact is on chain."
    )


def test_an_event_of_a_block_that_a_reorg_replaced_is_refused(service: Service) -> None:
    block = emit_log(service.node)
    service.mine(3)
    batch = proven_batch(service, block, "LOG:0:0")
    _, receipts = header_and_receipts(service.node, block)
    store_transaction(service, batch, prove_call(service, block, log_witness(receipts)))
    query = Query.objects.get(batch=batch, account="")
    query.values = query.all_values | {"LOG:0:0": 64 * "1"}
    query.save()
    answer = request_proof(service, batch)
    assert (answer.status_code, answer.json()["code"]) == (409, "proof_unavailable")
    assert "The proof of LOG:0:0, as it was read back, at block" in answer.json()["error"]
    assert answer.json()["error"].endswith("the chain has another block there now.")
