"""Beacon nodes of a stand-in chain that finalizes the blocks of a local chain: real HTTP servers
that can be gone, lag or lie.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from eth_utils.crypto import keccak

from explorer.demo.beacon_server import (
    PREFIX,
    Answer,
    Content,
    LightClientData,
    beacon_server,
    light_client_content,
)
from explorer.demo.beacon_stand_in import BeaconStandIn, StandInBlock
from queries.config import chains
from queries.proving.beacon import BeaconChain, Fork, Update, electra
from queries.proving.beacon_chains import BEACON_CHAINS
from tests.rigs.anvil import Chain

FULU = bytes.fromhex("06000000")
SLOT_SECONDS = 12  # of known chains

# Takes the last part of the path and the true content; returns the content to send.
Fault = Callable[[str, Content], Content]


class GoneError(ConnectionError):
    """The connection is closed without an answer."""


class BeaconRig:
    """A beacon chain with slots of a second, whose committees finalize blocks of `chain`.

    Slot 0 is the time of the chain's first block, or earlier by `age`. Slots are times of the
    chain, so tests choose them by the times of its blocks.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        seed: bytes = b"a beacon chain",
        slots_per_epoch: int = 8,
        age: int = 0,
        forks: Sequence[Fork] = (electra(0, FULU),),
    ) -> None:
        self.chain = chain
        genesis = int(chain.header(0)["timestamp"], 16) - age
        root = keccak(seed)
        self.facts = BeaconChain(genesis, 1, root, tuple(forks), slots_per_epoch)
        self.stand_in = BeaconStandIn(self.facts, seed)
        self.history = LightClientData()
        self.last_update: Update | None = None

    def slot_of(self, block: int | str) -> int:
        return int(self.chain.header(block)["timestamp"], 16) - self.facts.genesis_time

    def make_block(self, block: int | str, block_hash: bytes = b"") -> StandInBlock:
        """The beacon block with this execution block."""
        true_hash = bytes.fromhex(self.chain.header(block)["hash"][2:])
        return self.stand_in.make_block(self.slot_of(block), block_hash or true_hash)

    def checkpoint(self, block: int | str) -> str:
        """The root of the beacon block with this execution block."""
        return f"0x{self.make_block(block).root.hex()}"

    def finalize(self, block: int | str, absent: int = 0, block_hash: bytes = b"") -> int:
        """Finalize a block; return its slot. So many members have not signed."""
        finalized = self.make_block(block, block_hash)
        slot = finalized.header.slot
        update = self.stand_in.update(finalized, slot + 1, absent=range(absent))
        self.history = self.history.with_update(update, self.stand_in)
        self.last_update = update
        return slot

    def routes_chain(self, *nodes: "BeaconNode", checkpoint: str, **others: Any) -> chains.Chain:
        """The chain as the routes file would describe it."""
        return chains.Chain(
            self.chain.id,
            "Local",
            (chains.NodeAddress(self.chain.url),),
            beacon=tuple(chains.NodeAddress(node.url, n) for n, node in enumerate(nodes, 1)),
            beacon_checkpoint=bytes.fromhex(checkpoint[2:]),
            custom_beacon_chain=self.facts,
            **others,
        )

    def settings(self, *nodes: "BeaconNode", checkpoint: str) -> dict[str, Any]:
        """The keys `beacon` and `beacon_checkpoint` of the routes file."""
        return {"beacon": [node.url for node in nodes], "beacon_checkpoint": checkpoint}

    def constructor_arguments(
        self, checkpoint: str, max_age: int, versions: Sequence[str] = ()
    ) -> tuple[list[str], list[Any]]:
        """Types and values of a beacon registry's arguments behind the source's id. It knows the
        forks of these versions, or all.
        """
        facts = self.facts
        fork_type = "(uint64,bytes4,uint32,uint32,uint32,uint32)[]"
        types = ["uint256", "uint256", "bytes32", "bytes32", "uint256", fork_type]
        root = bytes.fromhex(checkpoint[2:])
        values = [
            facts.genesis_time, facts.seconds_per_slot, facts.genesis_validators_root, root,
            max_age,
            [
                astuple(fork)
                for fork in facts.forks
                if not versions or f"0x{fork.version.hex()}" in versions
            ],
        ]  # fmt: skip
        return types, values

    @property
    def table(self) -> dict[str, Any]:
        """The table `beacon_chain` of the routes file."""
        return {
            "genesis_time": self.facts.genesis_time,
            "seconds_per_slot": 1,
            "slots_per_epoch": self.facts.slots_per_epoch,
            "genesis_validators_root": f"0x{self.facts.genesis_validators_root.hex()}",
        }


