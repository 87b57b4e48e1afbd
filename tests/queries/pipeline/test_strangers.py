"""Somebody else proves the same while ours is on its way: nothing fails or is sent anew."""

from datetime import timedelta

import pytest

from queries.chain.signed_parts import parts_of
from queries.models import SentTransaction
from queries.pipeline import following
from tests.queries.pipeline.service import HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(service: Service) -> Service:
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    return service


def _on_its_way(service: Service) -> str:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    service.work_until_it_says("on its way", batch)
    return batch


def _sent_by_a_stranger(service: Service) -> str:
    """The same call, read from the pool and sent for a higher fee."""
    ours = parts_of(SentTransaction.objects.get().raw)
    transaction = {
        "from": service.node.payer,
        "to": ours.to,
        "data": f"0x{ours.data.hex()}",
        "gas": hex(ours.gas_limit),
        "maxFeePerGas": hex(10**12),
        "maxPriorityFeePerGas": hex(10**11),
    }
    return str(service.node.rpc.ask("eth_sendTransaction", transaction))


def _proven_by(service: Service) -> set[str]:
    logs = service.node.rpc.ask(
        "eth_getLogs", {"address": service.registry.address, "fromBlock": "0x0"}
    )
    return {log["transactionHash"] for log in logs}


def test_a_stranger_who_comes_first_in_the_same_block_harms_nothing(service: Service) -> None:
    batch = _on_its_way(service)
    theirs = _sent_by_a_stranger(service)
    service.node.rpc.ask("evm_mine")
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert _proven_by(service) == {theirs}
    row = SentTransaction.objects.get()
    assert (row.succeeded, row.settled) == (True, True)


def test_a_strangers_proof_is_enough_and_ours_is_still_followed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = _on_its_way(service)
    theirs = _sent_by_a_stranger(service)
    (ours,) = SentTransaction.objects.get().hashes
    service.node.rpc.ask("anvil_dropTransaction", ours)
    service.node.rpc.ask("evm_mine")
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert not SentTransaction.objects.get().settled
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(0))
    service.work(service.ask_balance(HOLDER, service.head() - 2))
    mined = SentTransaction.objects.filter(hashes=[ours]).exclude(mined_hash="")
    service.work_until(mined.exists)
    monkeypatch.undo()
    assert theirs in _proven_by(service)
    assert ours not in _proven_by(service)
    assert mined.get().mined_hash == ours
