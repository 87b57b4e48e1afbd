"""What it would take to prove a batch now. Nothing is sent or stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil

from queries.chain.errors import CallReverted, ChainError, MethodMissing, QuestionRefused
from queries.chain.registry import Missing, as_if_accumulated, missing
from queries.config.registries import Registry
from queries.models import Query
from queries.planning.anchors import AnchorSearch, OutOfReach, Preparation
from queries.planning.calls import Anchor, Call, Piece, join, pieces_of
from queries.planning.lookups import block_at, find_accounts, reads_of
from queries.planning.pricing import Need, refusal_of
from queries.planning.readers import ChainReaders
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.wait_reasons import WaitCode

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


def estimate(chains: ChainReaders, destination: int, queries: Sequence[Query]) -> Estimate:
    """`ChainError` where another try may help, such as where no node answers.

    The queries are of one batch; nothing is stored.
    """
    blocks = tuple(_blocks(chains, destination, queries))
    alone = (each.own for each in blocks if each.own and not each.pieces)
    together = sum(alone, _ways(blocks))
    for source in {each.source for each in blocks}:
        here = [each for each in blocks if each.source == source and each.pieces]
        if here:
            leaves = {block: leaf for each in here for block, leaf in each.leaves.items()}
            trial = _Trial(chains, chains.routes.registries[source, destination], leaves)
            pieces = [piece for each in here for piece in each.pieces]
            together += trial.price(join(pieces)) or Price()
    return Estimate(blocks, together)


def _ways(blocks: Sequence[BlockEstimate]) -> Price:
    """Count one way down for each source: the longest passes where the others end."""
    ways: dict[tuple[int, object], Price] = {}
    for block in blocks:
        for key, price in block.way.items():
            known = ways.setdefault((block.source, key), price)
            ways[block.source, key] = max(known, price, key=lambda each: each.cost)
    return sum(ways.values(), Price())


def _blocks(
    chains: ChainReaders, destination: int, queries: Sequence[Query]
) -> Iterator[BlockEstimate]:
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


def _find_times(chains: ChainReaders, queries: Sequence[Query]) -> Iterator[BlockEstimate]:
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
    if type(fault) is CallReverted:
        code, sentence = WaitCode.REGISTRY_REFUSES.value, refusal_of(fault)
    return replace(job, readiness=Readiness.FAILS, code=code, sentence=sentence)


def _tried(chains: ChainReaders, registry: Registry, job: BlockEstimate) -> BlockEstimate:
    head, source = chains.provable_head(registry), chains.source(job.source)
    if any(query.timestamp is not None or query.name for query in job.queries):
        # What a batch finds is stored for good: it waits until the chain calls the block final.
        head = chains.head(job.source)
        job = replace(job, last_final=head.final_number)
    # The block after it is shown where it is named by its time.
    last = (job.block or 0) + any(query.timestamp is not None for query in job.queries)
    if wait := head.waits_for(last):
        job = replace(job, readiness=Readiness.NOT_FINAL, sentence=wait.sentence)
    if last > head.number:
        return job
    header = source.header(job.block or 0)
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
    search, trial = AnchorSearch.of(chains, registry), _Trial(chains, registry, {})
    anchor = search.find(header, known)
    while isinstance(anchor, Preparation):
        job = replace(job, hops=job.hops + anchor.hops, sentence=job.sentence or anchor.sentence)
        price = trial.price([Call(anchor.call)])
        if price is None:
            return replace(job, sentence=f"{anchor.sentence} {NOT_PRICED}")
        whole = price.times(anchor.hops / anchor.in_call) if anchor.hops else price
        job = replace(job, way={**job.way, "hops" if anchor.hops else anchor.call: whole})
        trial.accumulate(source.header(anchor.leads_to))
        anchor = replace(search, after=anchor).find(header, known)
    if isinstance(anchor, Anchor):
        return trial.priced(job, anchor, missing(known.unproven))
    if isinstance(anchor, OutOfReach):
        sentence, distance = anchor.sentence(header.number), anchor.distance
        job = replace(job, code=anchor.code, sentence=sentence, distance=distance)
        return replace(job, readiness=Readiness.OUT_OF_REACH)
    if job.readiness is not Readiness.NOT_FINAL:
        job = replace(job, readiness=Readiness.NOT_KNOWN, sentence=anchor.why.sentence)
    return job


class _Trial:
    """What calls to a registry would cost, after those that are sent before them."""

    def __init__(
        self, chains: ChainReaders, registry: Registry, leaves: Mapping[int, bytes]
    ) -> None:
        self._chains, self._registry = chains, registry
        self._leaves = dict(leaves)  # of blocks that it knows by then

    def accumulate(self, header: Header) -> None:
        self._leaves[header.number] = leaf_of(header)

    def price(self, calls: Sequence[Call]) -> Price | None:
        """What the calls would cost, or None where that cannot be tried out.

        If other transactions have to be mined first, the calls are tried with a state override in
        which their blocks are accumulated; some nodes refuse overrides.
        """
        pricing, price = self._chains.pricing(self._registry), Price()
        as_if = as_if_accumulated(self._registry.address, self._leaves) if self._leaves else None
        try:
            needs = pricing.fit(calls, as_if)
            fees = pricing.destination.fees()
            for call, need in needs.items():
                if not isinstance(need, Need):
                    raise need
                price += Price(1, len(call.data), need.gas, fees.dearest, need.most(fees))
        except UNPRICED:
            if not self._leaves:
                raise
            return None
        return price

    def priced(self, job: BlockEstimate, anchor: Anchor, lacking: Missing) -> BlockEstimate:
        header = anchor.header
        pieces = self._pieces(anchor, lacking)
        is_whole = any(piece.requests for piece in pieces) or not lacking.accounts
        sentence = job.sentence or ("" if is_whole else HEADER_FIRST)
        job = replace(job, hops=job.hops + bool(anchor.hop), sentence=sentence)
        price = self.price(join(pieces))
        if price and is_whole:
            return replace(job, own=price, leaves=self._leaves, pieces=tuple(pieces))
        if price:
            self.accumulate(header)
            rest = replace(lacking, header_fields=frozenset(), timestamps=())
            then = Anchor(header, accumulated=True)
            pieces = self._pieces(then, rest)
            others = self.price(join(pieces))
            price = others and price + others
        return replace(job, own=price, sentence=sentence if price else f"{sentence} {NOT_PRICED}")

    def _pieces(self, anchor: Anchor, lacking: Missing) -> list[Piece]:
        header, rules = anchor.header, self._chains.chain(self._registry.destination).gas_rules
        proofs = self._chains.source(self._registry.source).account_proofs(header, lacking.asked)
        return pieces_of(header.number, anchor, lacking, proofs, rules)
