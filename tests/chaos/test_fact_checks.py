"""Whether facts that are wrong, missing or told twice are found."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.chains import CHAIN_A, CHAIN_B, told
from tests.chaos.evidence import HASH_ATTESTED, TIMESTAMP_PROVEN
from tests.chaos.fact_checks import of_events, of_facts
from tests.chaos.look import Look
from tests.chaos.nodes_between import Lie, NodeBetween, Trouble
from tests.chaos.run import Ended
from tests.chaos.tampering import mined, with_code

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]

HOLDS_SEVEN = "0x6001600052600760205260406000f3"  # whatever it is asked for
HOLDS_NOTHING = "0x60406000f3"


def _facts(look: Look) -> set[str]:
    return {each.kind for each in of_facts(look)}


@pytest.mark.parametrize(
    ("code", "kind"), [(HOLDS_SEVEN, "wrong fact"), (HOLDS_NOTHING, "missing fact")]
)
def test_a_registry_that_holds_another_word_or_none_is_found(
    ended: Ended, code: str, kind: str
) -> None:
    url, registry = ended.scene.chains[CHAIN_B], ended.scene.registries[CHAIN_A, CHAIN_B]
    with with_code(url, registry, code):
        assert kind in _facts(ended.look())


def _more(_method: str, _params: list[Any], result: Any) -> Any:
    return hex(int(result, 16) + 1)


def _another_hash(_method: str, _params: list[Any], result: Any) -> Any:
    return result | {"hash": f"0x{7:064x}"}


@pytest.mark.parametrize(
    ("method", "lie"), [("eth_getBalance", _more), ("eth_getBlockByNumber", _another_hash)]
)
def test_a_source_that_has_another_past_is_found(ended: Ended, method: str, lie: Lie) -> None:
    with _another_past(ended, method, lie) as look:
        assert _facts(look) == {"wrong fact"}


@contextmanager
def _another_past(it: Ended, method: str, lie: Lie) -> Iterator[Look]:
    """As one node of A has it."""
    node = NodeBetween(CHAIN_A, it.scene.chains[CHAIN_A])
    lies = Trouble(
        lie=lambda asked, params, true: lie(asked, params, true) if asked == method else true
    )
    try:
        with node.has(lies):
            yield Look(replace(it.scene, chains={**it.scene.chains, CHAIN_A: node.url}), it.asked)
    finally:
        node.disappear()


def test_what_signers_never_said_is_found(ended: Ended) -> None:
    """By a registry that says at a call that another hash of block 5 was attested."""
    url, registry = ended.scene.chains[CHAIN_A], ended.scene.registries[CHAIN_B, CHAIN_A]
    says = f"0x7f{7:064x}5f527f{5:064x}7f{HASH_ATTESTED[2:]}60205fa2"
    with with_code(url, registry, says):
        mined(url, {"from": told(url, "eth_accounts")[3], "to": registry})
    assert "wrong fact" in _facts(ended.look())


def test_a_time_of_another_block_is_found(ended: Ended) -> None:
    """By a registry that says at a call that block 5 was the last one at the second 1."""
    url, registry = ended.scene.chains[CHAIN_A], ended.scene.registries[CHAIN_A, CHAIN_A]
    says = f"0x7f{5:064x}7f{1:064x}7f{TIMESTAMP_PROVEN[2:]}60006000a3"
    with with_code(url, registry, says):
        mined(url, {"from": told(url, "eth_accounts")[3], "to": registry})
    assert {each.kind for each in of_events(ended.look())} == {"wrong fact"}
