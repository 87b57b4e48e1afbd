"""The light client goes forward only, and only by what a committee has signed."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from explorer.demo.beacon_server import Content, LightClientData
from queries.chain.beacon_node import BeaconNodes
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BeaconAnswersInvalidError,
    BeaconObjectUnknownError,
    BlockUnknownError,
    CheckpointTooOldError,
)
from queries.chain.light_client import LightClientState, advance_light_client, begin_light_client
from queries.proving.beacon import MAX_COMMITTEE_AGE, SLOTS_PER_PERIOD
from tests.rigs.anvil import Chain
from tests.rigs.beacon_node import BeaconNode, BeaconRig
from tests.scenarios.fixtures import NewChain

pytestmark = pytest.mark.no_database

CHECKPOINT = 3  # a block


@dataclass
class Followed:
    rig: BeaconRig
    node: BeaconNode
    nodes: BeaconNodes
    source: ChainClient

    def advance(self, state: LightClientState) -> LightClientState:
        return advance_light_client(state, self.nodes, self.source)


@pytest.fixture
def chain(new_chain: NewChain) -> Chain:
    chain = new_chain()
    chain.mine(20)
    return chain


def follow(rig: BeaconRig) -> Iterator[Followed]:
    with closing(BeaconNode(rig)) as node:
        chain = rig.routes_chain(node, checkpoint=rig.checkpoint(CHECKPOINT))
        yield Followed(rig, node, BeaconNodes(chain), ChainClient(chain))


@pytest.fixture
def followed(chain: Chain) -> Iterator[Followed]:
    yield from follow(BeaconRig(chain))


def test_it_has_the_number_of_the_block_that_was_signed(followed: Followed) -> None:
    rig = followed.rig
    state = begin_light_client(followed.nodes)
    assert (state.period, state.finality.number) == (0, None)
    rig.finalize(8, absent=170)
    state = followed.advance(state)
    assert (state.block_number, state.signers) == (8, 342)
    assert state.finalized_slot == rig.slot_of(8)
    assert state.block_hash.hex() == rig.chain.header(8)["hash"][2:]
    assert followed.advance(state) == state


def test_it_never_goes_back(followed: Followed) -> None:
    rig = followed.rig
    rig.finalize(8)
    state = followed.advance(begin_light_client(followed.nodes))
    rig.finalize(6)
    assert followed.advance(state) == state
    rig.finalize(9, absent=171)
    with pytest.raises(BeaconAnswersInvalidError, match="171 of 512 members have not signed"):
        followed.advance(state)


def test_an_update_of_the_future_is_refused(followed: Followed) -> None:
    rig = followed.rig
    state = begin_light_client(followed.nodes)
    slot = int(time.time()) - rig.facts.genesis_time + 60
    block = rig.stand_in.make_block(slot, bytes(32))
    update = rig.stand_in.update(block, slot + 1)
    rig.history = LightClientData(rig.stand_in.encode_finality_update(update))
    with pytest.raises(BeaconAnswersInvalidError, match="signed in the future"):
        followed.advance(state)


def test_a_block_that_execution_nodes_do_not_have_is_not_final_yet(followed: Followed) -> None:
    state = begin_light_client(followed.nodes)
    followed.rig.finalize(8, block_hash=b"\1" * 32)
    with pytest.raises(BlockUnknownError):
        followed.advance(state)


def test_missed_periods_are_caught_up(followed: Followed) -> None:
    rig = followed.rig
    state = begin_light_client(followed.nodes)
    rig.finalize(8)
    for _ in range(4):
        rig.chain.mine(1, SLOTS_PER_PERIOD)
        rig.finalize("latest")
    state = followed.advance(state)
    assert state.period == 4
    assert state.committee == rig.stand_in.members(4).committee
    assert state.block_number == rig.chain.head
    assert followed.node.calls == {"bootstrap": 1, "finality_update": 1, "updates": 1}


@pytest.mark.parametrize("lie", ["missing", "foreign", "swapped"])
def test_without_each_periods_update_it_stays_where_it_is(followed: Followed, lie: str) -> None:
    rig = followed.rig
    rig.finalize(8)
    state = followed.advance(begin_light_client(followed.nodes))
    for _ in range(2):
        rig.chain.mine(1, SLOTS_PER_PERIOD)
        rig.finalize("latest")
    updates = dict(rig.history.updates)
    if lie == "missing":
        del updates[1]
    else:
        other = BeaconRig(rig.chain, seed=b"other members")
        other.chain.mine(1, 2)
        other.finalize(9 if lie == "foreign" else "latest")
        updates[0 if lie == "foreign" else 2] = next(iter(other.history.updates.values()))
        if lie == "swapped":
            updates[0] = updates[1]
    rig.history = replace(rig.history, updates=updates)
    error = BeaconObjectUnknownError if lie == "missing" else BeaconAnswersInvalidError
    with pytest.raises(error):
        followed.advance(state)


def test_a_claim_of_a_later_period_moves_nothing(followed: Followed) -> None:
    """The true update of this period leads on, but nobody of the next committee has signed."""
    rig, node = followed.rig, followed.node
    rig.finalize(8)
    state = followed.advance(begin_light_client(followed.nodes))
    rig.finalize(9)
    slot = rig.slot_of(9)

    def claim(name: str, content: Content) -> Content:
        if name != "finality_update" or not isinstance(content, bytes):
            return content
        true, false = (value.to_bytes(8, "little") for value in (slot + 2, SLOTS_PER_PERIOD + 1))
        assert true in content
        return content.replace(true, false)

    node.falsify(claim)
    with pytest.raises(BeaconAnswersInvalidError, match="signature is not by those members"):
        followed.advance(state)
    assert node.calls["updates"] == 1
    node.recover()
    assert followed.advance(state).block_number == 9


def test_a_checkpoint_or_state_older_than_two_weeks_is_refused(chain: Chain) -> None:
    rig = BeaconRig(chain, age=MAX_COMMITTEE_AGE)
    for followed in follow(rig):
        old = rig.stand_in.make_block(5, bytes(32)).root
        nodes = BeaconNodes(rig.routes_chain(followed.node, checkpoint=f"0x{old.hex()}"))
        with pytest.raises(CheckpointTooOldError, match="set a newer `beacon_checkpoint`"):
            begin_light_client(nodes)
        rig.finalize(8)
        state = replace(begin_light_client(followed.nodes), finalized_slot=5)
        with pytest.raises(CheckpointTooOldError, match="The last finalized block"):
            followed.advance(state)
