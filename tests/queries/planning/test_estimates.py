"""What a batch would take is told before it is submitted, and submitting then takes just that."""

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
from accounts.keys.text import id_in
from accounts.models import Account, ApiKey
from accounts.shared.wallets import Wallet
from explorer.demo.local_node import LocalNode, local_node
from queries.api import estimates
from queries.config.registries import VALID_UNTIL, Registry, RegistryKind
from queries.config.routes import NodeAddress
from queries.contracts.abi import load_artifact
from queries.models import Batch, BlockJob, ChainRecord, Query, SentTransaction
from queries.proving.registry_calls import HORIZON
from tests.accounts.concurrency import all_at_once
from tests.queries.api.json_schema import Schemas
from tests.queries.prover.service import CHAIN_ID, ETHER, Service, running_service
from tests.rigs.local_chain import a_day_ago
from tests.rigs.lying_node import lying_node, stall

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1", *a_day_ago()) as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False) as running:
        yield running


def _at(*selectors: str) -> dict[str, Any]:
    return {str(CHAIN_ID): dict.fromkeys(selectors, BALANCE)}


def _estimated(service: Service, data: dict[str, Any]) -> dict[str, Any]:
    answer = service.estimate(data)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    document = service.client.get("/openapi.json").json()
    assert Schemas(document).faults(told, document["components"]["schemas"]["Estimate"]) == []
    return told


def test_nothing_is_written_and_no_key_is_needed_to_sign(service: Service) -> None:
    service.mine(2)
    before = int(service.node.rpc.ask("eth_blockNumber"), 16)
    _estimated(service, _at(f"block:{before - 1}", "timestamp:1"))
    for model in (Batch, Query, BlockJob, ChainRecord, SentTransaction):
        assert not model._default_manager.exists()
    assert service.head() == before


def test_what_is_proven_is_named_and_costs_nothing(service: Service) -> None:
    service.mine(2)
    block = service.head() - 1
    first = _estimated(service, _at(f"block:{block}"))
    service.work(service.submit(_at(f"block:{block}"), fee=first["feeNeeded"]))
    (told,) = _estimated(service, _at(f"block:{block}"))["blocks"]
    assert (told["readiness"], told["price"]["cost"]) == ("PROVEN", "0")
    assert told["proven"] == [{"account": HOLDER, "name": None, "facts": ["BALANCE"]}]
    more = {"accounts": {HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x5"]}}}
    (told,) = _estimated(service, {str(CHAIN_ID): {f"block:{block}": more}})["blocks"]
    assert (told["readiness"], told["price"]["transactions"]) == ("READY", 1)
    assert told["proven"] == [{"account": HOLDER, "name": None, "facts": ["NONCE", "BALANCE"]}]


def test_what_is_not_final_is_reported_with_the_last_one_that_is(node: LocalNode) -> None:
    with running_service(node, finality=5) as service:
        service.mine(8)
        head = service.head()
        seconds = int(service.header(head)["timestamp"], 16)
        names = [f"block:{head}", f"block:{head + 9}", "timestamp:9999999999"]
        told = _estimated(service, _at(*names))
        there, beyond, late = sorted(told["blocks"], key=lambda each: int(each["block"] or 10**9))
        for each in (there, beyond, late):
            assert each["readiness"] == "NOT_FINAL"
            assert each["lastFinalBlock"] == str(head - 5)
        assert there["waitsFor"].startswith(f"Block {head:,} is not final yet")
        assert int(there["price"]["gas"]) > 50_000
        assert beyond["price"] is late["price"] is None
        assert (told["complete"], told["free"], told["feeNeeded"]) == (False, True, "0")
        # The block after it has to be final as well, where it is named by its time.
        parent = int(service.header(head - 5)["timestamp"], 16)
        assert seconds > parent
        (told,) = _estimated(service, _at(f"timestamp:{parent}"))["blocks"]
        assert (told["block"], told["readiness"]) == (str(head - 5), "NOT_FINAL")


def test_a_native_route_waits_for_finality_only_where_a_block_is_found_by_its_time(
    node: LocalNode,
) -> None:
    with running_service(node, finality=None) as service:
        service.mine(8)
        block = service.head() - 2  # which the node calls final, and not the one after it
        seconds = int(service.header(block)["timestamp"], 16)
        for name, readiness in ((f"block:{block}", "READY"), (f"timestamp:{seconds}", "NOT_FINAL")):
            (told,) = _estimated(service, _at(name))["blocks"]
            assert (told["block"], told["readiness"]) == (str(block), readiness)


def test_what_the_destination_does_not_know_yet_waits(service: Service) -> None:
    words = [HORIZON, CHAIN_ID, [HOLDER], 1, VALID_UNTIL]
    arguments = encode(["uint256", "uint256", "address[]", "uint256", "uint256"], words)
    code = load_artifact("AttestedRegistry").bytecode
    address = to_checksum_address(service.node.deploy(code, arguments))
    attested = Registry(RegistryKind.ATTESTED, CHAIN_ID, CHAIN_ID, address)
    service.routes.registries[CHAIN_ID, CHAIN_ID] = attested  # type: ignore[index]
    (told,) = _estimated(service, _at(f"block:{service.head()}"))["blocks"]
    assert (told["readiness"], told["price"], told["code"]) == ("NOT_KNOWN", None, None)
    assert told["waitsFor"].startswith("Too few signers have attested a block")


def test_nodes_that_keep_us_waiting_are_given_up(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "ESTIMATE_SECONDS", 2.0)
    with lying_node(stall) as address:
        _served_by(service, address)
        begin = time.monotonic()
        answer = service.estimate(_at("block:1", "block:2"))
        assert time.monotonic() - begin < 4
    told = answer.json()
    assert (answer.status_code, told["code"], told["retryable"]) == (503, "chain_unavailable", True)
    assert answer["Retry-After"] == "5"
    assert told["error"].startswith("No node of Local answers (time-out).")


def test_few_are_made_at_once_and_one_of_an_account(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has keys by the dozen, and asks what hangs, leaves others their place."""
    monkeypatch.setattr(estimates, "ESTIMATE_SECONDS", 2.0)
    askers = [
        _with_another_key(service),
        _with_another_key(service),
        *(_another(service, n) for n in range(4)),
    ]
    codes: dict[int, str] = {}

    def ask(number: int) -> None:
        one = replace(askers[number], client=Client())
        codes[number] = one.estimate(_at("block:1")).json()["code"]

    with lying_node(stall) as address:
        _served_by(service, address)
        all_at_once(ask, 2)
        assert sorted(codes.values()) == ["chain_unavailable", "estimates_busy"]
        codes.clear()
        all_at_once(lambda number: ask(number + 2), 4)
    assert sorted(codes.values()) == 3 * ["chain_unavailable"] + ["estimates_busy"]


def _another(service: Service, number: int) -> Service:
    account, _ = Account.objects.of_wallet(Wallet(to_checksum_address(f"0x{number + 1:040x}")))
    return replace(service, key=_new_key(account))


def _with_another_key(service: Service) -> Service:
    owner = ApiKey.objects.get(pk=id_in(service.key)).owner
    return replace(service, key=_new_key(owner))


def _new_key(owner: Account) -> str:
    key = manage.reveal(manage.add_key(owner, str(ULID())))
    assert key is not None
    return key


def _served_by(service: Service, address: str) -> None:
    chain = replace(service.routes.chains[CHAIN_ID], nodes=(NodeAddress(address),))
    service.routes.chains[CHAIN_ID] = chain  # type: ignore[index]
