"""What a transaction is settled to have cost is right in the end: as two nodes tell of it when its
block is final.
"""

import time
from typing import Any

import pytest

from queries.models import ChainCost, SentTransaction
from queries.pipeline import finality, worker
from queries.pipeline.finality import look_at_final
from queries.pipeline.lane import Lane
from queries.pipeline.worker import FINAL_EVERY, SOONER_FINAL, work_once
from tests.queries.pipeline.between import Change, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
AWAY = "http://127.0.0.1:9"


def _with(key: str, more: int) -> Change:
    """Receipts that tell of more than there was, and of no more than was signed."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
            answer["result"] |= {key: hex(int(answer["result"][key], 16) + more)}

    return change


MORE_GAS = _with("gasUsed", 1)
LIES = [MORE_GAS, _with("effectiveGasPrice", -1_000)]


def _settled(service: Service, *addresses: str) -> str:
    """By what these tell."""
    prover = through(service, *addresses)
    block = service.head() - 2
    # For a fee: as a price is what is borne of it.
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = prover.submit({str(CHAIN_ID): {f"block:{block}": entry}}, fee=str(ETHER))
    prover.work(batch)
    service.mine(80)  # now it is final
    assert SentTransaction.objects.filter(settled=True, final=False).exists()
    return batch


def _true_cost(service: Service) -> int:
    row = SentTransaction.objects.get()
    receipt = service.node.rpc.ask("eth_getTransactionReceipt", row.mined_hash)
    return int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)


def _told(service: Service, batch: str) -> set[int]:
    """What all tell of it."""
    told = service.status(batch)
    costs = sum(int(query["cost"]) for query in told["queries"])
    return {int(told["spent"]), costs, int(ChainCost.objects.get().spent, 16)}


def _look(service: Service, *addresses: str) -> None:
    chains = through(service, *addresses).chains()
    look_at_final(chains, CHAIN_ID)
    chains.close()


@pytest.mark.parametrize("lie", LIES, ids=["gas", "price"])
@pytest.mark.parametrize("at_the_end", [False, True], ids=["gone", "still there"])
def test_what_one_node_made_up_is_corrected(
    service: Service, lie: Change, *, at_the_end: bool
) -> None:
    """Also where it is still the one that is asked first."""
    url = service.node.url
    with between(url, retold(lie)) as (liar, _):
        batch = _settled(service, liar, AWAY)
        assert _told(service, batch) != {_true_cost(service)}
        _look(service, *([liar] if at_the_end else []), url, url)
    row = SentTransaction.objects.get()
    assert (row.settled, row.final) == (True, True)
    assert _told(service, batch) == {_true_cost(service)}
    assert ChainCost.objects.get().gas == row.gas_used


def test_it_is_not_corrected_by_one(service: Service) -> None:
    """Who is alone may be the one that makes it up."""
    url = service.node.url
    batch = _settled(service, url)
    before = SentTransaction.objects.values().get()
    with between(url, retold(MORE_GAS)) as (liar, _):
        _look(service, liar, AWAY)
        _look(service, liar, url)
    assert SentTransaction.objects.values().get() == before
    assert _told(service, batch) == {_true_cost(service)}
    _look(service, url, AWAY)
    assert SentTransaction.objects.get().final


def _reverted(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
        answer["result"]["status"] = "0x0"


@pytest.mark.parametrize("others", [1, 2])
def test_nor_is_what_it_proved_proven_anew_on_the_word_of_one(
    service: Service, others: int
) -> None:
    """That says that it reverted: it would be paid for twice."""
    url = service.node.url
    batch = _settled(service, url)
    before = SentTransaction.objects.values().get()
    with between(url, retold(_reverted)) as (liar, _):
        _look(service, liar, *[AWAY] * others)
        _look(service, liar, url)
    assert SentTransaction.objects.values().get() == before
    assert service.status(batch)["queryStatus"] == "DONE"


def test_what_two_say_that_it_reverted_is_seen_to(service: Service) -> None:
    _settled(service, service.node.url)
    with between(service.node.url, retold(_reverted)) as (one, _):
        _look(service, one, one)
    assert not SentTransaction.objects.get().settled


def test_nodes_that_tell_of_other_prices_keep_nothing_from_being_final(service: Service) -> None:
    """As those of an OP-stack chain may; how much gas it was all tell alike."""
    url = service.node.url
    batch = _settled(service, url)
    with between(url, retold(_with("effectiveGasPrice", -1_000))) as (other, _):
        _look(service, other, url)
    assert SentTransaction.objects.get().final
    assert _told(service, batch) == {_true_cost(service)}


def _settle_many(service: Service, count: int) -> None:
    """One, and rows that are like its own."""
    _settled(service, service.node.url)
    row = SentTransaction.objects.get()
    for nonce in range(row.nonce + 1, row.nonce + count):
        row.pk, row.nonce, row.mined_hash = None, nonce, f"0x{nonce:064x}"
        row.save()


def test_those_that_take_long_are_looked_at_one_in_a_while(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One node may answer slowly and never agree, and all that a prover does waits meanwhile."""
    _settle_many(service, 5)
    looked_at = set[int]()

    def takes_long(_lane: Lane, row: SentTransaction) -> bool:
        looked_at.add(row.nonce)
        time.sleep(0.1)
        return False

    monkeypatch.setattr(finality, "LOOKING", 0.05)
    monkeypatch.setattr(finality, "_stays", takes_long)
    chains = service.chains()
    for looks in range(1, 300):
        work_once(chains)
        pause = chains.looks_at_final - time.monotonic()
        assert len(looked_at) <= looks
        assert pause > FINAL_EVERY / 2
        chains.looks_at_final = 0
        if len(looked_at) == 5:
            break
    assert len(looked_at) == 5
    chains.close()


def test_where_more_wait_and_get_on_the_next_look_comes_soon(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else they would pile up for as long as so many are sent."""
    _settle_many(service, 4)
    monkeypatch.setattr(finality, "AT_ONCE", 2)
    monkeypatch.setattr(finality, "_stays", lambda _lane, row: row)
    chains = service.chains()
    pauses = []
    for _ in range(3):
        chains.looks_at_final = 0
        work_once(chains)
        pauses.append(chains.looks_at_final - time.monotonic())
    assert SOONER_FINAL / 2 < pauses[1] < FINAL_EVERY / 2 < pauses[2]
    assert not SentTransaction.objects.filter(final=False).exists()
    chains.close()


def test_where_a_look_takes_very_long_the_next_one_comes_later(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "FINAL_EVERY", 0.1)

    def takes_long(*_: object) -> bool:
        time.sleep(0.2)
        return False

    monkeypatch.setattr(worker, "look_at_final", takes_long)
    chains = service.chains()
    work_once(chains)
    assert chains.looks_at_final > time.monotonic() + 0.5
    chains.close()
