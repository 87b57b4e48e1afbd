"""An account by its ENS name is the one that it meant at the proven block, as two nodes say."""

from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account as Key

from explorer.demo.local_node import LocalNode
from queries.chain.ens import TAKES_WHOLE_NAMES, dns_name, name_hash
from queries.models import SentTransaction
from tests.queries.contracts.local_ens import LocalEns
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
NAME = "vitalik.eth"
NO_SIGNER = "0x" + 40 * "0"


@pytest.fixture(scope="module")
def ens(shared_node: LocalNode) -> LocalEns:
    shared_node.rpc.ask("anvil_setBalance", HOLDER, hex(7 * ETHER))
    return LocalEns(shared_node)


@pytest.fixture
def service(shared_node: LocalNode, ens: LocalEns) -> Iterator[Service]:
    with running_service(shared_node, ens_registry=ens.address) as running:
        yield running


def _data(block: int, *names: str) -> dict[str, Any]:
    accounts = {name: {"props": ["BALANCE"]} for name in names}
    return {str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}}


def _proven(service: Service, block: int, *names: str) -> dict[str, Any]:
    service.chains().head(CHAIN_ID)
    batch = service.submit(_data(block, *names))
    service.work(batch)
    return service.status(batch)


def _rejected(service: Service, block: int, *names: str) -> dict[str, Any]:
    sent = SentTransaction.objects.count()
    (told,) = service.estimate(_data(block, *names)).json()["blocks"]
    assert told["readiness"] == "FAILS"
    status = _proven(service, block, *names)
    assert (status["queryStatus"], status["step"]) == ("REJECTED", "INITIAL_STATE")
    assert (status["code"], status["error"]) == (told["code"], told["error"])
    assert SentTransaction.objects.count() == sent
    return status


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("eth", "93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"),
        ("foo.eth", "de9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f"),
        ("vitalik.eth", "ee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835"),
    ],
)
def test_a_names_place_is_the_standards(name: str, mark: str) -> None:
    assert name_hash(name).hex() == mark


def test_the_interface_of_resolvers_of_whole_names_is_the_standards() -> None:
    assert TAKES_WHOLE_NAMES.hex() == "9061b923"
    assert dns_name("foo.eth") == b"\x03foo\x03eth\x00"


ANSWERS_20_KB = "0x614e206000f3"  # more than is read of an answer


@pytest.mark.parametrize(
    "kind", ["no resolver", "no address", "no contract", "another contract", "a long answer"]
)
def test_a_name_that_means_nobody_is_named(service: Service, ens: LocalEns, kind: str) -> None:
    resolvers = {
        "no resolver": NO_SIGNER,
        "no address": ens.resolver,
        "no contract": Key.create().address,
        "another contract": service.registry.address,
        "a long answer": Key.create().address,
    }
    service.node.rpc.ask("anvil_setCode", resolvers["a long answer"], ANSWERS_20_KB)
    name = f"{kind.replace(' ', '-')}.eth"
    ens.set_address(NAME, HOLDER)
    ens.set_resolver(name, resolvers[kind])
    service.mine(2)
    told = _rejected(service, service.head() - 1, NAME, name)
    assert (told["code"], told["retryable"]) == ("ens_unresolved", False)
    assert told["error"].startswith(f"{name} stands for no address at block ")
    failing = [each["name"] for each in told["queries"] if any(s["error"] for s in each["steps"])]
    assert failing == [name]


def test_a_name_without_a_resolver_has_that_of_a_name_above_it(
    service: Service, ens: LocalEns
) -> None:
    names = ["a.wild.eth", "b.c.wild.eth", f"{'x.' * 100}wild.eth", "wild.eth"]
    for name in names:
        ens.set_below("wild.eth", name, HOLDER)
    ens.set_address("own.wild.eth", HOLDER)
    service.mine(2)
    told = _proven(service, service.head() - 1, *names, "own.wild.eth")
    assert told["queryStatus"] == "DONE"
    assert [(each["name"], each["account"]) for each in told["queries"]] == [
        (name, HOLDER) for name in (*names, "own.wild.eth")
    ]


def test_a_resolver_that_takes_no_whole_names_is_not_asked_for_those_below(
    service: Service, ens: LocalEns
) -> None:
    ens.set_address("plain.eth", HOLDER)
    ens.set_address("below.plain.eth", HOLDER)
    ens.set_resolver("below.plain.eth", NO_SIGNER)
    service.mine(2)
    told = _rejected(service, service.head() - 1, "below.plain.eth")
    assert told["code"] == "ens_unresolved"
