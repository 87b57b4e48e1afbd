"""A node says that what was mined was not: no nonce is given up, and nothing taken for undone."""

from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.pipeline import following
from queries.pipeline.finality import look_at_final
from queries.pipeline.mined import bounds_of
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
AWAY = "http://127.0.0.1:9"


def _denied(asked: Any, answer: Any) -> None:
    """Every receipt."""
    if asked["method"] == "eth_getTransactionReceipt":
        answer["result"] = None


def _denied_elsewhere(asked: Any, answer: Any) -> None:
    """By the node of another chain."""
    _denied(asked, answer)
    if asked["method"] == "eth_chainId":
        answer["result"] = "0x5"


def _is_mined_for_nobody(service: Service, *addresses: str) -> bool:
    destination = through(service, *addresses).chains().destination(CHAIN_ID)
    try:
        return destination.is_mined_for_nobody(SentTransaction.objects.get().mined_hash)
    finally:
        destination.close()


def test_two_nodes_have_to_deny_it_as_far_as_there_are_two(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    honest = service.node.url
    with (
        between(honest, retold(_denied)) as (denier, _),
        between(honest, retold(_denied_elsewhere)) as (other, _),
    ):
        assert _is_mined_for_nobody(service, denier)
        assert _is_mined_for_nobody(service, denier, denier)
        assert not _is_mined_for_nobody(service, denier, AWAY)
        assert not _is_mined_for_nobody(service, denier, other)
        assert not _is_mined_for_nobody(service, denier, honest)
        assert not _is_mined_for_nobody(service, denier, denier, honest)


def test_what_is_final_is_not_taken_for_undone(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    service.mine(80)
    rows = SentTransaction.objects.filter(settled=True)
    with between(service.node.url, retold(_denied)) as (denier, _):
        look_at_final(through(service, denier, service.node.url).chains(), CHAIN_ID)
        assert rows.get().mined_hash
        assert not rows.get().final
        look_at_final(service.chains(), CHAIN_ID)
        assert rows.get().final
        rows.update(final=False)
        look_at_final(through(service, denier, denier).chains(), CHAIN_ID)
    assert not rows.exists()


def test_a_block_is_not_final_by_one_nodes_word(node: LocalNode) -> None:
    def early(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "finalized":
            answer["result"] = node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003

    with running_service(node, finality=None, confirmations=1) as service:
        service.mine(80)
        service.work(service.ask_balance(HOLDER, service.chains().head(CHAIN_ID).final_number))
        rows = SentTransaction.objects.filter(final=True)
        with between(node.url, retold(early)) as (address, _):
            for others, final in (([node.url], False), ([node.url] * 2, False), ([AWAY], True)):
                look_at_final(through(service, address, *others).chains(), CHAIN_ID)
                assert rows.exists() is final


def test_a_node_that_denies_it_for_good_does_not_keep_its_costs_open(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with between(service.node.url, retold(_denied)) as (denier, _):
        prover = through(service, service.node.url, denier)
        prover.work(batch := prover.ask_balance(HOLDER, service.head() - 1))
        assert not SentTransaction.objects.get().settled
        monkeypatch.setattr(following, "AGREED_WITHIN", timedelta(0))
        prover.work_until(SentTransaction.objects.filter(settled=True).exists)
    assert service.status(batch)["spent"] != "0"


def test_where_no_other_node_answers_one_is_enough(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    row = SentTransaction.objects.get()
    destination = service.chains().destination(CHAIN_ID)
    mined = destination.mined(row.mined_hash)
    assert mined is not None
    for other in (AWAY, service.node.url):
        words = through(service, AWAY, other).chains().second_words(CHAIN_ID)
        assert words.agree_on(row.mined_hash, mined, bounds_of(row))
        words.close()
    destination.close()
