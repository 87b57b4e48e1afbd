"""Transactions that were mined and failed: a block is not closed for those who ask later."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from queries.models import SentTransaction
from queries.pipeline.prove import FAILED
from tests.queries.pipeline.service import HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"
REVERTS = "0x5f5ffd"


@contextmanager
def _automine_off(service: Service) -> Iterator[None]:
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    try:
        yield
    finally:
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])


def _are_sent(count: int) -> bool:
    return SentTransaction.objects.exclude(sent=None).count() == count


def _fails(service: Service, block: int) -> str:
    """A batch each of whose transactions is mined where the registry has just been lost."""
    registry = service.registry.address
    code = service.node.rpc.ask("eth_getCode", registry, "latest")
    batch, chains = service.ask_balance(HOLDER, block), service.chains()
    with _automine_off(service):
        for sent in range(1, FAILED + 1):
            service.work_until(partial(_are_sent, sent), chains=chains)
            service.node.rpc.ask("anvil_setCode", registry, REVERTS)
            service.node.rpc.ask("evm_mine")
            service.node.rpc.ask("anvil_setCode", registry, code)
        service.work(batch, chains=chains)
    return batch


def test_who_asks_later_is_proven_and_not_told_of_them(service: Service) -> None:
    block = service.head() - 2
    told = service.status(_fails(service, block))
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "transaction_failed")
    assert told["retryable"]
    assert SentTransaction.objects.filter(succeeded=False, settled=True).count() == FAILED
    service.work(again := service.ask_balance(OTHER, block))
    assert service.status(again)["queryStatus"] == "DONE"
