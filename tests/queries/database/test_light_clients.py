"""Stored light clients: a slower prover changes nothing, and another checkpoint begins anew."""

from dataclasses import replace

import pytest

from explorer.demo.beacon_stand_in import members
from queries.chain.answers import CheckedFinality
from queries.chain.light_client import LightClientState
from queries.config.chains import Chain, NodeAddress
from queries.database.light_clients import (
    checked_finality,
    light_client_row,
    store_fault,
    store_state,
    stored_state,
)

pytestmark = pytest.mark.django_db

NODE = (NodeAddress("https://node.example/"),)
CHAIN = Chain(1, "Ethereum", NODE, beacon=NODE, beacon_checkpoint=bytes(31) + b"\1")
STATE = LightClientState(
    CHAIN.beacon_checkpoint, 2, members(b"seed", 2).committee, 20_000, b"\3" * 32, 4_000, 500
)


def test_a_state_is_stored_whole() -> None:
    assert stored_state(light_client_row(CHAIN), CHAIN) is None
    assert checked_finality(CHAIN) == CheckedFinality()
    store_state(light_client_row(CHAIN), STATE)
    assert stored_state(light_client_row(CHAIN), CHAIN) == STATE
    assert checked_finality(CHAIN) == CheckedFinality(4_000, 20_000)


def test_a_fault_stays_until_nodes_answer_again() -> None:
    store_fault(light_client_row(CHAIN), "No node answers.")
    assert checked_finality(CHAIN) == CheckedFinality(fault="No node answers.")
    store_state(light_client_row(CHAIN), STATE)
    store_fault(light_client_row(CHAIN), "No node answers.")
    assert checked_finality(CHAIN) == CheckedFinality(4_000, 20_000, "No node answers.")
    store_state(light_client_row(CHAIN), STATE)
    assert checked_finality(CHAIN) == STATE.finality


def test_a_prover_that_was_overtaken_stores_nothing() -> None:
    row = light_client_row(CHAIN)
    store_state(row, STATE)
    overtaken = light_client_row(CHAIN)
    newest = replace(STATE, finalized_slot=20_064, block_hash=b"\5" * 32, block_number=4_064)
    store_state(light_client_row(CHAIN), newest)
    older = replace(STATE, finalized_slot=20_032, block_hash=b"\4" * 32, block_number=4_032)
    for earlier_row in (row, overtaken):
        store_state(earlier_row, older)
        assert stored_state(light_client_row(CHAIN), CHAIN) == newest


def test_another_checkpoint_begins_anew() -> None:
    store_state(light_client_row(CHAIN), STATE)
    other = replace(CHAIN, beacon_checkpoint=bytes(32))
    assert stored_state(light_client_row(other), other) is None
    assert checked_finality(other) == CheckedFinality()
    state = replace(
        STATE, checkpoint=bytes(32), finalized_slot=10, block_hash=b"", block_number=None
    )
    store_state(light_client_row(other), state)
    assert stored_state(light_client_row(other), other) == state
