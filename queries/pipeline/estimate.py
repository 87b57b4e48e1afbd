"""What it would take to prove a batch now. Nothing is sent or stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from queries.chain.errors import CallReverted, ChainError, MethodMissing, QuestionRefused
from queries.chain.registry import Missing, as_if_accumulated, missing
from queries.chain.solidity import AsIf
from queries.fact_names import reads_of
from queries.models import Query
from queries.pipeline.anchors import (
    OutOfReach,
    Preparation,
    find_anchor,
)
from queries.pipeline.chains import Chains
from queries.pipeline.fees import Need, Pricing, refusal_of
from queries.pipeline.pieces import Anchor, Call, Piece, join
from queries.pipeline.prove import REFUSED, pricing_of, proving_pieces
from queries.pipeline.settle import block_at, find_accounts
from queries.proving.registry_calls import leaf_of
from queries.registries import Registry

HEADER_FIRST = "The header is sent first, and the accounts in transactions after it."
UNPRICED = (QuestionRefused, MethodMissing, CallReverted)  # what a state override may lead to
NOT_PRICED = "That cannot be tried out beforehand, so the fee given here does not include it."


class Readiness(StrEnum):
    """Whether what is asked of a block could be proven now."""

    PROVEN = "PROVEN"
    READY = "READY"
    NOT_FINAL = "NOT_FINAL"
    NOT_KNOWN = "NOT_KNOWN"  # by the destination, which will learn of it
    OUT_OF_REACH = "OUT_OF_REACH"
    FAILS = "FAILS"


@dataclass(frozen=True, slots=True)
class Price:
    """What would be sent. `cost` is in wei, at the dearest gas that would be paid."""

    transactions: int = 0
    bytes: int = 0
    gas: int = 0
    gas_price: int = 0
    cost: int = 0

    def __add__(self, other: "Price") -> "Price":
        return Price(
            self.transactions + other.transactions,
            self.bytes + other.bytes,
            self.gas + other.gas,
            max(self.gas_price, other.gas_price),
            self.cost + other.cost,
        )

    def times(self, factor: float) -> "Price":
        counts = self.transactions, self.bytes, self.gas, self.cost
        transactions, size, gas, cost = (ceil(each * factor) for each in counts)
        return Price(transactions, size, gas, self.gas_price, cost)


@dataclass(frozen=True, slots=True)
class BlockEstimate:
    """One block: what its job would do."""

    source: int
    queries: tuple[Query, ...]
    last_final: int
    readiness: Readiness = Readiness.READY
    sentence: str = ""  # why it waits or fails
    code: str = ""  # of what fails
    distance: int | None = None  # of what is out of reach
    proven: tuple[tuple[str, ...], ...] = ()  # of each query, the facts that are there already
    hops: int = 0  # that lead down to it
    own: Price | None = None  # of its facts; None: unknown
    way: Mapping[object, Price] = field(default_factory=dict)  # of what is sent before, by its key
    leaves: Mapping[int, bytes] = field(default_factory=dict)  # that the registry has after that
    pieces: tuple[Piece, ...] = ()  # what may share transactions with other blocks

    @property
    def block(self) -> int | None:
        return self.queries[0].block

    @property
    def price(self) -> Price | None:
        """Alone."""
        return self.own and sum(self.way.values(), self.own)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a batch would take.

    Blocks that are ready together share transactions: `together` is their price. Otherwise each
    costs what it costs alone: `needed`, the fee to offer, is the sum of these. The way to several
    blocks is sent once.
    """

    blocks: tuple[BlockEstimate, ...]
    together: Price

    @property
    def needed(self) -> int:
        return _ways(self.blocks).cost + sum(each.own.cost for each in self.blocks if each.own)

    @property
    def complete(self) -> bool:
        """Whether all of it is priced, and nothing waits."""
        ready = {Readiness.PROVEN, Readiness.READY}
        return all(each.price and each.readiness in ready for each in self.blocks)


