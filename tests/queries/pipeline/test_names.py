"""An account by its ENS name is the one that it meant at the proven block, as two nodes say."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account as Key

from queries.chain.ens import TAKES_WHOLE_NAMES, dns_name, name_hash
from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.routes import NodeAddress
from tests.queries.chain.relay import Change, honest, refusal, relay
from tests.queries.contracts.local_ens import LocalEns
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
NAME = "vitalik.eth"
NOBODY = "0x" + 40 * "0"


@pytest.fixture(scope="module")
def ens(shared_node: LocalNode) -> LocalEns:
    shared_node.rpc.ask("anvil_setBalance", HOLDER, hex(7 * ETHER))
    return LocalEns(shared_node)


@pytest.fixture
def service(shared_node: LocalNode, ens: LocalEns) -> Iterator[Service]:
    with running_service(shared_node, ens_registry=ens.address) as running:
        yield running


def _served_by(service: Service, *addresses: str) -> None:
    nodes = tuple(NodeAddress(address) for address in addresses)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes)
    service.routes.chains[CHAIN_ID] = chain  # type: ignore[index]


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


def test_it_means_whom_it_meant_at_the_proven_block(service: Service, ens: LocalEns) -> None:
    ens.set_address(NAME, HOLDER)
    then = service.head()
    later = Key.create().address
    ens.set_address(NAME, later)
    service.mine(2)
    for block, account in ((then, HOLDER), (service.head() - 1, later)):
        estimated = service.estimate(_data(block, NAME)).json()
        assert (estimated["complete"], estimated["transactions"]) == (True, 1)
        (query,) = _proven(service, block, NAME)["queries"]
        assert (query["name"], query["account"]) == (NAME, account)
        assert int(query["values"]["BALANCE"], 16) == service.balance(account, block)
        assert service.reads.account_field(bytes.fromhex(account[2:]), block, 1) is not None


def test_a_name_and_its_address_in_one_block_are_both_answered(
    service: Service, ens: LocalEns
) -> None:
    ens.set_address(NAME, HOLDER)
    service.mine(2)
    told = _proven(service, service.head() - 1, NAME, HOLDER)["queries"]
    assert [(each["name"], each["account"]) for each in told] == [(NAME, HOLDER), (None, HOLDER)]
    assert {each["values"]["BALANCE"] for each in told} == {f"0x{7 * ETHER:064x}"}
    assert SentTransaction.objects.count() == 1


def test_two_nodes_are_asked_at_the_block(service: Service, ens: LocalEns) -> None:
    ens.set_address(NAME, HOLDER)
    service.mine(2)
    seen: list[Any] = []

    def see(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_call" and params[0]["to"] in {ens.address, ens.resolver.lower()}:
            seen.append(params[1])
        return answer

    block = service.head() - 1
    with relay(service.node.url, see) as one, relay(service.node.url, see) as other:
        _served_by(service, one, other)
        assert _proven(service, block, NAME)["queryStatus"] == "DONE"
    assert seen == 8 * [hex(block)]


def _told(of: str, word: int) -> Change:
    """A node that answers the calls to a contract with this word."""

    def change(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_call" and params[0]["to"].lower() == of.lower():
            return {"result": f"0x{word:064x}"}
        return answer

    return change


@pytest.mark.parametrize("word", [0, 0xBAD, 2**255])
def test_nodes_that_disagree_are_not_believed_and_a_third_decides(
    service: Service, ens: LocalEns, word: int
) -> None:
    ens.set_address(NAME, HOLDER)
    service.mine(2)
    for lied_of in (ens.resolver, ens.address):
        with (
            relay(service.node.url, _told(lied_of, word)) as liar,
            relay(service.node.url, honest) as third,
        ):
            service.chains().head(CHAIN_ID)
            batch = service.submit(_data(service.head() - 1, NAME))
            for nodes in ((service.node.url, liar), (liar, service.node.url)):
                _served_by(service, *nodes)
                service.work_until_it_says("do not agree", batch)
                assert service.waits(batch) == "no_quorum"
            _served_by(service, liar, service.node.url, third)
            service.work(batch)
        (query,) = service.status(batch)["queries"]
        assert query["account"] == HOLDER
        service.mine(2)


def test_one_node_of_two_is_not_enough(service: Service, ens: LocalEns) -> None:
    ens.set_address(NAME, HOLDER)
    service.mine(2)
    service.chains().head(CHAIN_ID)
    batch = service.submit(_data(service.head() - 1, NAME))
    with ExitStack() as stack:
        busy: Change = lambda method, _, answer: (  # noqa: E731
            refusal("too many requests") if method == "eth_call" else answer
        )
        _served_by(service, service.node.url, stack.enter_context(relay(service.node.url, busy)))
        service.work_until_it_says("do not all answer", batch)
        assert service.waits(batch) == "no_quorum"
    with relay(service.node.url, honest) as third:
        _served_by(service, "http://127.0.0.1:1/", service.node.url, third)
        service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


ANSWERS_20_KB = "0x614e206000f3"  # more than is read of an answer


@pytest.mark.parametrize(
    "kind", ["no resolver", "no address", "no contract", "another contract", "a long answer"]
)
def test_a_name_that_means_nobody_is_named(service: Service, ens: LocalEns, kind: str) -> None:
    resolvers = {
        "no resolver": NOBODY,
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
    ens.set_resolver("below.plain.eth", NOBODY)
    service.mine(2)
    told = _rejected(service, service.head() - 1, "below.plain.eth")
    assert told["code"] == "ens_unresolved"


def test_nothing_is_looked_up_off_chain(service: Service, ens: LocalEns) -> None:
    ens.set_resolver("far.eth", ens.off_chain)
    service.mine(2)
    told = _rejected(service, service.head() - 1, "far.eth")
    assert (told["code"], told["retryable"]) == ("ens_off_chain", False)
    assert "far.eth" in told["error"]
    ens.set_resolver("wild.eth", ens.whole_names)
    service.mine(2)
    assert _rejected(service, service.head() - 1, "far.wild.eth")["code"] == "ens_off_chain"


def test_a_name_waits_for_its_block_to_be_final(shared_node: LocalNode, ens: LocalEns) -> None:
    with running_service(shared_node, ens_registry=ens.address, finality=5) as service:
        ens.set_address(NAME, HOLDER)
        service.chains().head(CHAIN_ID)
        block = service.head()
        batch = service.submit(_data(block, NAME))
        service.work_until_it_says("is not final yet", batch)
        told = service.status(batch)
        assert (told["status"], told["queries"][0]["account"]) == ("RECEIVED", None)
        assert told["waitsFor"].startswith(f"Block {block:,} is not final yet")
        assert told["waitCode"] == "block_not_final"
        service.mine(5)
        service.work(batch)
        assert service.status(batch)["queries"][0]["account"] == HOLDER
