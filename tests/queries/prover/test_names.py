"""ENS names of accounts are resolved at the proven block."""

from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode
from queries.chain.ens import EXTENDED_RESOLVER_ID, dns_name, name_hash
from queries.contracts.abi import call_data
from queries.models import SentTransaction
from tests.builds import contract_for_tests
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
NAME = "vitalik.eth"
ZERO_ADDRESS = "0x" + 40 * "0"


class LocalEns:
    """A registry and its resolvers."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self.address, self.resolver, self.whole_names = (
            to_checksum_address(node.deploy(contract_for_tests(name)))
            for name in ("EnsRegistry", "Resolver", "WholeNamesResolver")
        )

    def set_resolver(self, name: str, resolver: str) -> None:
        self._set(self.address, name, resolver)

    def set_address(self, name: str, account: str) -> None:
        self.set_resolver(name, self.resolver)
        self._set(self.resolver, name, account)

    def set_below(self, parent: str, name: str, account: str) -> None:
        """Set the address of a wildcard name, by its parent's resolver (ENSIP-10)."""
        self.set_resolver(parent, self.whole_names)
        self._set(self.whole_names, name, account)

    def _set(self, contract: str, name: str, value: str) -> None:
        self._node.send(contract, call_data("set(bytes32,address)", name_hash(name), value))


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


def _prove(service: Service, block: int, *names: str) -> dict[str, Any]:
    service.context().head(CHAIN_ID)
    batch = service.submit(_data(block, *names))
    service.work(batch)
    return service.status(batch)


def _expect_rejection(service: Service, block: int, *names: str) -> dict[str, Any]:
    (estimate,) = service.estimate(_data(block, *names)).json()["blocks"]
    assert estimate["readiness"] == "FAILS"
    status = _prove(service, block, *names)
    assert (status["queryStatus"], status["step"]) == ("REJECTED", "INITIAL_STATE")
    assert (status["code"], status["error"]) == (estimate["code"], estimate["error"])
    assert not SentTransaction.objects.exists()
    return status


def test_wildcard_resolution_follows_ensip_10() -> None:
    assert EXTENDED_RESOLVER_ID.hex() == "9061b923"
    assert dns_name("foo.eth") == b"\x03foo\x03eth\x00"


ANSWERS_20_KB = "0x614e206000f3"  # code of a contract; more than is read of an answer


@pytest.mark.parametrize(
    "kind", ["no resolver", "no address", "no contract", "another contract", "a long answer"]
)
def test_a_name_without_an_address_is_rejected_by_name(
    service: Service, ens: LocalEns, kind: str
) -> None:
    resolvers = {
        "no resolver": ZERO_ADDRESS,
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
    status = _expect_rejection(service, service.head() - 1, NAME, name)
    assert (status["code"], status["retryable"]) == ("ens_unresolved", False)
    assert status["error"].startswith(f"{name} has no address at block ")
    queries = status["queries"]
    failing = [query["name"] for query in queries if any(s["error"] for s in query["steps"])]
    assert failing == [name]


def test_a_name_without_a_resolver_uses_its_parents_wildcard_resolver(
    service: Service, ens: LocalEns
) -> None:
    names = ["a.wild.eth", "b.c.wild.eth", f"{'x.' * 100}wild.eth", "wild.eth"]
    for name in names:
        ens.set_below("wild.eth", name, HOLDER)
    ens.set_address("own.wild.eth", HOLDER)
    service.mine(2)
    status = _prove(service, service.head() - 1, *names, "own.wild.eth")
    assert status["queryStatus"] == "DONE"
    assert [(query["name"], query["account"]) for query in status["queries"]] == [
        (name, HOLDER) for name in (*names, "own.wild.eth")
    ]


def test_a_resolver_without_wildcards_is_not_asked_for_subnames(
    service: Service, ens: LocalEns
) -> None:
    ens.set_address("plain.eth", HOLDER)
    ens.set_address("below.plain.eth", HOLDER)
    ens.set_resolver("below.plain.eth", ZERO_ADDRESS)
    service.mine(2)
    status = _expect_rejection(service, service.head() - 1, "below.plain.eth")
    assert status["code"] == "ens_unresolved"


def test_a_name_that_is_not_resolved_stands_beside_no_header(service: Service) -> None:
    block = service.head() - 1
    header = {str(CHAIN_ID): {f"block:{block}": {"header": ["TIMESTAMP"]}}}
    service.work(service.submit(header))
    accounts = {"this-block-is-fake.eth": {"props": ["BALANCE"]}}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}})
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "REJECTED"
    page = service.client.get(f"/explorer/block/{CHAIN_ID}/{block}").content.decode()
    assert "TIMESTAMP" in page
    assert "this-block-is-fake.eth" not in page