def estimate(chains: Chains, destination: int, queries: Sequence[Query]) -> Estimate:
    """`ChainError` where another try may help, such as where no node answers.

    The queries are of one batch; nothing is stored.
    """
    blocks = tuple(_blocks(chains, destination, queries))
    alone = (each.own for each in blocks if each.own and not each.pieces)
    together = sum(alone, _ways(blocks))
    for source in {each.source for each in blocks}:
        here = [each for each in blocks if each.source == source]
        pieces = [piece for each in here for piece in each.pieces]
        leaves = {block: leaf for each in here for block, leaf in each.leaves.items()}
        registry = chains.routes.registries[source, destination]
        as_if = _Way({}, leaves).as_if(registry)
        together += _price(pricing_of(chains, registry), join(pieces), as_if)
    return Estimate(blocks, together)


def _ways(blocks: Sequence[BlockEstimate]) -> Price:
    """Of a source's ways down, the longest goes by the blocks at which the others end."""
    ways: dict[tuple[int, object], Price] = {}
    for block in blocks:
        for key, price in block.way.items():
            known = ways.setdefault((block.source, key), price)
            ways[block.source, key] = max(known, price, key=lambda each: each.cost)
    return sum(ways.values(), Price())


def _blocks(chains: Chains, destination: int, queries: Sequence[Query]) -> Iterator[BlockEstimate]:
    yield from _find_times(chains, queries)
    jobs: dict[tuple[int, int], list[Query]] = {}
    for query in queries:
        if query.block is not None:
            jobs.setdefault((query.source, query.block), []).append(query)
    for (source, _), named in jobs.items():
        registry = chains.routes.registries[source, destination]
        job = BlockEstimate(source, tuple(named), chains.provable_head(registry).final_number)
        try:
            yield _tried(chains, registry, job)
        except ChainError as fault:
            yield _failed(job, fault)


def _find_times(chains: Chains, queries: Sequence[Query]) -> Iterator[BlockEstimate]:
    """Set the blocks of queries that name a time, and return those that have none yet."""
    times: dict[tuple[int, int], list[Query]] = {}
    for query in queries:
        if query.timestamp is not None:
            times.setdefault((query.source, query.timestamp), []).append(query)
    for (source, seconds), named in times.items():
        job = BlockEstimate(source, tuple(named), chains.head(source).final_number)
        try:
            block, waits_for = block_at(chains, source, seconds)
        except ChainError as fault:
            yield _failed(job, fault)
            continue
        for query in named:
            query.block = block
        if block is None:
            sentence = waits_for.sentence if waits_for else ""
            yield replace(job, readiness=Readiness.NOT_FINAL, sentence=sentence)


def _failed(job: BlockEstimate, fault: ChainError) -> BlockEstimate:
    if fault.retryable:
        raise fault
    code, sentence = fault.code, fault.sentence
    if isinstance(fault, CallReverted):
        code, sentence = REFUSED, refusal_of(fault)
    return replace(job, readiness=Readiness.FAILS, code=code, sentence=sentence)


def _tried(chains: Chains, registry: Registry, job: BlockEstimate) -> BlockEstimate:
    head = chains.provable_head(registry)
    # The block after it is shown where it is named by its time.
    last = (job.block or 0) + any(query.timestamp is not None for query in job.queries)
    if not head.is_final(last):
        waits = head.why_not_final(last)
        job = replace(job, readiness=Readiness.NOT_FINAL, sentence=waits)
    return job if last > head.number else _tried_at(chains, registry, job)


