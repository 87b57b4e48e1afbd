"""An OP-stack chain on its L1, by the dispute games that the chain's portal calls valid.

A game claims an output (the hash of a block and its state), or since Upgrade 20 a super root: the
outputs of several chains at a time. Which types of games count is decided by the chain's contracts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from eth_utils.address import to_checksum_address

from accounts.wording import HOUR, format_timestamp
from queries.chain import BlockUnknownError, ChainClient
from queries.config.networks import Network
from queries.config.routes_file import ContractAddress
from queries.contracts.abi import call_data
from queries.proving import (
    HASH_BYTES,
    Header,
    HeaderField,
    keccak256,
    output_in_super_root,
    output_root,
    super_root_time,
)
from queries.sources.hashes import VouchedBlock
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    SOURCE_ARGUMENT,
    Argument,
    RegistryKind,
    SetupError,
)
from queries.sources.rollups import RollupHashes, RollupReader, RollupRegistry, check_named_chain
from queries.wait_reasons import Reason, WaitCode

VALID, BLACKLISTED, RETIRED = "isGameClaimValid", "isGameBlacklisted", "isGameRetired"
MESSAGE_PASSER = bytes.fromhex("4200000000000000000000000000000000000016")  # of an OP-stack chain
RECENT_GAMES = 20  # whose durations tell how long the next one takes
# Where a super root begins in a game's `extraData`: in games of proofs behind the parent's index.
SUPER_ROOT_OFFSETS = (0, 4)
MAX_KNOWN_GAMES = 20_000
_known_games: dict[tuple[int, str, int], "Game"] = {}  # by chain, factory and index
_GAME_AT_INDEX = "gameAtIndex(uint256)", ["uint32", "uint64", "address"]


@dataclass(frozen=True, slots=True)
class Game:
    """A claim about the L2's state after a block."""

    address: str
    type: int
    created_at: int  # Unix seconds
    root_claim: bytes
    extra: bytes

    @property
    def super_root(self) -> bytes:
        """The super root that it claims; empty if it claims an output."""
        candidates = (self.extra[offset:] for offset in SUPER_ROOT_OFFSETS)
        return next((root for root in candidates if keccak256(root) == self.root_claim), b"")

    @property
    def block(self) -> int:
        """The block of the claimed output."""
        return int.from_bytes(self.extra[:HASH_BYTES])

    def covers(self, header: Header) -> bool:
        if self.super_root:
            return super_root_time(self.super_root) >= header.timestamp
        return self.block >= header.number


@dataclass(frozen=True, kw_only=True)
class OutputRegistry(RollupRegistry):
    kind = RegistryKind.OUTPUT
    arguments = (HORIZON_ARGUMENT, SOURCE_ARGUMENT, Argument("portal", "address", "portal()"))
    details = "registries/output.html"
    block_work = ("recordOutput", "hop")
    claim = "A dispute game"
    trusted = "its dispute games, its guardian, and who may upgrade them"
    trust = "trusts its dispute games"

    # The source's OptimismPortal, whose AnchorStateRegistry knows which games are valid.
    portal: ContractAddress

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        return source.l1 == destination.chain and bool(source.portal)

    @classmethod
    def for_networks(cls, source: Network, destination: Network, **options: Any) -> Self:
        return cls(source.chain, destination.chain, portal=source.portal)

    def own_lines(self, *, with_defaults: bool) -> Iterator[str]:
        yield f'portal = "{self.portal}"'

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        newest = self.newest_claim(destination)
        return f"asks the portal {self.portal} which games are valid; {newest}"

    def newest_claim(self, destination: ChainClient) -> str:
        problem = f"{self.portal} on {{chain}} is not the portal of a chain"
        reader = RollupReader(destination, problem)
        config = reader.address(self.portal, "systemConfig()")
        check_named_chain(self, reader.number(config, "l2ChainId()"), "portal", self.portal)
        anchors = reader.address(self.portal, "anchorStateRegistry()")
        game = reader.address(anchors, "anchorGame()")
        if not int(game, 16):
            return "no game has been valid yet"
        (paused,) = destination.call_contract(anchors, [call_data("paused()")])
        if isinstance(paused, bytes) and any(paused):
            raise SetupError(f"{anchors} is paused by its guardian. Blocks wait until it goes on.")
        if not reader.number(anchors, f"{VALID}(address)", game):
            reasons = [
                f": it is {state}"
                for name, state in ((BLACKLISTED, "blacklisted"), (RETIRED, "retired"))
                if reader.number(anchors, f"{name}(address)", game)
            ]
            subject = f"The last game of {anchors}, {game}, is no longer valid"
            raise SetupError(f"{subject}{''.join(reasons)}. Blocks wait for a newer one.")
        return f"the newest valid game is {game}"

    def trust_sentence(self, source: str, destination: str) -> str:
        return (
            f"What withdrawals from {source} rest on: its dispute games, its guardian, and those "
            "who may upgrade its contracts."
        )

    def reach_sentence(self, source: str) -> str:
        return (
            "The contract knows blocks that a dispute game covers, once it is won and its delay "
            f"has passed: {self.claims_after} later."
        )

    @property
    def assumption(self) -> str:
        return f"that it asks the portal {self.portal} about valid games"

    def hash_origin(self, age: int) -> tuple[str, str]:
        sentence = "It is part of the claim of a dispute game that the rollup accepts as valid."
        return "known by a dispute game", sentence

    def publish_hint(self, reason: Reason, block: int, source_hint: str) -> str:
        if not source_hint:
            return reason.sentence
        known = f"The registry does not know block {block:,} of chain {self.source}"
        return f"{known}. A dispute game may cover it: {source_hint}"


