"""Whether a block can be proven on a route, from what provers have stored. Asks no node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from accounts.wording import format_timestamp
from queries.chain import (
    BeyondHorizonError,
    NodesUnreachableError,
    ProofWindowExceededError,
    StateNotAvailableError,
    StateRootEmptyError,
    TimeTooEarlyError,
)
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.error_codes import RequestCode
from queries.intake.beyond_head import reason_beyond_head
from queries.models import Attestation, BlockJob, Query
from queries.planning.known_blocks import recorded_blocks
from queries.reading.chain_heads import (
    HeadView,
    interpolate,
    known_block_times,
    last_final_block,
    state_horizon,
)
from queries.reading.registry_states import read_registry_states
from queries.reading.service_status import chain_statuses
from queries.schema.batch_checks import through_two_routes
from queries.selectors import Selector
from queries.sources import REGISTRY_STOPPED, AttestedRegistry, Registry, Routes
from queries.statuses import Readiness
from queries.wait_reasons import Reason, WaitCode

MAX_JOBS = 20  # that are read to find a proven one


@dataclass(frozen=True, slots=True)
class BlockReadiness:
    """Whether a block can be proven now, as far as stored rows tell. An estimate asks nodes."""

    readiness: Readiness | None  # None: only nodes can tell
    reason: Reason
    head: HeadView | None = None
    block: int | None = None  # estimated if a time was asked for; None: not known
    seconds: int | None = None  # about how long it waits; None: not known
    # Why none of its accounts can be proven, although header fields and events can be.
    account_obstacle: Reason | None = None

    @property
    def is_rejected(self) -> bool:
        return self.readiness is not None and self.readiness.is_rejected


def block_readiness(
    routes: Routes, source: int, destination: int, selector: Selector
) -> BlockReadiness:
    registry = routes.registries.get((source, destination))
    chains = {chain: routes.chains[chain] for chain in (source, destination)}
    if registry is None:
        names = f"{chains[source].name} to {chains[destination].name}"
        sentence = f"No route leads from {names}."
        sentence += through_two_routes(routes, source, destination)
        reason = Reason(RequestCode.ROUTE_UNSUPPORTED.code, sentence)
        return BlockReadiness(Readiness.FAILS, reason)
    statuses = chain_statuses(list(chains.values()))
    heads = {status.chain.id: status.head for status in statuses if status.head}
    silent_chains = [status.chain.id for status in statuses if not status.is_answered]
    head = heads.get(source)
    if silent_chains or head is None:
        silent = chains[source if head is None or source in silent_chains else destination]
        sentence = f"No node of {silent.name} answers. A batch waits until one does."
        return BlockReadiness(None, Reason(NodesUnreachableError.code, sentence), head)
    final = head.final
    if not selector.is_time:
        final = last_final_block(head, chains[source], destination)
    route = _RouteState(
        registry,
        chains[source],
        chains[destination],
        head,
        final,
        state_horizon(registry, heads),
        known_block_times(source, head),
    )
    if selector.number > (head.timestamp if selector.is_time else head.number):
        return route.beyond_head(selector, routes.limits)
    if selector.is_time:
        return route.at_time(selector.number)
    return route.existing_block(selector.number, selector.number, route.time(selector.number))


@dataclass(frozen=True, slots=True)
class _RouteState:
    registry: Registry
    source: Chain
    destination: Chain
    head: HeadView
    final: int  # the last block that may be proven
    horizon: int
    block_times: Sequence[tuple[int, int]]

    def time(self, block: int) -> int | None:
        """The estimated time of a block that exists. None if unknown."""
        return interpolate(self.block_times, block) if self.block_times else None

    def seconds_until_final(self, block: int) -> int | None:
        """Estimated seconds, if finality keeps its distance to the head. None if unknown."""
        pace = self.head.block_seconds
        return None if pace is None or not self.final else ceil((block - self.final) * pace)

    def beyond_head(self, selector: Selector, limits: Limits) -> BlockReadiness:
        """The readiness of a block or time that is still to come."""
        name = self.source.name
        if sentence := reason_beyond_head(selector, self.head, limits):
            sentence = f"It is not on {name} yet: {sentence}"
            return self._answer(Readiness.FAILS, RequestCode.BLOCK_BEYOND_HEAD.code, sentence)
        if self._has_stopped():
            return self._stopped()
        code, seconds = WaitCode.BLOCK_NOT_FINAL, self.seconds_until_final(selector.number)
        if selector.is_time:
            code = WaitCode.TIME_NOT_REACHED
            wait = self.seconds_until_final(self.head.number) or 0
            seconds = selector.number - self.head.timestamp + wait
        sentence = f"It is still to come: the newest block of {name} seen here is "
        sentence += f"{self.head.number:,}. A batch may ask for it now."
        block = None if selector.is_time else selector.number
        return self._answer(Readiness.NOT_FINAL, code, sentence, block, seconds)

    def at_time(self, timestamp: int) -> BlockReadiness:
        name = self.source.name
        if not self.block_times:
            return self._answer(None, "", f"The time between blocks of {name} is not known here.")
        first, first_time = self.block_times[0]
        if first == 0 and timestamp < first_time:
            sentence = f"{name} had no block then: its first is of {format_timestamp(first_time)}."
            return self._answer(Readiness.FAILS, TimeTooEarlyError.code, sentence)
        block = interpolate([(time, number) for number, time in self.block_times], timestamp)
        if block < 0:
            return self._answer(None, "", f"{name} may not have had a block then.")
        # The next header shows that the block was the last one at that time.
        return self.existing_block(block, block + 1, timestamp)

    def existing_block(self, block: int, last: int, timestamp: int | None) -> BlockReadiness:
        """`last` is the last block that has to be final; `timestamp` may be estimated."""
        obstacle = next(self._obstacles(block, last), None)
        answer = obstacle or self._known_hash(block, last)
        if answer.is_rejected:
            return answer
        return replace(answer, account_obstacle=self._account_obstacle(block, timestamp))

    def _account_obstacle(self, block: int, timestamp: int | None) -> Reason | None:
        oldest = self.head.oldest_provable_block or 0
        if timestamp is not None and timestamp >= self.horizon:
            until = format_timestamp(self.horizon)
            sentence = f"The registry takes accounts of blocks before {until} only."
            return Reason(BeyondHorizonError.code, sentence)
        if block < oldest:
            sentence = (
                f"The oldest block whose accounts its nodes prove is {oldest:,}. Facts that are in "
                "the registry already stay readable."
            )
            return Reason(ProofWindowExceededError.code, sentence)
        if block > 0 or self.head.genesis_has_accounts:
            return None
        if self.head.genesis_has_accounts is None:
            return Reason("", "Whether block 0 has accounts depends on how the chain began.")
        sentence = "The header of block 0 has an empty state root, so no account can be proven."
        return Reason(StateRootEmptyError.code, sentence)

    def _obstacles(self, block: int, last: int) -> Iterator[BlockReadiness]:
        head, answer = self.head, partial(self._answer, block=block)
        if self._has_stopped() and not self._has_recorded_block(last):
            yield self._stopped(block)
        if head.proof_window == -1 or (head.oldest_provable_block or 0) > self.final > 0:
            sentence = "None of this server's nodes proves an account of a final block right now."
            yield answer(Readiness.FAILS, StateNotAvailableError.code, sentence)
        if last > self.final:
            seconds = self.seconds_until_final(last)
            sentence = "Submit the batch now if you like: it goes on when the block is final."
            yield answer(Readiness.NOT_FINAL, WaitCode.BLOCK_NOT_FINAL, sentence, seconds=seconds)
        if head.proof_window is None:
            name = self.source.name
            yield answer(None, "", f"How far back the nodes prove {name} is not measured yet.")
        if block < head.number - self.registry.history_ring:
            sentence = (
                "The block is beyond what one proof reaches. Hops lead further back, if a node "
                "has the state of the blocks between."
            )
            yield answer(None, "", sentence)

    def _known_hash(self, block: int, last: int) -> BlockReadiness:
        """The readiness of a final, provable block: once a hash at or above it is known."""
        registry, time, answer = self.registry, self.time(block), partial(self._answer, block=block)
        age = None if time is None else self.head.timestamp - time
        readiness, reason, seconds = registry.expectation(age)
        is_known = readiness is Readiness.READY
        if is_known or self._has_proven_block(last) or self._is_attested(last):
            sentence = f"The block is final, and {self.destination.name} can know its hash."
            return answer(Readiness.READY, "", sentence)
        return answer(readiness, reason.code, reason.sentence, seconds=seconds)

    def _answer(
        self,
        readiness: Readiness | None,
        code: str,
        sentence: str,
        block: int | None = None,
        seconds: int | None = None,
    ) -> BlockReadiness:
        return BlockReadiness(readiness, Reason(code, sentence), self.head, block, seconds)

    def _has_stopped(self) -> bool:
        """Whether the registry is a beacon registry that can learn no newer block."""
        return any(state.has_stopped for state in read_registry_states([self.registry]))

    def _stopped(self, block: int | None = None) -> BlockReadiness:
        sentence = (
            f"The registry of {self.source.name} on {self.destination.name} has stopped for good: "
            "it learns no newer block from a sync committee. Facts that are in it stay readable."
        )
        return self._answer(Readiness.FAILS, REGISTRY_STOPPED, sentence, block)

    def _has_recorded_block(self, block: int) -> bool:
        """Whether headers or hops may lead to the block from one that the registry has."""
        rows = recorded_blocks(self.registry).filter(recorded_block__gte=block)
        return rows.exists() or self._has_proven_block(block)

    def _is_attested(self, block: int) -> bool:
        """Whether enough signers have attested a block from which the prover reaches this one."""
        if not isinstance(self.registry, AttestedRegistry):
            return False
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
        return rows.filter(
            **self.registry.route_filter, block__range=(block, block + self.registry.history_ring)
        )
