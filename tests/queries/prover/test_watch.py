"""What provers note of nodes and of the signer's funds, and that `/metrics` tells it."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from explorer.http import metrics
from queries.chain.signer import Signer
from queries.config.routes import NodeAddress, Routes
from queries.database.clock import shared_now
from queries.models import ChainRecord, NodeRecord
from queries.prover.context import Chains
from queries.prover.watch import Watch
from tests.explorer.monitoring.exposed import Samples, metric_samples
from tests.queries.prover.between import PassOn, between
from tests.queries.prover.service import CHAIN_ID, ETHER, SIGNER_KEY, Service, running_service
from tests.rigs.lying_node import LyingNode, as_json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        yield running


CHAIN = str(CHAIN_ID)
NO_SIGNER = "http://127.0.0.1:1/hunter2"


def _routes(service: Service, *nodes: str) -> Routes:
    addresses = tuple(NodeAddress(each) for each in nodes)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=addresses)
    return replace(service.routes, chains={CHAIN_ID: chain})


def _watch(routes: Routes) -> Watch:
    """Of a prover that does not begin with its first check."""
    for chain in routes.chains:
        long_ago = shared_now() - timedelta(days=1)
        old = {"looked_at": long_ago, "checked": long_ago}
        ChainRecord.objects.get_or_create(chain=chain, defaults=old)
    return Watch(Chains(routes, Signer(SIGNER_KEY)))


def _seen(monkeypatch: pytest.MonkeyPatch, routes: Routes) -> Samples:
    monkeypatch.setattr(metrics, "ROUTES", routes)
    return metric_samples()


def _later(seconds: timedelta = timedelta(minutes=5)) -> None:
    ChainRecord.objects.update(looked_at=F("looked_at") - seconds, checked=F("checked") - seconds)
    NodeRecord.objects.update(measured=F("measured") - seconds)


def test_nodes_and_funds_are_seen(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.mine(20)
    routes = _routes(service, NO_SIGNER, service.node.url)
    assert metric_samples().keys().isdisjoint({"tacitus_node_up", "tacitus_signer_balance_wei"})
    watch = _watch(routes)
    watch.once()
    seen = _seen(monkeypatch, routes)
    assert seen["tacitus_node_up"] == {(CHAIN, "1"): 0, (CHAIN, "2"): 1}
    assert seen["tacitus_node_head_number"] == {(CHAIN, "2"): service.head()}
    assert seen["tacitus_node_lag_blocks"] == {(CHAIN, "2"): 0}
    # Other tests have changed balances of blocks, whose states are then not those of their headers.
    (window,) = seen["tacitus_node_proof_window_blocks"].values()
    assert 0 < window < service.head()
    assert seen["tacitus_chain_proof_window_needed_blocks"] == {(CHAIN,): 0}
    signer = Key.from_key(SIGNER_KEY).address
    balance = seen["tacitus_signer_balance_wei"][CHAIN, signer]
    assert balance == service.balance(signer, service.head())
    assert 999 * ETHER < balance <= 1_000 * ETHER


def test_the_proof_window_of_another_node_in_its_place_is_measured(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart with other nodes, and after a time in which the node did not answer."""
    service.mine(20)
    head, is_gone, kept, block = service.head(), False, 5, 0

    def tell(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        nonlocal block
        (asked,) = question if isinstance(question, list) else [question]
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0].startswith("0x"):
            block = int(asked["params"][0], 16)  # whose proof is asked for next
        if is_gone:
            connection.close_connection = True
        elif asked["method"] == "eth_getProof" and block < head - kept:
            refusal = {"error": {"code": -32000, "message": "missing trie node"}}
            connection.answer(as_json({"id": asked["id"], **refusal}))
        else:
            connection.answer(pass_on())

    def window() -> float:
        _later()
        watch.once()
        (found,) = _seen(monkeypatch, routes)["tacitus_node_proof_window_blocks"].values()
        return found

    routes = _routes(service, service.node.url)
    watch = _watch(routes)
    whole = window()
    with between(service.node.url, tell) as (other, _):
        routes = _routes(service, other)
        watch = _watch(routes)
        assert window() == kept < whole
        is_gone = True
        _later()
        watch.once()
        is_gone, kept = False, 3
        time.sleep(1.5)  # its cool-down
        assert window() == kept


def test_no_address_of_a_node_is_reported(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = _routes(service, NO_SIGNER)
    _watch(routes).once()
    told = repr(_seen(monkeypatch, routes)) + repr(list(NodeRecord.objects.values()))
    assert "hunter2" not in told
    assert "127.0.0.1" not in told


def test_a_node_that_is_behind_lags(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.mine(30)

    def ten_behind(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        asked = question if isinstance(question, list) else [question]
        for each in asked:
            if each["method"] == "eth_getBlockByNumber" and each["params"][0] == "latest":
                each["params"][0] = hex(service.head() - 10)
        connection.answer(pass_on())

    with between(service.node.url, ten_behind) as (behind, _):
        routes = _routes(service, service.node.url, behind)
        _watch(routes).once()
    assert _seen(monkeypatch, routes)["tacitus_node_lag_blocks"] == {
        (CHAIN, "1"): 0,
        (CHAIN, "2"): 10,
    }


def test_what_is_no_longer_configured_is_no_longer_reported(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = _watch(_routes(service, service.node.url, service.node.url))
    watch.once()
    _later()
    fewer = _routes(service, service.node.url)
    _watch(fewer).once()
    assert set(_seen(monkeypatch, fewer)["tacitus_node_up"]) == {(CHAIN, "1")}
    assert "tacitus_node_up" not in _seen(monkeypatch, Routes({}))