class KnownChainRig(BeaconRig):
    """The beacon chain of a known chain, with its genesis, forks and slots of today, but with other
    committees.
    """

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        self.facts = BEACON_CHAINS[chain.id]
        self.stand_in = BeaconStandIn(self.facts)

    def slot_of(self, block: int | str) -> int:
        return super().slot_of(block) // SLOT_SECONDS


class BeaconNode:
    """A node of a beacon chain, at a URL of its own. `calls` counts requests by object."""

    def __init__(self, rig: BeaconRig) -> None:
        self._rig = rig
        self._history: LightClientData | None = None
        self._fault: Fault = lambda _, content: content
        self.calls = Counter[str]()
        self.paths: list[str] = []
        self._running = ExitStack()
        self.url = self._running.enter_context(beacon_server(self._answer))

    def close(self) -> None:
        self._running.close()

    # Faults

    def hang_up(self) -> None:
        """Close connections without an answer."""

        def fault(_: str, __: Content) -> Content:
            raise GoneError

        self._fault = fault

    def fall_behind(self) -> None:
        """Serve what there is now, and nothing newer."""
        self._history = self._rig.history

    def impersonate(self, other: BeaconRig) -> None:
        """Serve another chain."""
        self._rig = other

    def falsify(self, fault: Fault) -> None:
        self._fault = fault

    def recover(self) -> None:
        self._history = None
        self._fault = lambda _, content: content

    # Answers

    def _answer(self, path: str) -> Content:
        self.paths.append(path)
        is_object = path.startswith(PREFIX)
        name = re.split("[/?]", path.removeprefix(PREFIX))[0 if is_object else -1]
        self.calls[name] += 1
        history = self._history or self._rig.history
        return self._fault(name, light_client_content(path, history, self._rig.stand_in))


ANSWERS = Path(__file__).parent / "beacon_answers"


def client_answer(client: str, name: str) -> Answer:
    """What a client of the beacon chain answers; the folder's README says where it is from."""
    row = json.loads((ANSWERS / f"{client}.json").read_text())[name]
    return Answer(row["status"], row["body"].encode(), row["content_type"])


def forged_hash(rig: BeaconRig) -> Fault:
    """Name another execution block in finality updates."""

    def fault(name: str, content: Content) -> Content:
        update = rig.last_update
        if name != "finality_update" or update is None or not isinstance(content, bytes):
            return content
        return content.replace(update.finalized.block_hash, keccak(b"another block"))

    return fault


def empty_updates(name: str, content: Content) -> Content:
    """Have no update of any period, as a node that was synchronized from a newer checkpoint."""
    return b"" if name == "updates" else content


def future_signature(rig: BeaconRig) -> Fault:
    """Claim a slot of the signature that has not begun. It is not signed."""

    def fault(name: str, content: Content) -> Content:
        if name != "finality_update" or not isinstance(content, bytes):
            return content
        now = int(time.time()) - rig.facts.genesis_time
        return content[:-8] + (now + 1_000_000).to_bytes(8, "little")

    return fault


def old_update(rig: BeaconRig, block: int) -> Fault:
    """Serve the finality update about this block, which is true, as if it were the newest."""
    finalized = rig.make_block(block)
    update = rig.stand_in.update(finalized, finalized.header.slot + 1)
    content = rig.stand_in.encode_finality_update(update)
    return lambda name, newest: content if name == "finality_update" else newest


def foreign_signature(rig: BeaconRig, block_hash: bytes) -> Fault:
    """Send an update about a block of this hash, signed by members of another committee."""
    other = BeaconStandIn(rig.facts, b"other members")

    def fault(name: str, content: Content) -> Content:
        if name != "finality_update" or rig.last_update is None:
            return content
        slot = rig.last_update.finalized.beacon.slot + 1
        update = other.update(other.make_block(slot, block_hash), slot + 1)
        return other.encode_finality_update(update)

    return fault


def other_fork(rig: BeaconRig, block_hash: bytes) -> Fault:
    """Send an update about a block of this hash, signed under another fork's version."""
    chain = replace(rig.facts, forks=(electra(0, bytes.fromhex("66000000")),))
    other = BeaconStandIn(chain, rig.stand_in.seed)

    def fault(name: str, content: Content) -> Content:
        if name != "finality_update" or rig.last_update is None:
            return content
        slot = rig.last_update.finalized.beacon.slot + 1
        update = other.update(other.make_block(slot, block_hash), slot + 1)
        return other.encode_finality_update(update)

    return fault
