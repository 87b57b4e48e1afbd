"""Every check of the contracts is needed: without it, the attack it is there for gets through."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import read_sources
from tests.local_chain import Deployed
from tests.queries.attacks.checks import CHECKS, GUARDS, ROWS
from tests.queries.attacks.forgeries import FORGERIES
from tests.queries.attacks.registry_attacks import ATTACKS, ATTACKS_ON, Deploy, got_through
from tests.queries.attacks.switched_checks import SWITCH, Check, body, switched_build

pytestmark = pytest.mark.no_database

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
            assert got_through(switched, FORGERIES[check.falls_to]())


@pytest.mark.parametrize("guard", GUARDS, ids=str)
def test_without_a_guard_nothing_gets_through(
    guard: Check, switched: Deployed, deploy_switched: Deploy
) -> None:
    with without(guard, switched.node):
        if guard.contract in ATTACKS_ON:
            attacks = ATTACKS_ON[guard.contract]
            assert _attacks_that_get_through(deploy_switched, attacks) == []
        else:
            assert _forgeries_that_get_through(switched) == []


def test_nothing_gets_through_while_every_check_is_on(
    switched: Deployed, deploy_switched: Deploy
) -> None:
    assert _forgeries_that_get_through(switched) == []
    assert _attacks_that_get_through(deploy_switched, ATTACKS) == []


def test_nothing_gets_through_the_contracts_as_they_are(shared_node: LocalNode) -> None:
    """Forgeries are tried by test_forged_facts."""

    def deploy(name: str, arguments: bytes = b"") -> Deployed:
        return Deployed(shared_node, name, arguments)

    assert _attacks_that_get_through(deploy, ATTACKS) == []


def _forgeries_that_get_through(registry: Deployed) -> list[str]:
    return [name for name, make in FORGERIES.items() if got_through(registry, make())]


def _attacks_that_get_through(deploy: Deploy, names: Iterable[str]) -> list[str]:
    return [name for name in names if ATTACKS[name](deploy)]


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
