"""The dispute games of an OP-stack chain, as its contracts on the L1 have them."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from eth_utils.address import to_checksum_address

from accounts.wording import HOUR
from queries.chain import ChainClient
from queries.contracts.abi import call_data
from queries.proving import HASH_BYTES, Header, keccak256, super_root_time
from queries.sources.rollups import RollupCalls

VALID, BLACKLISTED = "isGameClaimValid", "isGameBlacklisted"
CHALLENGER_WINS = 1  # the status of a game that its proposer has lost
RECENT_GAMES = 20  # whose durations tell how long the next one takes
MAX_PAGES = 10  # that are searched for valid games
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


@dataclass(eq=False)
class DisputeGames(RollupCalls):
    """The games that the portal's AnchorStateRegistry knows now. Caches answers, for one pass."""

    destination: ChainClient
    portal: str

    @cached_property
    def anchors(self) -> str:
        """The AnchorStateRegistry that the portal asks now."""
        (address,) = self.ask(self.portal, "anchorStateRegistry()", ["address"])
        return to_checksum_address(address)

    @cached_property
    def _factory(self) -> str:
        (address,) = self.ask(self.anchors, "disputeGameFactory()", ["address"])
        return to_checksum_address(address)

    @cached_property
    def _count(self) -> int:
        return int(self.ask(self._factory, "gameCount()", ["uint256"])[0])

    @cached_property
    def is_paused(self) -> bool:
        return bool(self.optional_number(self.anchors, "paused()"))

    @cached_property
    def retired_until(self) -> int:
        """Games that were created at this time or before count no more; 0 if all count. The
        guardian sets it, and a new AnchorStateRegistry begins with its own creation.
        """
        return self.optional_number(self.anchors, "retirementTimestamp()") or 0

    @cached_property
    def delay(self) -> int:
        """Seconds until a game that is won counts."""
        return int(self.ask(self.anchors, "disputeGameFinalityDelaySeconds()", ["uint256"])[0])

    @cached_property
    def need_super_roots(self) -> bool:
        """Whether the portal says that games claim super roots; older ones say nothing."""
        return bool(self.optional_number(self.portal, "superRootsActive()"))

    @cached_property
    def newest(self) -> list[Game]:
        """The last two games, in their order."""
        return self._read(range(max(self._count - 2, 0), self._count))

    @cached_property
    def newest_valid(self) -> list[Game]:
        """The newest valid games, newest first. Newer ones than the anchor game are among them: a
        rollup may have none, and not every valid game becomes it.
        """
        page_size = self.destination.chain.limits.max_batch_calls
        first = self._first_index(self.retired_until + 1)
        end = self._first_index(self.destination.latest_head().timestamp - self.delay)
        found: list[Game] = []
        for _ in range(MAX_PAGES):
            start = max(end - page_size, first)
            found += reversed(self.filter(VALID, self._read(range(start, end))))
            if start <= first or len(found) >= RECENT_GAMES:
                break
            end = start
        return found[:RECENT_GAMES]

    @cached_property
    def usual_duration(self) -> int | None:
        """The longest time from the creation of a recent valid game until it was valid; None if no
        game is valid.
        """
        call = call_data("resolvedAt()")
        answers = self.destination.call_contracts(
            [(game.address, call) for game in self.newest_valid]
        )
        durations = [
            self.decode_answer("resolvedAt()", ["uint64"], answer)[0] - game.created_at
            for game, answer in zip(self.newest_valid, answers, strict=True)
        ]
        return max(durations) + self.delay if durations else None

    def pages_from(self, seconds: int) -> Iterator[list[Game]]:
        """Pages of the games, of all types, that count and were created at this time or later."""
        page_size = self.destination.chain.limits.max_batch_calls
        first = self._first_index(max(seconds, self.retired_until + 1))
        for start in range(first, self._count, page_size):
            yield self._read(range(start, min(start + page_size, self._count)))

    def filter(self, name: str, games: Sequence[Game]) -> list[Game]:
        """The games for which this function of the AnchorStateRegistry returns true."""
        calls = [call_data(f"{name}(address)", game.address) for game in games]
        answers = self.call(self.anchors, calls)
        return [
            game
            for game, answer in zip(games, answers, strict=True)
            if isinstance(answer, bytes) and any(answer)
        ]

    def is_lost(self, game: Game) -> bool:
        return self.optional_number(game.address, "status()") == CHALLENGER_WINS

    def is_respected(self, game: Game) -> bool:
        """Whether games of its type counted when it was created; older games do not say."""
        return self.optional_number(game.address, "wasRespectedGameTypeWhenCreated()") != 0

    def _first_index(self, seconds: int) -> int:
        """The index of the first game that was created at this time or later."""
        signature, types = _GAME_AT_INDEX

        def creation_time(index: int) -> int:
            return int(self.ask(self._factory, signature, types, index)[1])

        return bisect_left(range(self._count), seconds, key=creation_time)

    def _read(self, indices: Sequence[int]) -> list[Game]:
        """Games never change, so those that a reorg of the L1 cannot undo are read once."""
        keys = [(self.destination.chain.id, self._factory, index) for index in indices]
        games = {key: game for key in keys if (game := _known_games.get(key))}
        unread = [key for key in keys if key not in games]
        if not unread:
            return list(games.values())
        games |= zip(unread, self._fetch([index for *_, index in unread]), strict=True)
        if len(_known_games) > MAX_KNOWN_GAMES:
            _known_games.clear()
        settled = self.destination.latest_head().timestamp - HOUR
        _known_games.update({key: games[key] for key in unread if games[key].created_at < settled})
        return [games[key] for key in keys]

    def _fetch(self, indices: Sequence[int]) -> list[Game]:
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
