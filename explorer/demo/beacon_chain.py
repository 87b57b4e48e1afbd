"""The beacon chain of one of the demo's chains: generated committees finalize its blocks."""

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from explorer.demo.beacon_server import (
    Content,
    LightClientData,
    beacon_server,
    light_client_content,
)
from explorer.demo.beacon_stand_in import BeaconStandIn
from explorer.demo.local_node import LocalNode
from queries.proving.beacon import SLOTS_PER_PERIOD, BeaconChain, electra

FULU = bytes.fromhex("06000000")
SLOT_SECONDS = 1  # the resolution of a block's time
ATTESTING_SLOTS = 2  # the next slot's block attests the finalized one, and the one after signs that
FIRST_PERIOD = 10  # the age of the beacon chain when its execution chain begins


@dataclass
class LocalBeaconChain:
    """A beacon chain that finalizes the blocks of a local node. A block's slot is its time."""

    chain: BeaconChain
    stand_in: BeaconStandIn
    checkpoint: bytes  # the root of the beacon block with the node's first block
    last_hash: bytes  # of the newest finalized execution block
    last_slot: int  # that was finalized
    url: str = ""  # of its beacon node
    data: LightClientData = field(default_factory=LightClientData)

    @classmethod
    def begin(cls, node: LocalNode) -> "LocalBeaconChain":
        """The chain at the node's first block. Its committees have new keys."""
        block, seed = node.block("0x0"), secrets.token_bytes(32)
        slot = FIRST_PERIOD * SLOTS_PER_PERIOD
        genesis_time = _timestamp(block) - slot * SLOT_SECONDS
        chain = BeaconChain(
            genesis_time, SLOT_SECONDS, secrets.token_bytes(32), (electra(0, FULU),)
        )
        stand_in, block_hash = BeaconStandIn(chain, seed), _hash(block)
        checkpoint = stand_in.make_block(slot, block_hash).root
        return cls(chain, stand_in, checkpoint, block_hash, last_slot=slot - 1)

    def finalize_newest(self, node: LocalNode) -> bool:
        """Finalize the newest block that is old enough. Returns False if it is final already."""
        block = node.block("latest")
        while (number := int(block["number"], 16)) and (slot := self._slot(block)) > self.last_slot:
            # Once its slot and those two are over, no other block can have its time.
            if time.time() >= self.chain.start_of(slot + ATTESTING_SLOTS + 1):
                self._finalize_missed_periods(slot // SLOTS_PER_PERIOD)
                self._finalize(slot, _hash(block))
                return True
            block = node.block(hex(number - 1))
        return False

    def content(self, path: str) -> Content:
        """What its beacon node serves at this path."""
        return light_client_content(path, self.data, self.stand_in)

    def _finalize_missed_periods(self, last: int) -> None:
        """Make an update for each period before the last one in which no block was made, because
        the computer slept: light clients go from committee to committee.
        """
        for period in range(max(self.data.updates, default=FIRST_PERIOD - 1) + 1, last):
            self._finalize(period * SLOTS_PER_PERIOD, self.last_hash)

    def _finalize(self, slot: int, block_hash: bytes) -> None:
        finalized = self.stand_in.make_block(slot, block_hash)
        update = self.stand_in.update(finalized, slot + ATTESTING_SLOTS - 1)
        self.data = self.data.with_update(update, self.stand_in)
        self.last_hash, self.last_slot = block_hash, slot

    def _slot(self, block: Mapping[str, str]) -> int:
        return (_timestamp(block) - self.chain.genesis_time) // SLOT_SECONDS


@contextmanager
def run_beacon_chain(node: LocalNode) -> Iterator[LocalBeaconChain]:
    """Run the beacon node of a local node's beacon chain."""
    beacon = LocalBeaconChain.begin(node)
    with beacon_server(beacon.content) as beacon.url:
        yield beacon


def _timestamp(block: Mapping[str, str]) -> int:
    return int(block["timestamp"], 16)


def _hash(block: Mapping[str, str]) -> bytes:
    return bytes.fromhex(block["hash"][2:])
