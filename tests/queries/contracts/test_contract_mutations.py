"""Every check of the contracts is needed: without it, the attack it is there for gets through."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from eth_abi.abi import encode

from queries.chain.local_node import LocalNode
from queries.contracts.compiler import read_sources
from tests.local_chain import Deployed
from tests.queries.attacks.checks import CHECKS, GUARDS, ROWS
from tests.queries.attacks.forgeries import FORGERIES
from tests.queries.attacks.header_forgeries import HEADER_FORGERIES
from tests.queries.attacks.hop_forgeries import HOP_FORGERIES
from tests.queries.attacks.registry_attacks import ATTACKS, Deploy, got_through
from tests.queries.attacks.switched_checks import SWITCH, Check, body, occurrences, switched_build

pytestmark = pytest.mark.no_database

ALL_FORGERIES = FORGERIES | HEADER_FORGERIES | HOP_FORGERIES
SETTABLE = encode(["bool", "bool"], [True, True])


@pytest.fixture(scope="module")
def deploy_switched(shared_node: LocalNode) -> Deploy:
    build = switched_build(ROWS)

    def deploy(name: str, arguments: bytes = b"") -> Deployed:
        return Deployed(shared_node, name, arguments, build[name])

    return deploy


@pytest.fixture(scope="module")
def switched(deploy_switched: Deploy) -> Deployed:
    return deploy_switched("SettableRegistry", SETTABLE)


@pytest.fixture
def deploy(shared_node: LocalNode) -> Deploy:
    return lambda name, arguments=b"": Deployed(shared_node, name, arguments)


@contextmanager
def without(check: Check, node: LocalNode) -> Iterator[None]:
    node.rpc.ask("anvil_setBalance", SWITCH, hex(ROWS.index(check) + 1))
    try:
        yield
    finally:
        node.rpc.ask("anvil_setBalance", SWITCH, "0x0")


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_without_it_its_attack_gets_through(
    check: Check, switched: Deployed, deploy_switched: Deploy
) -> None:
    with without(check, switched.node):
        if check.falls_to in ATTACKS:
            assert ATTACKS[check.falls_to](deploy_switched)
        else:
            assert got_through(switched, ALL_FORGERIES[check.falls_to]())


@pytest.mark.parametrize("guard", GUARDS, ids=str)
def test_without_a_guard_nothing_gets_through(
    guard: Check, switched: Deployed, deploy_switched: Deploy
) -> None:
    with without(guard, switched.node):
        assert _that_get_through(switched, deploy_switched, guard.contract) == []


def test_nothing_gets_through_the_contracts_as_they_are(
    shared_node: LocalNode, deploy: Deploy
) -> None:
    registry = deploy("SettableRegistry", SETTABLE)
    assert registry.node is shared_node
    assert _that_get_through(registry, deploy, "all") == []


def test_nothing_gets_through_while_every_check_is_on(
    switched: Deployed, deploy_switched: Deploy
) -> None:
    assert _that_get_through(switched, deploy_switched, "all") == []


def _that_get_through(registry: Deployed, deploy: Deploy, contract: str) -> list[str]:
    common = contract in ("TrieWitness", "CompactHeader", "ProofReader", "FactsRegistry")
    forgeries: dict[str, Any] = (
        {} if contract.endswith("Registry") and not common else ALL_FORGERIES
    )
    attacks = {} if common else ATTACKS
    return [
        *(name for name, make in forgeries.items() if got_through(registry, make())),
        *(name for name, run in attacks.items() if run(deploy)),
    ]


@pytest.mark.parametrize("check", ROWS, ids=str)
def test_the_text_of_a_check_stands_where_the_table_says(check: Check) -> None:
    assert occurrences(check) == 1


def test_the_table_has_every_refusal() -> None:
    """Each `revert` of each function: by its text, or by the error it leads to."""
    assert [
        f"{contract}.{function}: {error}"
        for contract, function, error in _refusals()
        if not any(
            (row.contract, row.function) == (contract, function)
            and (f"revert {error}(" in row.text or row.error == error)
            for row in ROWS
        )
    ] == []


def _refusals() -> Iterator[tuple[str, str, str]]:
    for file, source in read_sources().items():
        if file.startswith(("demo/", "interfaces/")):
            continue
        functions = re.findall(r"^ *(?:function (\w+)|(constructor))\(", source, re.MULTILINE)
        for function in (name or constructor for name, constructor in functions):
            start, end = body(source, function)
            for error in re.findall(r"revert ([A-Z]\w+)\(", source[start:end]):
                yield file.removesuffix(".sol"), function, error


def test_every_forgery_that_a_check_is_there_for_is_in_the_tables() -> None:
    assert {check.falls_to for check in CHECKS} <= {*ALL_FORGERIES, *ATTACKS}
