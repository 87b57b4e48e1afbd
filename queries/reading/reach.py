"""Whether a block can be proven on a route, from what provers have stored. Asks no node."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor
from operator import itemgetter
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Routes
from queries.models import Attestation, BlockJob, Query
from queries.proving.registry_calls import HISTORY_RING
from queries.reading.chain_heads import HeadView, known_block_times, last_final_block, state_horizon
from queries.reading.service_status import chain_statuses
from queries.schema.checked_batch import Selector

# Until a dispute game is decided and valid, with the delays of OP Mainnet.
OUTPUT_DELAY = 7 * 86_400
MAX_JOBS = 20  # that are read to find a proven one


class ReachCode(StrEnum):
    NOW = "now"
    NOT_FINAL = "not_final"  # waits for finality
    NOT_ATTESTED = "not_attested"  # waits for signers
    NOT_RECORDED = "not_recorded"  # waits for a dispute game
    NOT_YET = "not_yet"  # the block does not exist yet
    TOO_FAR_AHEAD = "too_far_ahead"  # further ahead than a batch may request
    TOO_OLD = "too_old"  # the nodes prove blocks from `oldest` on
    PAST_HORIZON = "past_horizon"  # the registry refuses accounts of blocks from `horizon` on
    NO_STATE = "no_state"  # the nodes prove no final block
    NO_ROUTE = "no_route"
    SILENT = "silent"  # no node of the chain `silent_chain` answers
    # What stored rows do not decide:
    UNKNOWN_PACE = "unknown_pace"  # the time between blocks
    BEFORE_FIRST_BLOCK = "before_first_block"  # by estimate
    UNKNOWN_WINDOW = "unknown_window"  # no node was measured
    HOPS = "hops"  # the block is reached from a later one, if nodes have the states between
    GAME_OVERDUE = "game_overdue"  # a dispute game should be valid by now

    @property
    def is_worth_submitting(self) -> bool:
        return self not in {
            self.TOO_FAR_AHEAD,
            self.TOO_OLD,
            self.PAST_HORIZON,
            self.NO_STATE,
            self.NO_ROUTE,
        }


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the block can be proven; `seconds` is about how long until then."""

    code: ReachCode
    head: HeadView | None = None
    block: int | None = None  # estimated if a time was asked for; None: not known
    seconds: int | None = None
    oldest: int | None = None
    horizon: int | None = None
    silent_chain: int | None = None


def route_reach(routes: Routes, source: int, destination: int, selector: Selector) -> Reach:
    registry = routes.registries.get((source, destination))
    if registry is None:
        return Reach(ReachCode.NO_ROUTE)
    statuses = chain_statuses([routes.chains[chain] for chain in {source, destination}])
    heads = {status.chain.id: status.head for status in statuses if status.head}
    silent_chains = [status.chain.id for status in statuses if not status.is_answered]
    head = heads.get(source)
    if silent_chains or head is None:
        return Reach(
            ReachCode.SILENT, head, silent_chain=source if source in silent_chains else destination
        )
    final = head.final
    if not selector.is_time:
        final = last_final_block(head, routes.chains[source], destination)
    times = known_block_times(source, head)
    state = _RouteState(registry, head, final, state_horizon(registry, heads), times)
    newest, max_ahead = (
        (head.timestamp, routes.limits.max_seconds_ahead)
        if selector.is_time
        else (head.number, routes.limits.max_blocks_ahead)
    )
    if selector.number > newest:
        code = (
            ReachCode.NOT_YET if selector.number <= newest + max_ahead else ReachCode.TOO_FAR_AHEAD
        )
        return state.future_reach(code, selector)
    return (
        state.time_reach(selector.number)
        if selector.is_time
        else state.block_reach(selector.number)
    )


