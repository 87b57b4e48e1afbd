"""What a batch would take, as a prover would go about it now; nothing is sent or stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from queries.chain.destination import Fees
from queries.chain.ens import EnsFault
from queries.chain.errors import CallReverted, ChainError
from queries.chain.registry_facts import TimestampRead
from queries.models import Query
from queries.pipeline.anchors import (
    AnotherBlockAccumulated,
    CanBeBrought,
    NotKnownYet,
    OutOfReach,
    SteppingStone,
    find_anchor,
)
from queries.pipeline.chains import Chains
from queries.pipeline.known import Known, ask_what_is_known
from queries.pipeline.names import find_accounts
from queries.pipeline.offers import Need
from queries.pipeline.pieces import Anchor, Piece
from queries.pipeline.pricing import (
    REFUSED,
    needs_alone,
    priced_together,
    proving_pieces,
    refusal_of,
)
from queries.pipeline.settle import block_at
from queries.pipeline.stones import needs_by_stones
from queries.pipeline.wanted import missing, reads_of
from queries.routes import Registry

FAR_BELOW = (
    "The block lies so far below what the registry knows that headers are sent first, in "
    "transactions of their own."
)
NOT_PRICED = "What that takes cannot be tried out beforehand, and is not in the fee that is told."


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
    price: Price | None = None  # alone; None: it cannot be told
    pieces: tuple[Piece, ...] = ()
    needs: tuple[Need, ...] = ()  # of each piece, in a transaction of its own

    @property
    def block(self) -> int | None:
        return self.queries[0].block


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a batch would take.

    Its blocks share transactions where they are ready together. Where they are not, or another
    worker takes them, each may cost what it costs alone; so that is what is to be offered.
    """

    blocks: tuple[BlockEstimate, ...]
    together: Price

    @property
    def needed(self) -> int:
        return sum(each.price.cost for each in self.blocks if each.price)

    @property
    def complete(self) -> bool:
        return all(each.price is not None for each in self.blocks)


def estimate(chains: Chains, destination: int, queries: Sequence[Query]) -> Estimate:
    """`ChainError` where another try may help, such as where no node answers.

    The queries are of one batch; nothing is stored.
    """
    blocks = tuple(_block_for_block(chains, destination, queries))
    return Estimate(blocks, _together(chains, destination, blocks))


def _block_for_block(
    chains: Chains, destination: int, queries: Sequence[Query]
) -> Iterator[BlockEstimate]:
    jobs: dict[tuple[int, int | None], list[Query]] = {}
    for some in _by_selector(queries):
        unsettled = _settle(chains, some)
        if unsettled:
            yield unsettled
        else:
            jobs.setdefault((some[0].source, some[0].block), []).extend(some)
    for (source, _), served in jobs.items():
        yield _of_block(chains, chains.routes.registries[source, destination], served)


def _together(chains: Chains, destination: int, blocks: Sequence[BlockEstimate]) -> Price:
    apart = [each.price for each in blocks if each.price and not each.pieces]
    whole = sum(apart, Price())
    for source in {each.source for each in blocks}:
        registry = chains.routes.registries[source, destination]
        ready = [each for each in blocks if each.source == source and each.pieces]
        alone = {
            piece: need
            for each in ready
            for piece, need in zip(each.pieces, each.needs, strict=True)
        }
        served = {piece.job: each.queries for each in ready for piece in each.pieces}
        for offer in priced_together(chains, registry, alone, served):
            whole += _price([offer.call.data], [offer.need], offer.fees)
    return whole


def _by_selector(queries: Sequence[Query]) -> list[list[Query]]:
    named: dict[tuple[int, int | None, int | None], list[Query]] = {}
    for query in queries:
        named.setdefault((query.source, query.block, query.timestamp), []).append(query)
    return list(named.values())


def _settle(chains: Chains, queries: list[Query]) -> BlockEstimate | None:
    """Find the block, where it is named by a time."""
    source, seconds = queries[0].source, queries[0].timestamp
    if seconds is None:
        return None
    job = BlockEstimate(source, tuple(queries), chains.head(source).final_number)
    try:
        block, waits_for = block_at(chains, source, seconds)
    except ChainError as fault:
        return _failed(job, fault)
    if block is None:
        sentence = waits_for.sentence if waits_for else ""
        return replace(job, readiness=Readiness.NOT_FINAL, sentence=sentence)
    for query in queries:
        query.block = block
    return None


