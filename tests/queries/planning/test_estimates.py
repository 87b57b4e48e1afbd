"""Estimates: what a batch would cost, and what its blocks wait for."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from ulid import ULID

from accounts.keys import manage
from accounts.keys.text import parse_key_id
from accounts.models import Account, ApiKey
from accounts.wallets import Wallet
from explorer.demo.local_node import LocalNode
from queries.config.chains import NodeAddress
from queries.contracts.abi import load_artifact
from queries.models import Batch, BlockJob, ChainRecord, Query, SentTransaction
from queries.planning import on_request
from queries.proving.registry_calls import HORIZON
from queries.sources.attested import VALID_UNTIL, AttestedRegistry
from tests.accounts.concurrency import all_at_once
from tests.queries.api.json_schema import Schemas
from tests.queries.prover.service import CHAIN_ID, Service, running_service
from tests.rigs.stub_node import stall, stub_node

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False) as running:
        yield running


def _request(*selectors: str) -> dict[str, Any]:
    return {str(CHAIN_ID): dict.fromkeys(selectors, BALANCE)}


def _estimate(service: Service, data: dict[str, Any]) -> dict[str, Any]:
    answer = service.estimate(data)
    assert answer.status_code == 200, answer.text
    estimate: dict[str, Any] = answer.json()
    document = service.client.get("/openapi.json").json()
    schema = document["components"]["schemas"]["EstimateResponse"]
    assert Schemas(document).faults(estimate, schema) == []
    return estimate


def _estimate_block(service: Service, selector: str, entry: Any = None) -> dict[str, Any]:
    (block,) = _estimate(service, {str(CHAIN_ID): {selector: entry or BALANCE}})["blocks"]
    return dict(block)


def test_an_estimate_stores_and_sends_nothing(service: Service) -> None:
    service.mine(2)
    before = int(service.node.rpc.ask("eth_blockNumber"), 16)
    _estimate(service, _request(f"block:{before - 1}", "timestamp:1"))
    for model in (Batch, Query, BlockJob, ChainRecord, SentTransaction):
        assert not model._default_manager.exists()
    assert service.head() == before


def test_a_block_that_is_not_final_is_reported_with_the_last_final_block(node: LocalNode) -> None:
    with running_service(node, finality=5) as service:
        service.mine(8)
        head = service.head()
        seconds = int(service.header(head)["timestamp"], 16)
        selectors = [f"block:{head}", f"block:{head + 9}", "timestamp:9999999999"]
        estimate = _estimate(service, _request(*selectors))
        blocks = sorted(estimate["blocks"], key=lambda block: int(block["block"] or 10**9))
        assert {block["readiness"] for block in blocks} == {"NOT_FINAL"}
        assert {block["lastFinalBlock"] for block in blocks} == {str(head - 5)}
        newest, beyond, late = blocks
        assert newest["waitsFor"].startswith(f"Block {head:,} is not final yet")
        assert newest["waitCode"] == beyond["waitCode"] == "block_not_final"
        assert late["waitCode"] == "time_not_reached"
        assert int(newest["price"]["gas"]) > 50_000
        assert beyond["price"] is late["price"] is None
        assert (estimate["complete"], estimate["free"]) == (False, True)
        assert estimate["feeNeeded"] == "0"
        # For a time, the block after it has to be final as well.
        parent = int(service.header(head - 5)["timestamp"], 16)
        assert seconds > parent
        block = _estimate_block(service, f"timestamp:{parent}")
        assert (block["block"], block["readiness"]) == (str(head - 5), "NOT_FINAL")


def test_a_native_route_waits_for_finality_only_for_times(node: LocalNode) -> None:
    with running_service(node, finality=None) as service:
        service.mine(8)
        block = service.head() - 2  # the last final block of the node
        seconds = int(service.header(block)["timestamp"], 16)
        for selector, readiness in {
            f"block:{block}": "READY",
            f"timestamp:{seconds}": "NOT_FINAL",
        }.items():
            estimate = _estimate_block(service, selector)
            assert (estimate["block"], estimate["readiness"]) == (str(block), readiness)
            assert bool(estimate["waitCode"]) == (readiness == "NOT_FINAL")


def test_a_block_that_the_destination_does_not_know_waits(service: Service) -> None:
    words = [HORIZON, CHAIN_ID, [HOLDER], 1, VALID_UNTIL]
    arguments = encode(["uint256", "uint256", "address[]", "uint256", "uint256"], words)
    code = load_artifact("AttestedRegistry").bytecode
    address = to_checksum_address(service.node.deploy(code, arguments))
    attested = AttestedRegistry(CHAIN_ID, CHAIN_ID, address, signers=(HOLDER,), threshold=1)
    service.routes.registries[CHAIN_ID, CHAIN_ID] = attested  # type: ignore[index]
    block = _estimate_block(service, f"block:{service.head()}")
    assert (block["readiness"], block["price"], block["code"]) == ("NOT_KNOWN", None, None)
    assert block["waitCode"] == "not_attested"
    assert block["waitsFor"].startswith("Too few signers have attested a block")


def test_an_estimate_times_out_if_nodes_do_not_answer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_request, "ESTIMATE_SECONDS", 2.0)
    with stub_node(stall) as address:
        _use_node(service, address)
        begin = time.monotonic()
        answer = service.estimate(_request("block:1", "block:2"))
        assert time.monotonic() - begin < 4
    error = answer.json()
    assert (answer.status_code, error["code"]) == (503, "chain_unavailable")
    assert (error["retryable"], answer["Retry-After"]) == (True, "5")
    assert error["error"].startswith("No node of Local answers (time-out).")


def test_estimates_are_limited_in_all_and_to_one_per_account(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account with many keys that causes slow estimates does not block others."""
    monkeypatch.setattr(on_request, "ESTIMATE_SECONDS", 2.0)
    owner = ApiKey.objects.get(pk=parse_key_id(service.key)).owner
    accounts = [owner, owner, *map(_account, range(4))]
    keys = [_new_key(account) for account in accounts]
    codes: dict[int, str] = {}

    def ask(number: int) -> None:
        caller = replace(service, key=keys[number], client=Client())
        codes[number] = caller.estimate(_request("block:1")).json()["code"]

    with stub_node(stall) as address:
        _use_node(service, address)
        all_at_once(ask, 2)
        assert sorted(codes.values()) == ["chain_unavailable", "estimates_busy"]
        codes.clear()
        all_at_once(lambda number: ask(number + 2), 4)
    assert sorted(codes.values()) == 3 * ["chain_unavailable"] + ["estimates_busy"]


def _account(number: int) -> Account:
    account, _ = Account.objects.get_or_create_for_wallet(
        Wallet(to_checksum_address(f"0x{number + 1:040x}"))
    )
    return account


def _new_key(owner: Account) -> str:
    key = manage.reveal(manage.add_key(owner, str(ULID())))
    assert key is not None
    return key


def _use_node(service: Service, address: str) -> None:
    chain = replace(service.routes.chains[CHAIN_ID], nodes=(NodeAddress(address),))
    service.routes.chains[CHAIN_ID] = chain  # type: ignore[index]
