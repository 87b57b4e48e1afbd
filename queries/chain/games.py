"""The dispute games of an OP-stack chain, as its contracts on the L1 report them: which one covers
a block and counts, or when one will.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.shared.wording import spoken
from queries.chain.errors import GamesUnreadable
from queries.chain.sender import Destination
from queries.config.registries import Registry
from queries.contracts.abi import call_data
from queries.proving.headers import Header
from queries.wait_reasons import Reason, WaitCode

VALID = "isGameClaimValid"
# What can keep a game from counting, by the AnchorStateRegistry's function that says so.
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
        self._covering: dict[bytes, list[Game]] = {}
        self._valid: dict[bytes, Game | None] = {}

    def valid(self, header: Header) -> Game | None:
        """A valid game at or above the block: of the oldest ones, that with the lowest block."""
        if header.hash not in self._valid:
            self._valid[header.hash] = self._first_valid(header)
        return self._valid[header.hash]

    def waits_for(self, header: Header) -> Reason:
        """Why no game covers the block and counts, and when one is expected to.

        We assume that a game is proposed, and then decided, each within that final delay.
        """
        (delay,) = self._ask(self._anchors, "disputeGameFinalityDelaySeconds()", ["uint256"])
        covering = self._covering.get(header.hash, [])
        first = min(covering, key=lambda game: game.created, default=None)
        expected = first.created + 2 * delay if first else header.timestamp + 3 * delay
        what = "The dispute game that covers the block" if first else "A dispute game for the block"
        for name, state in OUT.items():
            if first and self._those(name, [first]):
                return Reason(WaitCode.NO_VALID_OUTPUT, f"{what} is {state}.")
        if self._destination.head(known_final=0).timestamp > expected:
            sentence = f"{what} should have counted from {spoken(expected)} on."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        sentence = f"{what} is expected to count from {spoken(expected)}."
        return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)

    def _first_valid(self, header: Header) -> Game | None:
        covering = self._covering.setdefault(header.hash, [])
        for games in self._since(header.timestamp):
            some = [game for game in games if game.block >= header.number]
            covering += some
            if valid := self._those(VALID, some):
                return min(valid, key=lambda game: game.block)
        return None

    def _since(self, seconds: int) -> Iterator[list[Game]]:
        """The games of all types that were created from then on, some at a time."""
        (factory,) = self._ask(self._anchors, "disputeGameFactory()", ["address"])
        (count,) = self._ask(factory, "gameCount()", ["uint256"])
        most, at = self._destination.chain.limits.batch_questions, "gameAtIndex(uint256)"
        types = ["uint32", "uint64", "address"]

        def created(index: int) -> int:
            return int(self._ask(factory, at, types, index)[1])

        first = bisect_left(range(count), seconds, key=created)
        for start in range(first, count, most):
            calls = [call_data(at, index) for index in range(start, min(start + most, count))]
            found = [self._read(at, types, answer) for answer in self._many(factory, calls)]
            blocks = self._destination.call_each(
                [(address, call_data("extraData()")) for *_, address in found]
            )
            yield [
                Game(to_checksum_address(address), _block_in(extra), time)
                for (_, time, address), extra in zip(found, blocks, strict=True)
            ]

    def _those(self, name: str, games: Sequence[Game]) -> list[Game]:
        """The games for which this function of the AnchorStateRegistry returns true."""
        calls = [call_data(f"{name}(address)", game.address) for game in games]
        answers = self._many(self._anchors, calls)
        return [
            game
            for game, answer in zip(games, answers, strict=True)
            if isinstance(answer, bytes) and any(answer)
        ]

    def _many(self, to: str, calls: Sequence[bytes]) -> Sequence[object]:
        return self._destination.call_many(to, calls) if calls else []

    def _ask(self, to: str, signature: str, types: list[str], *values: Any) -> tuple[Any, ...]:
        (answer,) = self._many(to, [call_data(signature, *values)])
        return self._read(signature, types, answer)

    def _read(self, signature: str, types: list[str], answer: object) -> tuple[Any, ...]:
        try:
            return decode(types, answer if isinstance(answer, bytes) else b"")
        except DecodingError:
            raise GamesUnreadable(
                f"The contracts of dispute games on {self._destination.chain.name} do not answer "
                f"{signature}."
            ) from None


def _block_in(extra: object) -> int:
    """The first word of an ABI-encoded `bytes`; 0 where the game has none."""
    return int.from_bytes(extra[64:96]) if isinstance(extra, bytes) else 0
