"""Whether a block can be proven on a route, from what provers have stored. Asks no node."""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from django.db.models import Count, Exists, OuterRef
from django.utils import timezone

from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Routes
from queries.models import Attestation, BlockJob, Query
from queries.proving.registry_calls import HISTORY_RING
from queries.reading.figures import HeadView, chain_heads, state_horizon
from queries.reading.waits import PROVER_TIMEOUT

# Until a dispute game is decided and valid, with the delays of OP Mainnet.
OUTPUT_DELAY = 7 * 86_400
MAX_JOBS = 20  # that are read to find a proven one


class ReachCode(StrEnum):
    NOW = "now"
    WAITS = "waits"  # for what `waits_until` says
    TOO_OLD = "too_old"  # the nodes prove blocks from `oldest` on
    NOT_YET = "not_yet"  # the block does not exist yet
    PAST_HORIZON = "past_horizon"  # the registry takes no accounts of such a late block
    NO_STATE = "no_state"  # the nodes prove no final block
    NO_ROUTE = "no_route"
    UNKNOWN = "unknown"  # for the reason in `unknown`


class WaitsUntil(StrEnum):
    FINAL = "final"  # on the source chain
    ATTESTED = "attested"  # by enough signers
    RECORDED = "recorded"  # by a dispute game


class Unknown(StrEnum):
    """Why stored rows do not decide."""

    HEAD = "head"  # no prover has seen the source chain lately
    INTERVAL = "interval"  # the time between blocks is not known
    WINDOW = "window"  # no node was measured
    HOPS = "hops"  # the block is reached from a later one, if nodes have the states between
    GAME = "game"  # a dispute game should be valid by now


