"""The dispute games of an OP-stack chain, as its contracts on the L1 report them: which one covers
a block and counts, or when one will.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import spoken
from queries.chain.errors import GamesUnreadable
from queries.chain.sender import Destination
from queries.chain.solidity import call_data
from queries.registries import Registry
from queries.wait_reasons import Reason, WaitCode

FOUND = ["(uint256,bytes32,uint64,bytes32,bytes)[]"]
# What can keep a game from counting, by the AnchorStateRegistry's function that says so.
VALID = "isGameClaimValid"
OUT = {"isGameBlacklisted": "blacklisted", "isGameRetired": "retired"}


@dataclass(frozen=True, slots=True)
class Game:
    """A claim about the L2's state after a block."""

    address: str
    block: int
    created: int  # seconds


class Games:
    """Those that one output registry asks about. For one pass: what is found is kept."""

    def __init__(self, registry: Registry, destination: Destination) -> None:
        self._anchors, self._destination = registry.anchor_state_registry, destination
        self._valid: dict[int, Game | None] = {}

    def valid(self, block: int) -> Game | None:
        """A game at or above the block whose claim counts: the anchor, or else a newer one."""
        if block not in self._valid:
            self._valid[block] = self._anchor(block) or self._newer(block)
        return self._valid[block]

    def waits_for(self, block: int) -> Reason:
        """Why no game covers the block and counts, and when one is expected to."""
        pending = [game for page in self._covering(block) for game in page]
        if not pending:
            return Reason(
                WaitCode.OUTPUT_NOT_RECORDED, "No dispute game was proposed for the block yet."
            )
        first = min(pending, key=lambda game: game.created)
        for name, state in OUT.items():
            if self._those(name, [first]):
                return self._overdue(f"is {state}")
        (delay,) = self._ask(self._anchors, "disputeGameFinalityDelaySeconds()", ["uint256"])
        (clock,) = self._ask(first.address, "maxClockDuration()", ["uint64"])
        expected = first.created + clock + delay
        if self._destination.head(known_final=0).timestamp > expected:
            return self._overdue(f"should have counted from {spoken(expected)} on")
        return Reason(
            WaitCode.OUTPUT_NOT_RECORDED,
            f"The dispute game that covers the block is expected to count from {spoken(expected)}.",
        )

    def _overdue(self, what: str) -> Reason:
        return Reason(
            WaitCode.NO_VALID_OUTPUT, f"The first dispute game that covers the block {what}."
        )

    def _anchor(self, block: int) -> Game | None:
        (address,) = self._ask(self._anchors, "anchorGame()", ["address"])
        if int(address, 16) == 0:
            return None
        (extra,) = self._ask(address, "extraData()", ["bytes"])
        game = Game(to_checksum_address(address), _block_in(extra), created=0)
        return game if game.block >= block and self._those(VALID, [game]) else None

    def _newer(self, block: int) -> Game | None:
        """The lowest of those that were proposed last."""
        for page in self._covering(block):
            if valid := self._those(VALID, page):
                return min(valid, key=lambda game: game.block)
        return None

    def _covering(self, block: int) -> Iterator[list[Game]]:
        """The games at or above the block, some at a time, the latest first."""
        (factory,) = self._ask(self._anchors, "disputeGameFactory()", ["address"])
        (kind,) = self._ask(self._anchors, "respectedGameType()", ["uint32"])
        (count,) = self._ask(factory, "gameCount()", ["uint256"])
        most = self._destination.chain.limits.batch_questions
        call = "findLatestGames(uint32,uint256,uint256)"
        while count:
            (found,) = self._ask(factory, call, FOUND, kind, count - 1, most)
            games = [
                Game(to_checksum_address(metadata[12:]), _block_in(extra), created)
                for _, metadata, created, _, extra in found
            ]
            covering = [game for game in games if game.block >= block]
            yield covering
            is_last = len(covering) < len(games) or len(games) < most
            count = 0 if is_last else found[-1][0]

    def _those(self, name: str, games: Sequence[Game]) -> list[Game]:
        """Those of which the AnchorStateRegistry's function says so."""
        calls = [call_data(f"{name}(address)", game.address) for game in games]
        answers = self._destination.call_many(self._anchors, calls)
        return [
            game
            for game, answer in zip(games, answers, strict=True)
            if isinstance(answer, bytes) and any(answer)
        ]

    def _ask(self, to: str, signature: str, types: list[str], *values: Any) -> tuple[Any, ...]:
        (answer,) = self._destination.call_many(to, [call_data(signature, *values)])
        try:
            return decode(types, answer if isinstance(answer, bytes) else b"")
        except DecodingError:
            raise GamesUnreadable(
                f"{to} on {self._destination.chain.name} does not answer {signature}, as the "
                "contracts of dispute games do."
            ) from None


def _block_in(extra: bytes) -> int:
    return int.from_bytes(extra[:32])
