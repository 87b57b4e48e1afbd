"""Provers poll nodes and the signer's funds, and `/metrics` reports them."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode, local_node
from explorer.http import probes
from queries.chain.signer import Signer
from queries.database.chain_records import measure_again
from queries.database.clock import shared_now
from queries.models import ChainRecord, NodeRecord
from queries.sources.routes import Routes
from queries.transactions.context import ProverContext
from tests.explorer.monitoring.exposition import Samples, metric_samples
from tests.explorer.page_text import visible_text
from tests.queries.prover.service import (
    CHAIN_ID,
    ETHER,
    HOLDER,
    SIGNER_KEY,
    Service,
    poll,
    running_service,
)
from tests.rigs.deployed_contracts import day_old_genesis
from tests.rigs.faulty_node import NotHandledError, refusal, relay
from tests.rigs.stub_node import StubNode

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        yield running


CHAIN = str(CHAIN_ID)
MINED_AT_ONCE = 100  # within a request's time-out
NO_NODE = "http://127.0.0.1:1/hunter2"


def _new_prover(routes: Routes) -> ProverContext:
    """A prover that starts now; others have checked all chains before."""
    for chain in routes.chains:
        long_ago = shared_now() - timedelta(days=1)
        old = {"polled_at": long_ago, "checked_at": long_ago}
        ChainRecord.objects.get_or_create(chain=chain, defaults=old)
    measure_again()
    return ProverContext(routes, Signer(SIGNER_KEY))


def _samples(monkeypatch: pytest.MonkeyPatch, routes: Routes) -> Samples:
    monkeypatch.setattr(probes, "ROUTES", routes)
    return metric_samples()


def _let_time_pass(seconds: timedelta = timedelta(minutes=5)) -> None:
    ChainRecord.objects.update(
        polled_at=F("polled_at") - seconds, checked_at=F("checked_at") - seconds
    )
    NodeRecord.objects.update(measured_at=F("measured_at") - seconds)


def test_metrics_show_nodes_and_funds(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.mine(20)
    routes = service.with_nodes(NO_NODE, service.node.url).routes
    assert metric_samples().keys().isdisjoint({"tacitus_node_up", "tacitus_signer_balance_wei"})
    poll(_new_prover(routes))
    samples = _samples(monkeypatch, routes)
    assert samples["tacitus_node_up"] == {(CHAIN, "1"): 0, (CHAIN, "2"): 1}
    assert samples["tacitus_node_head_number"] == {(CHAIN, "2"): service.head()}
    assert samples["tacitus_node_lag_blocks"] == {(CHAIN, "2"): 0}
    # Other tests have changed balances in mined blocks, whose states no longer match their headers.
    (window,) = samples["tacitus_node_proof_window_blocks"].values()
    assert 0 < window <= 8_191
    assert samples["tacitus_chain_proof_window_needed_blocks"] == {(CHAIN,): 0}
    signer = Key.from_key(SIGNER_KEY).address
    balance = samples["tacitus_signer_balance_wei"][CHAIN, signer]
    assert balance == service.balance(signer, service.head())
    assert 999 * ETHER < balance <= 1_000 * ETHER
    text = repr(samples) + repr(list(NodeRecord.objects.values()))
    assert "hunter2" not in text
    assert "127.0.0.1" not in text


def test_a_poll_notes_when_a_chain_has_made_a_block(service: Service) -> None:
    prover = _new_prover(service.routes)
    times = []
    for blocks in (1, 0, 0, 1):
        service.mine(blocks)
        _let_time_pass()
        poll(prover)
        times.append(ChainRecord.objects.get(chain=CHAIN_ID).new_block_at or shared_now())
    assert times[0] == times[1] == times[2] < times[3]


def test_the_proof_window_is_measured_again_for_another_node(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart with other nodes, and after an outage of the node."""
    service.mine(20)
    head, is_down, window, block = service.head(), False, 5, 0

    def hang_up_if_down(connection: StubNode, _: object) -> None:
        if not is_down:
            raise NotHandledError
        connection.close_connection = True

    def prune(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        nonlocal block
        if method == "eth_getBlockByNumber" and params[0].startswith("0x"):
            block = int(params[0], 16)  # its proof is requested next
        is_pruned = method == "eth_getProof" and block < head - window
        return refusal("missing trie node") if is_pruned else answer

    def measured_window() -> float:
        _let_time_pass()
        poll(prover)
        (blocks,) = _samples(monkeypatch, routes)["tacitus_node_proof_window_blocks"].values()
        return blocks

    routes = service.with_nodes(service.node.url).routes
    prover = _new_prover(routes)
    full_window = measured_window()
    with relay(service.node.url, prune, first=hang_up_if_down) as address:
        routes = service.with_nodes(address).routes
        prover = _new_prover(routes)
        assert measured_window() == window < full_window
        is_down = True
        _let_time_pass()
        poll(prover)
        is_down, window = False, 3
        time.sleep(1.5)  # its cool-down
        assert measured_window() == window


def test_the_proof_window_of_a_young_chain_is_all_its_blocks() -> None:
    """It is measured again when another client answers, when the chain is twice as long, and after
    a proof of an older block.
    """
    oldest, client, block, proofs = 0, "anvil/v1", 0, 0

    def change(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        nonlocal block, proofs
        if method == "eth_getBlockByNumber" and params[0].startswith("0x"):
            block = int(params[0], 16)  # its proof is requested next
        if method == "web3_clientVersion":
            return {"result": client}
        if method != "eth_getProof":
            return answer
        proofs += 1
        return refusal("missing trie node") if block < oldest else answer

    def shown_window() -> str:
        _let_time_pass()
        poll(prover)
        page = service.client.get("/explorer/routes").content.decode()
        windows = re.findall(r"all blocks|no block|the last [\d,]+ blocks?(?: or more)?", page)
        (shown,) = set(windows)
        return str(shown)

    with (
        local_node("--slots-in-an-epoch", "1", *day_old_genesis()) as node,
        running_service(node) as service,
        relay(node.url, change) as address,
    ):
        service.mine(40)
        prover = _new_prover(service.with_nodes(address).routes)
        assert (shown_window(), proofs) == ("all blocks", 1)
        service.mine(20)
        assert (shown_window(), proofs) == ("all blocks", 1)  # not measured again
        oldest = service.head() - 7
        client = "Geth/v2"
        assert shown_window() == "the last 7 blocks"
        oldest = 0
        assert shown_window() == "the last 7 blocks"
        service.work(service.ask_balance(HOLDER, 3))
        assert shown_window() == "all blocks"
        service.mine(service.head() + 1)
        oldest = service.head() - 9
        assert shown_window() == "the last 9 blocks"


def test_old_times_are_estimated_although_the_chain_changed_its_block_time() -> None:
    """Also after the chain grew, and from a node that has dropped its oldest blocks."""

    def drop(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        is_block = method == "eth_getBlockByNumber" and params[0].startswith("0x")
        return {"result": None} if is_block and int(params[0], 16) < 100 else answer

    def estimated_block(number: int) -> int:
        block = node.rpc.ask("eth_getBlockByNumber", hex(number), False)
        fields = {"source": CHAIN, "block": f"timestamp:{int(block['timestamp'], 16)}", "to": CHAIN}
        page = visible_text(service.client.get("/explorer/routes", fields).content.decode())
        (estimate,) = re.findall(r"the last block was about ([\d,]+)\.", page)
        return int(estimate.replace(",", ""))

    with (
        local_node("--slots-in-an-epoch", "1", *day_old_genesis()) as node,
        running_service(node) as service,
        relay(node.url, drop) as address,
    ):
        prover = _new_prover(service.with_nodes(address).routes)
        for last, seconds in ((512, 60), (700, 5), (800, 5)):
            while missing := last - service.head():
                node.rpc.ask("anvil_mine", hex(min(missing, MINED_AT_ONCE)), hex(seconds))
            _let_time_pass()
            poll(prover)
        for number in (50, 300, 500, 600, 750):
            assert abs(estimated_block(number) - number) < 10, number


def test_a_block_beyond_the_head_is_expected_after_the_chains_block_time(service: Service) -> None:
    prover = _new_prover(service.routes)
    poll(prover)
    service.mine(10)  # every two seconds
    _let_time_pass()
    poll(prover)
    head = service.head()
    query = {str(CHAIN_ID): {f"block:{head + 330}": {"header": ["TIMESTAMP"]}}}
    for answer in (service.ask(query), service.estimate(query)):
        assert answer.status_code == 400
        assert answer.json()["error"] == (
            f"block:{head + 330} is not on chain {CHAIN_ID} yet: the newest block seen is "
            f"{head:,}, and blocks up to {head + 300:,} are accepted. It is expected in about 11 "
            "minutes."
        )


def test_metrics_show_how_far_a_node_is_behind(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.mine(30)

    def lag_by_ten(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            return {"result": service.node.block(hex(service.head() - 10))}
        return answer

    with relay(service.node.url, lag_by_ten) as address:
        routes = service.with_nodes(service.node.url, address).routes
        poll(_new_prover(routes))
    lags = _samples(monkeypatch, routes)["tacitus_node_lag_blocks"]
    assert lags == {(CHAIN, "1"): 0, (CHAIN, "2"): 10}


def test_metrics_leave_out_nodes_that_are_no_longer_configured(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll(_new_prover(service.with_nodes(service.node.url, service.node.url).routes))
    _let_time_pass()
    fewer = service.with_nodes(service.node.url).routes
    poll(_new_prover(fewer))
    assert set(_samples(monkeypatch, fewer)["tacitus_node_up"]) == {(CHAIN, "1")}
    assert "tacitus_node_up" not in _samples(monkeypatch, Routes({}))