def _of_block(chains: Chains, registry: Registry, queries: list[Query]) -> BlockEstimate:
    source = registry.source
    job = BlockEstimate(source, tuple(queries), chains.provable_head(registry).final_number)
    try:
        return _tried(chains, registry, job)
    except AnotherBlockAccumulated as found:
        sentence = found.sentence(job.block or 0)
        return replace(job, readiness=Readiness.FAILS, code=found.code, sentence=sentence)
    except EnsFault as fault:
        return replace(job, readiness=Readiness.FAILS, code=fault.code, sentence=str(fault))
    except CallReverted as reverted:
        sentence = refusal_of(reverted)
        return replace(job, readiness=Readiness.FAILS, code=REFUSED, sentence=sentence)
    except ChainError as fault:
        return _failed(job, fault)


def _failed(job: BlockEstimate, fault: ChainError) -> BlockEstimate:
    if fault.retryable:
        raise fault
    return replace(job, readiness=Readiness.FAILS, code=fault.code, sentence=str(fault))


def _tried(chains: Chains, registry: Registry, job: BlockEstimate) -> BlockEstimate:
    head = chains.provable_head(registry)
    # The block after it is shown where it is named by its time.
    last = (job.block or 0) + any(query.timestamp is not None for query in job.queries)
    if not head.is_final(last):
        waits = head.why_not_final(last)
        job = replace(job, readiness=Readiness.NOT_FINAL, sentence=waits)
    if last > head.number:
        return job
    header = chains.source(job.source).header(job.block or 0)
    find_accounts(chains, header, job.queries)
    reads = [reads_of(query) for query in job.queries]
    known = ask_what_is_known(chains.facts(registry), header, reads)
    proven = tuple(
        tuple(name for name, read in named.items() if known.words[read] is not None)
        for named in reads
    )
    job = replace(job, proven=proven)
    if known.whole:
        return replace(job, readiness=Readiness.PROVEN, sentence="", price=Price())
    with_child = any(isinstance(read, TimestampRead) for read in known.unproven)
    anchor = find_anchor(chains, registry, header, known.leaf, with_child=with_child)
    if isinstance(anchor, SteppingStone):
        needs = needs_by_stones(chains, registry, header, anchor, missing(known.unproven))
        return _by_stones(job, needs, chains.destination(registry.destination).fees())
    if isinstance(anchor, Anchor):
        return _with_price(chains, registry, anchor, known, job)
    return _unreachable(job, anchor, registry)


def _unreachable(
    job: BlockEstimate, found: OutOfReach | NotKnownYet | CanBeBrought, registry: Registry
) -> BlockEstimate:
    if isinstance(found, OutOfReach):
        return replace(
            job,
            readiness=Readiness.OUT_OF_REACH,
            code=found.code,
            sentence=found.sentence(job.block or 0, registry),
            distance=found.distance,
        )
    if job.readiness is Readiness.NOT_FINAL:
        return job
    if isinstance(found, CanBeBrought):
        sentence = f"{found.sentence} {NOT_PRICED}"
    else:
        sentence = found.why.sentence
    return replace(job, readiness=Readiness.NOT_KNOWN, sentence=sentence)


def _by_stones(job: BlockEstimate, needs: Mapping[Piece, Need] | None, fees: Fees) -> BlockEstimate:
    sentence = FAR_BELOW if needs else f"{FAR_BELOW} {NOT_PRICED}"
    job = replace(job, sentence=job.sentence or sentence)
    if needs is None:
        return job
    # Without its pieces: they cannot be tried out together with others.
    return replace(job, price=_price([each.data for each in needs], [*needs.values()], fees))


def _with_price(
    chains: Chains, registry: Registry, anchor: Anchor, known: Known, job: BlockEstimate
) -> BlockEstimate:
    pieces = proving_pieces(chains, registry, anchor.header.number, anchor, missing(known.unproven))
    needs = []
    for need in needs_alone(chains, registry, pieces).values():
        if not isinstance(need, Need):
            raise need
        needs.append(need)
    price = _price(
        [piece.data for piece in pieces], needs, chains.destination(registry.destination).fees()
    )
    return replace(job, price=price, pieces=tuple(pieces), needs=tuple(needs))


def _price(calls: Sequence[bytes], needs: Sequence[Need], fees: Fees) -> Price:
    return Price(
        len(calls),
        sum(map(len, calls)),
        sum(need.gas for need in needs),
        fees.dearest,
        sum(need.most(fees) for need in needs),
    )
