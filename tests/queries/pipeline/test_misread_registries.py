"""A node of the destination that says of the registry what was never proven to it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry_reads import selector
from queries.chain.source import SourceChain
from queries.models import Batch, BlockJob
from queries.pipeline import truth
from queries.pipeline.clock import shared_now
from queries.pipeline.truth import Truths
from queries.pipeline.work import TRIES_OF_LIES
from queries.pipeline.worker import work_once
from queries.proving.registry_calls import leaf_of
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, called, methods, passed_on, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import (
    CHAIN_ID,
    ETHER,
    HOLDER,
    Service,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
READS = {
    f"0x{selector(signature).hex()}"
    for signature in (
        "tryAccountField(address,uint256,uint8)",
        "tryAccountStorageSlotValues(address,uint256,bytes32)",
        "tryHeaderField(uint256,uint8)",
    )
}
ACCUMULATED = f"0x{selector('accumulated(uint256)').hex()}"
SEVEN = f"{1:064x}{7:064x}"
ENTRIES: dict[str, Any] = {
    "a balance": {"accounts": {HOLDER: {"props": ["BALANCE"]}}},
    "a slot": {"accounts": {HOLDER: {"slots": ["0x1"]}}},
    "a header field": {"header": ["GAS_LIMIT"]},
}


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


def _with_sevens(asked: Any, answer: Any) -> None:
    """Each fact that is proven is told as 7."""
    if called(asked)[:10] in READS and int(answer["result"][2:66] or "0", 16) == 1:
        answer["result"] = f"0x{SEVEN}"


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("reused", [False, True])
def test_a_wrong_value_is_never_done(
    service: Service, monkeypatch: pytest.MonkeyPatch, entry: Any, *, reused: bool
) -> None:
    data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
    if reused:
        service.work(service.submit(data))
        monkeypatch.setattr(truth, "TRUTHS", Truths())  # of a process that did not prove it
    batch = service.submit(data)
    with between(service.node.url, retold(_with_sevens)) as (address, _):
        chains = through(service, address).chains()
        for _ in range(3 * TRIES_OF_LIES):
            for rows in (Batch.objects, BlockJob.objects):
                rows.exclude(look_again=None).update(look_again=shared_now())
            work_once(chains)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "registry_misread")
    assert told["retryable"]
    assert f"0x{7:064x}" in told["error"]
    again = service.submit(data)
    service.work(again)
    (values,) = [query["values"] for query in service.status(again)["queries"]]
    assert 7 not in {int(word, 16) for word in values.values()}


LEAVES: dict[int, bytes] = {}


def _says_that_all_is_there(asked: Any, answer: Any) -> None:
    """All is proven, it says; of what can be checked the word is true."""
    data = called(asked)
    if data[:10] in READS:
        answer["result"] = f"0x{1:064x}{5 * ETHER:064x}"
    elif data[:10] == ACCUMULATED:
        answer["result"] = f"0x{LEAVES[int(data[10:], 16)].hex()}"


def _claims_all(service: Service) -> dict[str, Any]:
    block = service.head() - 1
    header = SourceChain(service.routes.chains[CHAIN_ID]).header(block)
    LEAVES[block] = leaf_of(header)
    return {str(CHAIN_ID): {f"block:{block}": ENTRIES["a balance"]}}


def test_what_one_of_two_nodes_says_is_there_is_not_done(service: Service) -> None:
    data = _claims_all(service)
    batch = service.submit(data)
    with between(service.node.url, retold(_says_that_all_is_there)) as (address, _):
        chains = through(service, address, service.node.url).chains()
        for _ in range(3 * TRIES_OF_LIES):
            for rows in (Batch.objects, BlockJob.objects):
                rows.exclude(look_again=None).update(look_again=shared_now())
            work_once(chains)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "registry_misread")
    assert told["error"].startswith("The nodes of the destination do not agree on")
    assert told["retryable"]
    again = service.submit(data)
    service.work(again)
    assert service.status(again)["queryStatus"] == "DONE"


def _says_that_another_header_is_there(asked: Any, answer: Any) -> None:
    if called(asked).startswith(ACCUMULATED):
        answer["result"] = f"0x{7:064x}"


def test_nobody_is_rejected_for_another_header_that_one_of_two_nodes_tells_of(
    service: Service,
) -> None:
    """It is waited for as any lie is, and when it ends the batch is proven."""
    batch = service.submit({str(CHAIN_ID): {f"block:{service.head() - 1}": ENTRIES["a balance"]}})
    with between(service.node.url, retold(_says_that_another_header_is_there)) as (address, proxy):
        chains = through(service, address, service.node.url).chains()
        service.work_until_it_says("do not agree on what its registry holds", batch, chains=chains)
        assert service.waits(batch) == "registry_misread"
        proxy.handle = passed_on
        service.work(batch, chains=chains)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_one_of_three_that_denies_what_is_there_holds_up_nothing(service: Service) -> None:
    data = {str(CHAIN_ID): {f"block:{service.head() - 1}": ENTRIES["a balance"]}}
    batch = service.submit(data)
    with between(service.node.url, retold(_with_sevens)) as (address, _):
        url = service.node.url
        through(service, url, address, url).work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_a_node_that_is_behind_is_waited_for_and_one_that_is_away_is_not(service: Service) -> None:
    def behind(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if "eth_call" not in methods(question):
            connection.answer(pass_on())
            return
        asked = question if isinstance(question, list) else [question]
        error = {"code": -32000, "message": "header not found"}
        told = [{"jsonrpc": "2.0", "id": each["id"], "error": error} for each in asked]
        connection.answer(json.dumps(told if isinstance(question, list) else told[0]).encode())

    data = {str(CHAIN_ID): {f"block:{service.head() - 1}": ENTRIES["a balance"]}}
    with between(service.node.url, behind) as (address, proxy):
        prover = through(service, service.node.url, address)
        batch = service.submit(data)
        prover.work_until_it_says("is not so far yet", batch)
        assert service.waits(batch) == "other_node_behind"
        proxy.handle = passed_on
        prover.work(batch)
    away = through(service, service.node.url, "http://127.0.0.1:9")
    service.mine(2)
    data = {str(CHAIN_ID): {f"block:{service.head() - 1}": ENTRIES["a balance"]}}
    batch = service.submit(data)
    away.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