@dataclass(frozen=True, slots=True)
class BlockAt:
    """A block by its number, or the last one at a time."""

    number: int
    is_time: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the block can be proven; `seconds` is about how long until then."""

    code: ReachCode
    block: int | None = None  # estimated if a time was asked for; None: not known
    head: HeadView | None = None
    waits_until: WaitsUntil | None = None
    seconds: int | None = None
    oldest: int | None = None
    horizon: int | None = None
    unknown: Unknown | None = None
    is_accepted: bool = True  # a batch for the block is worth submitting


def block_reach(routes: Routes, source: int, destination: int, wanted: BlockAt) -> Reach:
    """Decide in at most four statements."""
    registry = routes.registries.get((source, destination))
    if registry is None:
        return Reach(ReachCode.NO_ROUTE, is_accepted=False)
    heads = chain_heads([source, destination])
    head = heads.get(source)
    if head is None or timezone.now() - head.seen > PROVER_TIMEOUT:
        return Reach(ReachCode.UNKNOWN, head=head, unknown=Unknown.HEAD)
    finality = None if wanted.is_time else routes.chains[source].finality_for(destination)
    final = head.final if finality is None else max(head.number - finality, 0)
    horizon = state_horizon(registry, heads)
    return _RouteState(routes, registry, head, final, horizon).reach(wanted)


def oldest_block(head: HeadView | None) -> int | None:
    """The first block whose accounts the nodes prove; None: not known."""
    if head is None or head.window is None or head.window >= HISTORY_RING:
        return None
    return max(head.number - head.window, 0)


@dataclass(frozen=True, slots=True)
class _RouteState:
    routes: Routes
    registry: Registry
    head: HeadView
    final: int  # the last block that may be proven
    horizon: int

    def reach(self, wanted: BlockAt) -> Reach:
        head = self.head
        if wanted.is_time:
            if wanted.number > head.timestamp:
                wait = wanted.number - head.timestamp + (self._duration(head.number) or 0)
                is_accepted = wanted.number <= head.timestamp + self.routes.limits.max_seconds_ahead
                return self._not_yet(None, wait, is_accepted=is_accepted)
            if self.head.block_seconds is None:
                return Reach(ReachCode.UNKNOWN, head=head, unknown=Unknown.INTERVAL)
            block = max(
                head.number - ceil((head.timestamp - wanted.number) / self.head.block_seconds), 0
            )
            # The next header shows that the block was the last one at that time.
            return self._existing(block, block + 1, wanted.number)
        if wanted.number > head.number:
            is_accepted = wanted.number <= head.number + self.routes.limits.max_blocks_ahead
            seconds = self._duration(wanted.number)
            return self._not_yet(wanted.number, seconds, is_accepted=is_accepted)
        age = self._age(wanted.number)
        timestamp = None if age is None else head.timestamp - age
        return self._existing(wanted.number, wanted.number, timestamp)

    def _not_yet(self, block: int | None, seconds: int | None, *, is_accepted: bool) -> Reach:
        return Reach(ReachCode.NOT_YET, block, self.head, seconds=seconds, is_accepted=is_accepted)

    def _existing(self, block: int, last: int, timestamp: int | None) -> Reach:
        """`last` is the last block that has to be final; `timestamp` may be estimated."""
        if timestamp is not None and timestamp >= self.horizon:
            return Reach(
                ReachCode.PAST_HORIZON, block, self.head, horizon=self.horizon, is_accepted=False
            )
        oldest = oldest_block(self.head)
        if self.head.window == -1 or (oldest is not None and oldest > self.final > 0):
            return Reach(ReachCode.NO_STATE, block, self.head, is_accepted=False)
        if last > self.final:
            seconds = self._duration(last)
            return Reach(ReachCode.WAITS, block, self.head, WaitsUntil.FINAL, seconds)
        return self._within_window(block, oldest) or self._known_hash(block, last)

    def _within_window(self, block: int, oldest: int | None) -> Reach | None:
        """None if the nodes prove the block and one hop reaches it."""
        if self.head.window is None:
            return Reach(ReachCode.UNKNOWN, block, self.head, unknown=Unknown.WINDOW)
        if oldest is not None and block < oldest:
            return Reach(ReachCode.TOO_OLD, block, self.head, oldest=oldest, is_accepted=False)
        if block < self.head.number - HISTORY_RING:
            return Reach(ReachCode.UNKNOWN, block, self.head, unknown=Unknown.HOPS)
        return None

    def _known_hash(self, block: int, last: int) -> Reach:
        """Whether the registry can know a hash at or above the block."""
        match self.registry.kind:
            case RegistryKind.ATTESTED if not (self._is_attested(last) or self._has_proven(last)):
                return Reach(ReachCode.WAITS, block, self.head, WaitsUntil.ATTESTED)
            case RegistryKind.OUTPUT if not self._has_proven(last):
                age = self._age(block)
                if age is not None and age > OUTPUT_DELAY:
                    return Reach(ReachCode.UNKNOWN, block, self.head, unknown=Unknown.GAME)
                seconds = None if age is None else OUTPUT_DELAY - age
                return Reach(ReachCode.WAITS, block, self.head, WaitsUntil.RECORDED, seconds)
        return Reach(ReachCode.NOW, block, self.head)

    def _duration(self, block: int) -> int | None:
        """Seconds until the block is final, if finality keeps its distance to the head."""
        if self.head.block_seconds is None or not self.final:
            return None
        return ceil((block - self.final) * self.head.block_seconds)

    def _age(self, block: int) -> int | None:
        return (
            None
            if self.head.block_seconds is None
            else ceil((self.head.number - block) * self.head.block_seconds)
        )

    def _is_attested(self, block: int) -> bool:
        """Enough signers have attested a block from which the prover reaches this one."""
        rows = Attestation.objects.filter(
            source=self.registry.source,
            destination=self.registry.destination,
            registry=self.registry.address,
            block__range=(block, block + HISTORY_RING),
        )
        signers = rows.values("block").annotate(signers=Count("signer"))
        return signers.filter(signers__gte=self.registry.threshold).exists()

    def _has_proven(self, block: int) -> bool:
        """One of the next blocks is in the registry, as this server's queries show."""
        accumulated = Query.objects.filter(
            job=OuterRef("pk"), header_accumulated_completed_at__isnull=False
        )
        jobs = BlockJob.objects.filter(
            source=self.registry.source,
            destination=self.registry.destination,
            block__range=(block, block + HISTORY_RING),
        ).order_by("block")
        proven = jobs.annotate(is_proven=Exists(accumulated)).values_list("is_proven", flat=True)
        return any(proven[:MAX_JOBS])