@dataclass(frozen=True, slots=True)
class _RouteState:
    registry: Registry
    head: HeadView
    final: int  # the last block that may be proven
    horizon: int
    block_times: Sequence[tuple[int, float]]

    def time(self, block: int) -> int | None:
        """The estimated time of a block that exists. None if unknown."""
        return _interpolate(self.block_times, block) if self.block_times else None

    def seconds(self, blocks: int) -> int | None:
        return None if self.head.block_seconds is None else ceil(blocks * self.head.block_seconds)

    def seconds_until_final(self, block: int) -> int | None:
        """Estimated seconds, if finality keeps its distance to the head. None if unknown."""
        return self.seconds(block - self.final) if self.final else None

    def future_reach(self, code: ReachCode, selector: Selector) -> Reach:
        if not selector.is_time:
            return Reach(
                code, self.head, selector.number, self.seconds_until_final(selector.number)
            )
        wait = self.seconds_until_final(self.head.number) or 0
        return Reach(code, self.head, seconds=selector.number - self.head.timestamp + wait)

    def block_reach(self, block: int) -> Reach:
        return self._existing_block_reach(block, block, self.time(block))

    def time_reach(self, timestamp: int) -> Reach:
        if not self.block_times:
            return Reach(ReachCode.UNKNOWN_PACE, self.head)
        block = _interpolate([(time, number) for number, time in self.block_times], timestamp)
        if block < 0:
            return Reach(ReachCode.BEFORE_FIRST_BLOCK, self.head)
        # The next header shows that the block was the last one at that time.
        return self._existing_block_reach(block, block + 1, timestamp)

    def _existing_block_reach(self, block: int, last: int, timestamp: int | None) -> Reach:
        """`last` is the last block that has to be final; `timestamp` may be estimated."""
        head, oldest = self.head, self.head.oldest_provable_block
        obstacles = {
            ReachCode.PAST_HORIZON: timestamp is not None and timestamp >= self.horizon,
            ReachCode.NO_STATE: head.proof_window == -1 or (oldest or 0) > self.final > 0,
            ReachCode.NOT_FINAL: last > self.final,
            ReachCode.UNKNOWN_WINDOW: head.proof_window is None,
            ReachCode.TOO_OLD: block < (oldest or 0),
            ReachCode.HOPS: block < head.number - HISTORY_RING,
        }
        code = next((code for code, holds in obstacles.items() if holds), None)
        if code is None:
            return self._hash_reach(block, last)
        seconds = self.seconds_until_final(last) if code is ReachCode.NOT_FINAL else None
        return Reach(code, head, block, seconds, oldest, self.horizon)

    def _hash_reach(self, block: int, last: int) -> Reach:
        """The reach of a final, provable block: NOW, or once a hash at or above it is known."""
        code, seconds, kind = ReachCode.NOW, None, self.registry.kind
        if kind is RegistryKind.ATTESTED and not (
            self._is_attested(last) or self._has_proven_block(last)
        ):
            code = ReachCode.NOT_ATTESTED
        elif kind is RegistryKind.OUTPUT and not self._has_proven_block(last):
            time = self.time(block)
            seconds = None if time is None else OUTPUT_DELAY - (self.head.timestamp - time)
            code = ReachCode.NOT_RECORDED if (seconds or 0) >= 0 else ReachCode.GAME_OVERDUE
        return Reach(code, self.head, block, seconds)

    def _is_attested(self, block: int) -> bool:
        """Enough signers have attested a block from which the prover reaches this one."""
        rows = self._rows_at_or_above(
            Attestation.objects.filter(registry=self.registry.address), block
        )
        signers = rows.values("block").annotate(signers=Count("signer"))
        return bool(signers.filter(signers__gte=self.registry.threshold).exists())

    def _has_proven_block(self, block: int) -> bool:
        """Whether queries here show that the registry has this block or one of the next."""
        queries = Query.objects.filter(
            job=OuterRef("pk"), header_accumulated_completed_at__isnull=False
        )
        jobs = self._rows_at_or_above(BlockJob.objects.order_by("block"), block)
        flags = jobs.annotate(is_proven=Exists(queries)).values_list("is_proven", flat=True)
        return any(flags[:MAX_JOBS])

    def _rows_at_or_above(self, rows: QuerySet[Any], block: int) -> QuerySet[Any]:
        return rows.filter(**self.registry.route_filter, block__range=(block, block + HISTORY_RING))


def _interpolate(points: Sequence[tuple[float, float]], x: float) -> int:
    """The y at x, rounded down, on the lines through two points or more, in ascending order."""
    index = bisect_right(points, x, key=itemgetter(0))
    (x0, y0), (x1, y1) = points[max(index - 1, 0) :][:2] if index < len(points) else points[-2:]
    return floor(y0 + (x - x0) * (y1 - y0) / ((x1 - x0) or 1))
