"""A node's address leads to another chain for a while: nothing is paid or rejected for it."""

from typing import Any

import pytest

from queries.chain.errors import BlockUnknown, NodesUnreachable
from queries.chain.registry_facts import UNKNOWN
from queries.chain.second_words import Said
from queries.models import Batch, Head, SentTransaction
from queries.pipeline.settle import LOOKS_AT_THE_FUTURE
from queries.pipeline.worker import work_once
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(service: Service) -> Service:
    Head.objects.all().delete()  # none is known, so what is asked for is taken unseen
    return service


class Elsewhere:
    """From the first question that a registry is asked on, until it is told to be back."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.is_there, self.is_back = False, False

    def __call__(self, asked: Any, answer: Any) -> None:
        self.is_there |= asked["method"] == "eth_call"
        if self.is_there and not self.is_back:
            answer["result"] = self.answers.get(asked["method"], answer.get("result"))


def test_what_another_chains_node_denies_is_not_paid_for_again(service: Service) -> None:
    block = service.head() - 2
    service.work(service.ask_balance(HOLDER, block))
    assert SentTransaction.objects.count() == 1
    again = service.ask_balance(HOLDER, block)
    led = Elsewhere(eth_chainId="0x1", eth_call="0x" + 64 * "00")
    with between(service.node.url, retold(led)) as (address, _):
        prover = through(service, address)
        with pytest.raises(AssertionError, match="not done"):
            prover.work(again, seconds=1.5)
        assert led.is_there
        assert service.waits(again) == "nodes_of_another_chain"
        assert SentTransaction.objects.count() == 1
        led.is_back = True
        prover.work(again)
    assert service.status(again)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 1


def test_a_batch_is_not_rejected_for_the_first_head_that_is_far_behind(service: Service) -> None:
    service.mine(400)
    batch = service.ask_balance(HOLDER, service.head() - 1)

    def far_behind(asked: Any, answer: Any) -> None:
        if not back and "latest" in asked["params"] and isinstance(answer["result"], dict):
            answer["result"]["number"] = "0x1"

    back: list[bool] = []
    with between(service.node.url, retold(far_behind)) as (address, _):
        prover = through(service, address)
        prover.work_until_it_says("has no such block yet", batch)
        assert service.waits(batch) == "block_not_final"
        back.append(True)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_faults_of_another_kind_are_no_looks_at_the_future(service: Service) -> None:
    """Nodes were away as often as a batch is looked at before it is rejected for that."""
    batch = service.ask_balance(HOLDER, service.head() + 1_000)
    away = {"failures": LOOKS_AT_THE_FUTURE, "wait_code": NodesUnreachable.code}
    Batch.objects.filter(pk=batch).update(**away)
    service.look_now()
    chains = service.chains()
    while work_once(chains):
        pass
    assert service.waits(batch) == "block_not_final"
    assert Batch.objects.get(pk=batch).failures == 1


def test_one_that_lies_ahead_for_as_long_as_it_is_looked_at_is_rejected(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() + 1_000)
    service.work(batch, seconds=20)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "block_beyond_head")
    assert told["error"].startswith("Chain 31337 has no such block yet: the last one seen there is")


def test_nobody_is_rejected_by_the_word_of_one_node_of_two(service: Service) -> None:
    """While the other is away, what it would say is waited for; a fact still counts meanwhile."""
    head = service.head()
    said = Said(head, {}, head - 1, UNKNOWN)
    words = through(service, service.node.url, "http://127.0.0.1:9").chains().second_words(CHAIN_ID)
    words.check(service.registry, said)
    with pytest.raises(BlockUnknown, match="Two nodes have to say so"):
        words.check(service.registry, said, by_two=True)
    words.close()
