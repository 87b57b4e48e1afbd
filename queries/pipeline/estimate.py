"""What a batch would take, as a prover would go about it now; nothing is sent or stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from queries.chain.ens import EnsFault
from queries.chain.errors import CallReverted, ChainError, MethodMissing, QuestionRefused
from queries.chain.registry import TimestampRead, as_if_accumulated
from queries.chain.signer import Fees
from queries.models import Query
from queries.pipeline.anchors import (
    AnotherBlockAccumulated,
    CanBeBrought,
    NotKnownYet,
    OutOfReach,
    SteppingStone,
    chained,
    find_anchor,
)
from queries.pipeline.chains import Chains
from queries.pipeline.fees import Need
from queries.pipeline.known import Known, ask_what_is_known
from queries.pipeline.names import find_accounts
from queries.pipeline.pieces import Anchor, Part, Piece, stepping_stone
from queries.pipeline.pricing import (
    REFUSED,
    pricing_of,
    proving_pieces,
    refusal_of,
)
from queries.pipeline.settle import block_at
from queries.pipeline.wanted import Missing, missing, reads_of
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.routes import Registry

MOST = 6  # that are looked at for an estimate, which has some ten seconds


def needs_by_stones(
    chains: Chains,
    registry: Registry,
    header: Header,
    first: SteppingStone | Anchor,
    lacking: Missing,
) -> dict[Part, Need] | None:
    """Each tried as if those before it were mined. None if nodes cannot do that, or if there are
    very many.
    """
    source = chains.source(registry.source)
    needs: dict[Part, Need] = {}
    known: dict[int, bytes] = {}
    anchor = first
    while isinstance(anchor, SteppingStone):
        piece = stepping_stone(header.number, anchor.headers)
        if len(needs) == MOST or not _try_out(chains, registry, [piece], known, needs):
            return None
        stone = anchor.headers[0]
        known = {stone.number: leaf_of(stone)}
        anchor = chained(source.headers, header, stone.number, accumulated=False)
    pieces = proving_pieces(chains, registry, header.number, anchor, lacking)
    if not _try_out(chains, registry, pieces, known, needs):
        return None
    if _leave_out_accounts(pieces, lacking):
        accounts = replace(lacking, header_fields=frozenset(), timestamps=())
        anchor, known = Anchor(header, accumulated=True), {header.number: leaf_of(header)}
        pieces = proving_pieces(chains, registry, header.number, anchor, accounts)
        if not _try_out(chains, registry, pieces, known, needs):
            return None
    return needs


def _leave_out_accounts(pieces: Sequence[Piece], lacking: Missing) -> bool:
    """Whether the header is sent first, and the accounts once it is accumulated."""
    return bool(lacking.accounts) and not any(piece.requests for piece in pieces)


def _try_out(
    chains: Chains,
    registry: Registry,
    pieces: Sequence[Part],
    known: dict[int, bytes],
    needs: dict[Part, Need],
) -> bool:
    as_if = as_if_accumulated(registry.address, known) if known else None
    try:
        found = pricing_of(chains, registry).alone(pieces, as_if)
    except (QuestionRefused, MethodMissing):
        return False
    for piece, need in found.items():
        if isinstance(need, CallReverted):  # by who did not look at what was supposed
            return False
        if not isinstance(need, Need):
            raise need
        needs[piece] = need
    return True


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
    # Of each piece, in a transaction of its own.
    alone: Mapping[Part, Need] = field(default_factory=dict)

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
    apart = [each.price for each in blocks if each.price and not each.alone]
    whole = sum(apart, Price())
    for source in {each.source for each in blocks}:
        registry = chains.routes.registries[source, destination]
        alone: dict[Part, Need] = {}
        for each in blocks:
            if each.source == source:
                alone |= each.alone
        for call, need in pricing_of(chains, registry).together(alone):
            whole += _price([call.data], [need], chains.destination(destination).fees())
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


def _by_stones(job: BlockEstimate, needs: Mapping[Part, Need] | None, fees: Fees) -> BlockEstimate:
    sentence = FAR_BELOW if needs else f"{FAR_BELOW} {NOT_PRICED}"
    job = replace(job, sentence=job.sentence or sentence)
    if needs is None:
        return job
    # Without its pieces: they cannot be tried out together with others.
    return replace(job, price=_price([each.data for each in needs], [*needs.values()], fees))


def _with_price(
    chains: Chains, registry: Registry, anchor: Anchor, known: Known, job: BlockEstimate
) -> BlockEstimate:
    lacking = missing(known.unproven)
    pieces = proving_pieces(chains, registry, anchor.header.number, anchor, lacking)
    if _leave_out_accounts(pieces, lacking):
        needs = needs_by_stones(chains, registry, anchor.header, anchor, lacking)
        return _by_stones(job, needs, chains.destination(registry.destination).fees())
    alone: dict[Part, Need] = {}
    for piece, need in pricing_of(chains, registry).alone(pieces).items():
        if not isinstance(need, Need):
            raise need
        alone[piece] = need
    price = _price(
        [piece.data for piece in alone],
        [*alone.values()],
        chains.destination(registry.destination).fees(),
    )
    return replace(job, price=price, alone=alone)


def _price(calls: Sequence[bytes], needs: Sequence[Need], fees: Fees) -> Price:
    return Price(
        len(calls),
        sum(map(len, calls)),
        sum(need.gas for need in needs),
        fees.dearest,
        sum(need.most(fees) for need in needs),
    )