@dataclass(eq=False)
class OutputHashes(RollupHashes[OutputRegistry]):
    """The games that cover a block."""

    _covering_games: list[Game] = field(default_factory=list, init=False)
    # Valid ones that do not claim the block's true output in a form that is known.
    _unreadable_games: list[Game] = field(default_factory=list, init=False)

    @cached_property
    def _anchors(self) -> str:
        """The AnchorStateRegistry that the portal asks now."""
        (address,) = self.ask(self.registry.portal, "anchorStateRegistry()", ["address"])
        return to_checksum_address(address)

    @cached_property
    def _factory(self) -> str:
        (address,) = self.ask(self._anchors, "disputeGameFactory()", ["address"])
        return to_checksum_address(address)

    @cached_property
    def _count(self) -> int:
        return int(self.ask(self._factory, "gameCount()", ["uint256"])[0])

    def find_vouched_block(self) -> VouchedBlock | None:
        """The first valid game that covers the block."""
        retired_until = self._optional_number("retirementTimestamp()")
        for page in self._pages_from(max(self.header.timestamp, retired_until + 1)):
            candidates = [game for game in page if game.covers(self.header)]
            self._covering_games += candidates
            for game in self._filter(VALID, candidates):
                if block := self._vouched_block(game):
                    return block
                self._unreadable_games.append(game)
        return None

    @cached_property
    def _needs_super_root(self) -> bool:
        """Whether the portal says that its games claim super roots; older ones say nothing."""
        (answer,) = self.call(self.registry.portal, [call_data("superRootsActive()")])
        return isinstance(answer, bytes) and len(answer) == HASH_BYTES and any(answer)

    def _vouched_block(self, game: Game) -> VouchedBlock | None:
        """None if it does not claim a true output in a form that the registry takes."""
        if not game.super_root and self._needs_super_root:
            return None
        if not game.super_root and game.block > self.source_head:
            return None
        try:
            header = self._claimed_header(game)
        except BlockUnknownError:
            return None
        if self.is_known(header):
            return VouchedBlock(header)
        root = game.super_root
        claimed = output_in_super_root(root, self.registry.source) if root else game.root_claim
        for passer_root in self._message_passer_roots(header):
            words = header.state_root, passer_root, header.hash
            if output_root(*words) == claimed:
                signature = "recordOutput(address,bytes,bytes32,bytes32,bytes32)"
                return VouchedBlock(header, call_data(signature, game.address, root, *words))
        return None

    def _message_passer_roots(self, header: Header) -> Iterator[bytes]:
        """The storage root of the message passer: since Isthmus the header has it."""
        if header.has_field(HeaderField.WITHDRAWALS_ROOT):
            yield header.word(HeaderField.WITHDRAWALS_ROOT)
        (proof,) = self.source.account_proofs(header, [(MESSAGE_PASSER, [])])
        yield proof.state.storage_root

    def _claimed_header(self, game: Game) -> Header:
        """The header of the block whose output is claimed: in a super root that of the last block
        at its time.
        """
        if not game.super_root:
            return self.source_header(game.block)
        blocks = range(self.header.number + 1, self.source_head + 1)
        count = bisect_right(
            blocks,
            super_root_time(game.super_root),
            key=lambda number: self.source_header(number).timestamp,
        )
        return self.source_header(self.header.number + count)

    def wait_reason(self) -> Reason:
        """It is expected to be valid as long after its begin as recent games took at most, and to
        begin as long after the newest one as that after the one before. It may take as long again.
        """
        if self._optional_number("paused()"):
            sentence = "The rollup's contracts are paused, so no dispute game is valid now."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        games = [game for game in self._covering_games if game not in self._unreadable_games]
        if not games and self._unreadable_games:
            game = self._unreadable_games[0]
            return Reason(
                WaitCode.NO_VALID_OUTPUT,
                f"The dispute game that covers the block ({game.address}, type {game.type}) does "
                "not claim the block's output in a form that this version knows.",
            )
        first = next((game for game in games if not self._filter(BLACKLISTED, [game])), None)
        subject = f"{'The' if first or games else 'A'} dispute game that covers the block"
        if games and not first:
            return Reason(WaitCode.NO_VALID_OUTPUT, f"{subject} is blacklisted.")
        duration = self._max_recent_duration()
        if duration is None:
            sentence = f"{subject} has to be decided first. How long that takes is not known yet."
            return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)
        due_at = (first.created_at if first else self._next_creation()) + duration
        now = self.destination.latest_head().timestamp
        due_at += duration if now > due_at else 0
        if now > due_at:
            sentence = f"{subject} should have been valid since {format_timestamp(due_at)}."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        sentence = f"{subject} is expected to be valid from {format_timestamp(due_at)}."
        return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)

    def _max_recent_duration(self) -> int | None:
        """The longest time from the creation of a game until it was valid, of the last valid one
        and those before it; None if no game has been valid.
        """
        (anchor,) = self.ask(self._anchors, "anchorGame()", ["address"])
        if not int(anchor, 16):
            return None
        (created_at,) = self.ask(anchor, "createdAt()", ["uint64"])
        last = min(self._first_index(created_at), self._count - 1)
        games = self._read_games(range(max(last - RECENT_GAMES + 1, 0), last + 1))
        (delay,) = self.ask(self._anchors, "disputeGameFinalityDelaySeconds()", ["uint256"])
        durations = [
            self.ask(game.address, "resolvedAt()", ["uint64"])[0] - game.created_at
            for game in self._filter(VALID, games)
        ]
        return max(durations) + delay if durations else None

    def _next_creation(self) -> int:
        """When to expect the next game, by the distance of the last two."""
        newest = self._read_games(range(max(self._count - 2, 0), self._count))
        times = [self.header.timestamp, *(game.created_at for game in newest)]
        return max(times) + (newest[-1].created_at - newest[0].created_at if newest else 0)

    def _first_index(self, seconds: int) -> int:
        """The index of the first game that was created at this time or later."""
        signature, types = _GAME_AT_INDEX

        def creation_time(index: int) -> int:
            return int(self.ask(self._factory, signature, types, index)[1])

        return bisect_left(range(self._count), seconds, key=creation_time)

    def _pages_from(self, seconds: int) -> Iterator[list[Game]]:
        """Pages of the games, of all types, that were created at this time or later."""
        page_size = self.destination.chain.limits.max_batch_calls
        for start in range(self._first_index(seconds), self._count, page_size):
            yield self._read_games(range(start, min(start + page_size, self._count)))

    def _read_games(self, indices: Sequence[int]) -> list[Game]:
        """Games never change, so those that a reorg of the L1 cannot undo are read once."""
        keys = [(self.destination.chain.id, self._factory, index) for index in indices]
        games = {key: game for key in keys if (game := _known_games.get(key))}
        unread = [key for key in keys if key not in games]
        if not unread:
            return list(games.values())
        games |= zip(unread, self._fetch_games([index for *_, index in unread]), strict=True)
        if len(_known_games) > MAX_KNOWN_GAMES:
            _known_games.clear()
        settled = self.destination.latest_head().timestamp - HOUR
        _known_games.update({key: games[key] for key in unread if games[key].created_at < settled})
        return [games[key] for key in keys]

    def _fetch_games(self, indices: Sequence[int]) -> list[Game]:
        signature, types = _GAME_AT_INDEX
        answers = self.call(self._factory, [call_data(signature, index) for index in indices])
        rows = [self.decode_answer(signature, types, answer) for answer in answers]
        views = ("rootClaim()", "bytes32"), ("extraData()", "bytes")
        claims, extras = (
            [
                self.decode_answer(view, [kind], answer)[0]
                for answer in self.destination.call_contracts(
                    [(address, call_data(view)) for *_, address in rows]
                )
            ]
            for view, kind in views
        )
        return [
            Game(to_checksum_address(address), kind, time, claim, extra)
            for (kind, time, address), claim, extra in zip(rows, claims, extras, strict=True)
        ]

    def _optional_number(self, signature: str) -> int:
        """What the AnchorStateRegistry answers; 0 if it has no such function."""
        (answer,) = self.call(self._anchors, [call_data(signature)])
        return int.from_bytes(answer[:HASH_BYTES]) if isinstance(answer, bytes) else 0

    def _filter(self, name: str, games: Sequence[Game]) -> list[Game]:
        """The games for which this function of the AnchorStateRegistry returns true."""
        calls = [call_data(f"{name}(address)", game.address) for game in games]
        answers = self.call(self._anchors, calls)
        return [
            game
            for game, answer in zip(games, answers, strict=True)
            if isinstance(answer, bytes) and any(answer)
        ]