def _tried_at(chains: Chains, registry: Registry, job: BlockEstimate) -> BlockEstimate:
    header = chains.source(job.source).header(job.block or 0)
    find_accounts(chains, header, job.queries)
    reads = [reads_of(query) for query in job.queries]
    known = chains.facts(registry).known(header, reads)
    proven = tuple(
        tuple(name for name, read in named.items() if known.words[read] is not None)
        for named in reads
    )
    job = replace(job, proven=proven)
    if known.whole:
        return replace(job, readiness=Readiness.PROVEN, sentence="", own=Price())
    destination, way = chains.destination(registry.destination), _Way({}, {})
    anchor = find_anchor(chains, destination, registry, header, known)
    while isinstance(anchor, Preparation):
        job = replace(job, hops=job.hops + anchor.hops, sentence=job.sentence or anchor.sentence)
        try:
            way = _further(chains, registry, way, anchor)
        except UNPRICED:
            return replace(job, sentence=f"{anchor.sentence} {NOT_PRICED}")
        anchor = find_anchor(chains, destination, registry, header, known, anchor)
    if isinstance(anchor, Anchor):
        return _priced(chains, registry, job, anchor, missing(known.unproven), way)
    if isinstance(anchor, OutOfReach):
        return replace(
            job,
            readiness=Readiness.OUT_OF_REACH,
            code=anchor.code,
            sentence=anchor.sentence(job.block or 0),
            distance=anchor.distance,
        )
    if job.readiness is Readiness.NOT_FINAL:
        return job
    return replace(job, readiness=Readiness.NOT_KNOWN, sentence=anchor.why.sentence)


@dataclass(frozen=True, slots=True)
class _Way:
    """What is sent before the facts, and the leaves of blocks that the registry knows then."""

    prices: Mapping[object, Price]
    leaves: Mapping[int, bytes]

    def as_if(self, registry: Registry) -> AsIf | None:
        """A state override: what is known is taken for accumulated. Some nodes refuse it."""
        return as_if_accumulated(registry.address, self.leaves) if self.leaves else None


def _further(chains: Chains, registry: Registry, way: _Way, then: Preparation) -> _Way:
    price = _price(pricing_of(chains, registry), [Call(then.call)], way.as_if(registry))
    whole = price.times(then.hops / then.in_call) if then.hops else price
    reached = chains.source(registry.source).header(then.leads_to)
    key = "hops" if then.hops else then.call
    return _Way({**way.prices, key: whole}, {**way.leaves, then.leads_to: leaf_of(reached)})


def _priced(  # noqa: PLR0913, PLR0917  (what a job is priced by)
    chains: Chains,
    registry: Registry,
    job: BlockEstimate,
    anchor: Anchor,
    lacking: Missing,
    way: _Way,
) -> BlockEstimate:
    header, pricing = anchor.header, pricing_of(chains, registry)
    job = replace(job, hops=job.hops + bool(anchor.hop), way=way.prices)
    pieces = proving_pieces(chains, registry, header.number, anchor, lacking)
    is_whole = any(piece.requests for piece in pieces) or not lacking.accounts
    price: Price | None = None
    try:
        price = _price(pricing, join(pieces), way.as_if(registry))
        if is_whole:
            return replace(job, own=price, leaves=way.leaves, pieces=tuple(pieces))
        rest = replace(lacking, header_fields=frozenset(), timestamps=())
        accumulated = Anchor(header, accumulated=True)
        pieces = proving_pieces(chains, registry, header.number, accumulated, rest)
        then = _Way({}, {header.number: leaf_of(header)})
        price += _price(pricing, join(pieces), then.as_if(registry))
    except UNPRICED:
        if price is None and not way.leaves:  # no override is to blame
            raise
        return replace(job, sentence=f"{job.sentence or HEADER_FIRST} {NOT_PRICED}")
    return replace(job, own=price, sentence=job.sentence or HEADER_FIRST)


def _price(pricing: Pricing, calls: Sequence[Call], as_if: AsIf | None = None) -> Price:
    price = Price()
    if calls:
        fees = pricing.destination.fees()
        for call, need in pricing.fit(calls, as_if).items():
            if not isinstance(need, Need):
                raise need
            price += Price(1, len(call.data), need.gas, fees.dearest, need.most(fees))
    return price
