"""An OP-stack chain on its L1, by the dispute games that the chain's portal calls valid.

A game claims an output (the hash of a block and its state), or since Upgrade 20 a super root: the
outputs of several chains at a time. Which types of games count is decided by the chain's contracts.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from accounts.wording import format_timestamp
from queries.chain import BlockUnknownError, ChainClient
from queries.config.networks import Network
from queries.config.routes_file import ContractAddress
from queries.contracts.abi import call_data
from queries.proving import Header, HeaderField, output_in_super_root, output_root, super_root_time
from queries.sources.games import BLACKLISTED, VALID, DisputeGames, Game
from queries.sources.hashes import VouchedBlock, Voucher
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    SOURCE_ARGUMENT,
    Argument,
    RegistryKind,
    SetupError,
)
from queries.sources.rollups import RollupHashes, RollupReader, RollupRegistry, check_named_chain
from queries.wait_reasons import Reason, WaitCode

MESSAGE_PASSER = bytes.fromhex("4200000000000000000000000000000000000016")  # of an OP-stack chain
NEVER = 2**64 - 1  # when a game of Base ends that has no proof
# Why a game never counts for a block that it covers. The first two raise an alert.
IS_BLACKLISTED = "is blacklisted"
IS_UNREADABLE = "does not claim the block's output in a form that this version knows"
IS_LOST = "was lost by its proposer"
IS_NOT_RESPECTED = "is of a type that did not count when it began"
NEEDS_SUPER_ROOT = "claims an output alone, and the rollup's games claim super roots now"
OBSTACLES = (IS_BLACKLISTED, IS_UNREADABLE, IS_LOST, IS_NOT_RESPECTED, NEEDS_SUPER_ROOT)


@dataclass(frozen=True, kw_only=True)
class OutputRegistry(RollupRegistry):
    kind = RegistryKind.OUTPUT
    arguments = (HORIZON_ARGUMENT, SOURCE_ARGUMENT, Argument("portal", "address", "portal()"))
    details = "registries/output.html"
    block_work = ("recordOutput", "output-contracts", "hop")
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
        reader.number(anchors, "disputeGameFinalityDelaySeconds()")
        games = DisputeGames(destination, self.portal)
        if games.newest_valid:
            return f"the newest valid game is {games.newest_valid[0].address}"
        if games.is_paused:
            raise SetupError(f"{anchors} is paused by its guardian. Blocks wait until it goes on.")
        if not games.newest:
            return "no game has begun yet"
        newest = games.newest[-1]
        state = ""
        if newest.created_at <= games.retired_until:
            state = "retired"
        elif games.filter(BLACKLISTED, [newest]):
            state = "blacklisted"
        if state:
            subject = f"The last game of {anchors}, {newest.address}, does not count"
            raise SetupError(f"{subject}: it is {state}. Blocks wait for a newer one.")
        return "no game is valid yet"

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
    def _games(self) -> DisputeGames:
        return DisputeGames(self.destination, self.registry.portal)

    def find_vouched_block(self) -> VouchedBlock | None:
        """The first valid game that covers the block."""
        for page in self._games.pages_from(self.header.timestamp):
            candidates = [game for game in page if game.covers(self.header)]
            self._covering_games += candidates
            for game in self._games.filter(VALID, candidates):
                if block := self._vouched_block(game):
                    return block
                self._unreadable_games.append(game)
        return None

    def _vouched_block(self, game: Game) -> VouchedBlock | None:
        """None if it does not claim a true output in a form that the registry takes."""
        if not game.super_root and self._games.need_super_roots:
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
                call = call_data(signature, game.address, root, *words)
                return VouchedBlock(header, call, voucher=Voucher(game=game.address))
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
        if self._games.is_paused:
            sentence = "The rollup's contracts are paused, so no dispute game is valid now."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        first, obstacles = None, list[tuple[Game, str]]()
        for game in self._covering_games:
            if not (obstacle := self._obstacle(game)):
                first = game
                break
            obstacles.append((game, obstacle))
        sentences = []
        if self._games.retired_until >= self.header.timestamp:
            time = format_timestamp(self._games.retired_until)
            sentences.append(
                f"Dispute games from before {time} no longer count: the rollup's guardian or an "
                "upgrade retired them."
            )
        if obstacles and not first:
            game, obstacle = min(obstacles, key=lambda found: OBSTACLES.index(found[1]))
            name = f"({game.address}, type {game.type})"
            sentences.append(f"The dispute game that covers the block {name} {obstacle}.")
            if obstacle in {IS_BLACKLISTED, IS_UNREADABLE}:
                return Reason(WaitCode.NO_VALID_OUTPUT, " ".join(sentences))
        expectation = self._expectation(first)
        return Reason(expectation.code, " ".join([*sentences, expectation.sentence]))

    def _expectation(self, game: Game | None) -> Reason:
        """When this game, or the next one, is expected to be valid."""
        subject = f"{'The' if game else 'A'} dispute game that covers the block"
        due_at, overdue_at = self._due_times(game)
        now = self.destination.latest_head().timestamp
        if now > overdue_at:
            sentence = f"{subject} should have been valid since {format_timestamp(overdue_at)}."
            return Reason(WaitCode.NO_VALID_OUTPUT, sentence)
        time = format_timestamp(due_at if now <= due_at else overdue_at)
        sentence = f"{subject} is expected to be valid from {time}."
        return Reason(WaitCode.OUTPUT_NOT_RECORDED, sentence)

    def _obstacle(self, game: Game) -> str:
        """Why the game never counts for the block; empty if it may still count."""
        if not game.super_root and self._games.need_super_roots:
            return NEEDS_SUPER_ROOT
        if game in self._unreadable_games:
            return IS_UNREADABLE
        if self._games.filter(BLACKLISTED, [game]):
            return IS_BLACKLISTED
        if self._games.is_lost(game):
            return IS_LOST
        return "" if self._games.is_respected(game) else IS_NOT_RESPECTED

    def _due_times(self, game: Game | None) -> tuple[int, int]:
        """When this game, or the next one, is expected to be valid, and when it is overdue. Before
        the first valid game, as after the network's usual time.
        """
        games = self._games
        usual = games.usual_duration
        if usual is None:
            usual = self.registry.claim_delay
        longest, begins_at = usual, game.created_at if game else self._next_creation()
        due_at = begins_at + usual
        if sample := game or next(reversed(games.newest), None):
            # A game of Base ends sooner the more proofs it has, but not before its parent.
            slow = games.optional_number(sample.address, "SLOW_FINALIZATION_DELAY()")
            longest = max(usual, slow + games.delay if slow else 0)
        if game:
            ends_at = games.optional_number(game.address, "expectedResolution()")
            due_at = ends_at + games.delay if ends_at and ends_at != NEVER else due_at
        return due_at, max(due_at, begins_at + longest + usual)

    def _next_creation(self) -> int:
        """When to expect the next game, by the distance of the last two."""
        times = [game.created_at for game in self._games.newest]
        distance = times[-1] - times[0] if times else 0
        return max(self.header.timestamp, self._games.retired_until, *times) + distance
