"""A node of the destination denies what is proven, or says that all is: nothing is paid twice."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from queries.chain.registry_reads import selector
from queries.models import Query, SentTransaction
from queries.pipeline import anchors
from tests.queries.pipeline.between import between, called, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
READ = f"0x{selector('tryAccountField(address,uint256,uint8)').hex()}"
ACCUMULATED = f"0x{selector('accumulated(uint256)').hex()}"
NOTHING, SEVEN = 128 * "0", f"{1:064x}{7:064x}"
NO_LEAF, JUNK = 64 * "0", 64 * "7"
AWAY = "http://127.0.0.1:9"


class Liar:
    """Says of facts and leaves, as long as it lies, that they are there or that they are not."""

    def __init__(self, word: str = NOTHING, *leaves: str, is_behind: bool = False) -> None:
        self.word = word
        self.leaves = list(leaves) or [NO_LEAF]  # the last one for good
        self.lies, self.told, self.is_behind = True, 0, is_behind

    def __call__(self, asked: Any, answer: Any) -> None:
        if not self.lies:
            return
        if called(asked).startswith(READ):
            answer["result"] = f"0x{self.word}"
            self.told += 1
        elif called(asked).startswith(ACCUMULATED):
            leaf = self.leaves.pop(0) if len(self.leaves) > 1 else self.leaves[0]
            answer["result"] = f"0x{leaf}"
        elif self.is_behind and asked["method"] == "eth_blockNumber":
            answer["result"] = "0x1"


def _is_not_paid_again(
    service: Service,
    liars: Sequence[Liar],
    batch: str,
    *others: str,
    code: str = "registry_misread",
) -> None:
    """While they lie; then the batch is done, and one transaction has proven all."""
    with ExitStack() as stack:
        lying = [stack.enter_context(between(service.node.url, retold(each)))[0] for each in liars]
        prover = through(service, *lying, *others)
        prover.work_until_it_waits(batch, code)
        assert liars[0].told
        assert SentTransaction.objects.count() == 1
        for each in liars:
            each.lies = False
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 1


def _proven(service: Service) -> int:
    """A block of which a fact is."""
    block = service.head() - 2
    service.work(service.ask_balance(HOLDER, block))
    assert SentTransaction.objects.count() == 1
    return block


@pytest.mark.parametrize("leaves", [[NO_LEAF], [JUNK, NO_LEAF], [JUNK]])
def test_what_one_node_denies_and_another_knows(service: Service, leaves: list[str]) -> None:
    batch = service.ask_balance(HOLDER, _proven(service))
    liar = Liar(NOTHING, *leaves)
    _is_not_paid_again(service, [liar], batch, service.node.url)


def test_what_was_paid_for_where_nobody_else_can_be_asked(service: Service) -> None:
    """For another batch, which is done."""
    batch = service.ask_balance(HOLDER, _proven(service))
    _is_not_paid_again(service, [Liar()], batch)


def test_what_was_paid_for_while_the_other_node_is_away(service: Service) -> None:
    batch = service.ask_balance(HOLDER, _proven(service))
    _is_not_paid_again(service, [Liar()], batch, AWAY, code="block_unknown")


def test_an_honest_node_that_is_behind_denies_nothing(service: Service) -> None:
    batch = service.ask_balance(HOLDER, _proven(service))
    behind = Liar(is_behind=True)
    _is_not_paid_again(service, [Liar(), behind], batch, code="block_unknown")


def test_what_is_mined_and_not_read_back_yet(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    liar = Liar()
    with between(service.node.url, retold(liar)) as (address, _):
        mined = SentTransaction.objects.filter(succeeded=True)
        through(service, address).work_until(mined.exists)
    _is_not_paid_again(service, [liar], batch)


def test_headers_that_lead_down_to_a_block(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "NATIVE_REACH", 10)
    service.mine(250)
    batch = service.ask_balance(HOLDER, service.head() - 240)
    liar = Liar()
    with between(service.node.url, retold(liar)) as (address, _):
        prover = through(service, address)
        prover.work_until_it_waits(batch, "registry_misread")
        assert SentTransaction.objects.filter(succeeded=True).count() == 1
        liar.lies = False
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 2


def test_one_of_two_that_says_that_all_is_there_is_looked_into(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    liar = Liar(SEVEN)
    with between(service.node.url, retold(liar)) as (address, _):
        prover = through(service, service.node.url, address)
        prover.work_until_it_waits(batch, "registry_misread")
        # At most the header, which both say is missing.
        assert Query.objects.get(batch=batch).account_transaction is None
        liar.lies = False
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_one_of_three_that_says_that_all_is_there_holds_up_nothing(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    url = service.node.url
    with between(url, retold(Liar(SEVEN))) as (address, _):
        through(service, url, address, url).work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_nodes_that_do_not_answer_keep_back_nothing_new(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    through(service, service.node.url, AWAY).work(batch, seconds=20)
    assert service.status(batch)["queryStatus"] == "DONE"
