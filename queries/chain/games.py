"""Find the valid dispute game of an OP-stack chain that covers a block, or when to expect one."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import format_timestamp
from queries.chain.client import ChainClient
from queries.chain.errors import GamesUnreadableError
from queries.config.registries import Registry
from queries.contracts.abi import call_data
from queries.proving.headers import Header
from queries.wait_reasons import Reason, WaitCode

VALID = "isGameClaimValid"
# The states of an invalid game, by the function of AnchorStateRegistry that reports them.
INVALID_STATES = {"isGameBlacklisted": "blacklisted", "isGameRetired": "retired"}


@dataclass(frozen=True, slots=True)
class Game:
    """A claim about the L2's state after a block."""

    address: str
    block: int
    created_at: int  # Unix seconds


class Games:
    """The games that cover a block, for an output registry. For one pass: it caches answers."""

    def __init__(self, registry: Registry, destination: ChainClient, header: Header) -> None:
        self._anchors, self._destination = registry.anchor_state_registry, destination
        self._header, self._covering_games = header, list[Game]()

    @cached_property
    def valid_game(self) -> Game | None:
        """A valid game at or above the block: the lowest one in the oldest page that has any."""
        for page in self._pages_from(self._header.timestamp):
            candidates = [game for game in page if game.block >= self._header.number]
            self._covering_games += candidates
            if games := self._filter(VALID, candidates):
                return min(games, key=lambda game: game.block)
        return None

    def wait_reason(self) -> Reason:
        """The reason why no valid game covers the block, with the time when one is expected.

        This assumes that proposing a game and deciding it take at most the finality delay each.
        """
        (delay,) = self._ask(self._anchors, "disputeGameFinalityDelaySeconds()", ["uint256"])
        first = min(self._covering_games, key=lambda game: game.created_at, default=None)
        due_at = first.created_at + 2 * delay if first else self._header.timestamp + 3 * delay
        subject = f"{'The' if first else 'A'} dispute game that covers the block"
        for name, state in INVALID_STATES.items():
            if first and self._filter(name, [first]):
                return Reason(WaitCode.NO_VALID_OUTPUT, f"{subject} is {state}.")
        if self._destination.latest_head().timestamp > due_at:
            sentence = f"{subject} should have been valid since {format_timestamp(due_at)}."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        sentence = f"{subject} is expected to be valid from {format_timestamp(due_at)}."
        return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)

    def _pages_from(self, seconds: int) -> Iterator[list[Game]]:
        """Pages of the games, of all types, that were created at this time or later."""
        (factory,) = self._ask(self._anchors, "disputeGameFactory()", ["address"])
        (count,) = self._ask(factory, "gameCount()", ["uint256"])
        page_size = self._destination.chain.limits.max_batch_calls
        signature, types = "gameAtIndex(uint256)", ["uint32", "uint64", "address"]

        def creation_time(index: int) -> int:
            return int(self._ask(factory, signature, types, index)[1])

        first = bisect_left(range(count), seconds, key=creation_time)
        for start in range(first, count, page_size):
            indices = range(start, min(start + page_size, count))
            answers = self._call(factory, [call_data(signature, index) for index in indices])
            rows = [self._decode_answer(signature, types, answer) for answer in answers]
            blocks = self._destination.call_contracts(
                [(address, call_data("extraData()")) for *_, address in rows]
            )
            yield [
                Game(to_checksum_address(address), _block_number(extra), time)
                for (_, time, address), extra in zip(rows, blocks, strict=True)
            ]

    def _filter(self, name: str, games: Sequence[Game]) -> list[Game]:
        """The games for which this function of the AnchorStateRegistry returns true."""
        calls = [call_data(f"{name}(address)", game.address) for game in games]
        answers = self._call(self._anchors, calls)
        return [
            game
            for game, answer in zip(games, answers, strict=True)
            if isinstance(answer, bytes) and any(answer)
        ]

    def _call(self, contract: str, calls: Sequence[bytes]) -> Sequence[object]:
        return self._destination.call_contract(contract, calls) if calls else []

    def _ask(
        self, contract: str, signature: str, types: list[str], *values: Any
    ) -> tuple[Any, ...]:
        (answer,) = self._call(contract, [call_data(signature, *values)])
        return self._decode_answer(signature, types, answer)

    def _decode_answer(self, signature: str, types: list[str], answer: object) -> tuple[Any, ...]:
        try:
            return decode(types, answer if isinstance(answer, bytes) else b"")
        except DecodingError:
            chain = self._destination.chain.name
            sentence = f"The contracts of dispute games on {chain} do not answer {signature}."
            raise GamesUnreadableError(sentence) from None


def _block_number(extra: object) -> int:
    """The first word of an ABI-encoded `bytes`; 0 if the game has none."""
    return int.from_bytes(extra[64:96]) if isinstance(extra, bytes) else 0
