"""Estimate what proving a batch costs now. Sends and stores nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from queries.chain import CallRevertedError, ChainError, MethodMissingError, ParametersRejectedError
from queries.facts import BLOCK_AT_TIME, facts_of
from queries.models import Query
from queries.planning.calls import (
    AccountPiece,
    Anchor,
    HopPreparation,
    Piece,
    PlannedCall,
    join_pieces,
)
from queries.planning.deliveries import delivery_estimates
from queries.planning.dry_runs import GasEstimate, describe_refusal
from queries.planning.plan import BlockPlan
from queries.planning.readers import ChainReaders
from queries.proving import block_leaf
from queries.proving.facts import FactGroups
from queries.schema.checked_batch import CheckedDelivery
from queries.selectors import selector_of
from queries.sources import HashNotKnown, Preparation, Registry, accumulated_override
from queries.statuses import Readiness
from queries.wait_reasons import Reason, WaitCode

HEADER_FIRST = "The header is sent first, and the accounts in transactions after it."
# Errors of nodes that do not support state overrides.
OVERRIDE_ERRORS = (ParametersRejectedError, MethodMissingError, CallRevertedError)
NOT_PRICED = "This cannot be simulated beforehand, so the fee given here does not include it."


@dataclass(frozen=True, slots=True)
class Price:
    """The transactions that would be sent, and their cost in wei at the highest gas price that
    would be paid.
    """

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

    def scale(self, factor: float) -> "Price":
        counts = self.transactions, self.bytes, self.gas, self.cost
        transactions, size, gas, cost = (ceil(count * factor) for count in counts)
        return Price(transactions, size, gas, self.gas_price, cost)


@dataclass(frozen=True, slots=True)
class DeliveryPrice(Price):
    """The price of a delivery, if its contract uses all the gas that it gets."""

    contract_gas: int = 0
    is_assumed: bool = False  # the contract cannot be tried out yet


@dataclass(slots=True)
class BlockEstimate:
    """The transactions that the job for a block would send, and their price."""

    source: int
    queries: tuple[Query, ...]
    last_final: int
    readiness: Readiness = Readiness.READY
    sentence: str = ""  # why it waits or fails
    code: str = ""  # if it waits or fails
    distance: int | None = None  # if it is out of reach
    proven: Sequence[tuple[Query, list[str]]] = ()  # names of facts in the registry
    hops: int = 0
    facts_price: Price | None = None  # None: unknown
    preparations: dict[object, Price] = field(default_factory=dict)  # by call; all hops as one
    # By block, what preparations add to the registry.
    leaves: Mapping[int, bytes] = field(default_factory=dict)
    pieces: tuple[Piece, ...] = ()  # that may share transactions with other blocks

    @property
    def block(self) -> int | None:
        return self.queries[0].block

    @property
    def selectors(self) -> list[str]:
        """The block and times by which it was asked for."""
        selectors = (selector_of(query.block, query.timestamp) for query in self.queries)
        return list(dict.fromkeys(selectors))

    @property
    def price(self) -> Price | None:
        """The price without other blocks."""
        return self.facts_price and sum(self.preparations.values(), self.facts_price)

    @property
    def is_rejected(self) -> bool:
        return self.readiness.is_rejected

    def add(self, preparation: Preparation, price: Price) -> None:
        """Add the price of a preparation; the first of several transactions stands for all."""
        key = "hops" if preparation.count_in_call else preparation.calldata
        self.preparations[key] = price.scale(preparation.transactions)

    def wait(self, readiness: Readiness, reason: Reason) -> None:
        self.readiness, self.code, self.sentence = readiness, reason.code, reason.sentence

    def fail(self, error: ChainError) -> None:
        """Mark the estimate as failed. Raises the error instead if a retry may help."""
        if error.retryable:
            raise error
        self.proven, self.hops, self.preparations = (), 0, {}
        self.readiness, self.code, self.sentence = Readiness.FAILS, error.code, error.sentence
        if type(error) is CallRevertedError:
            self.code, self.sentence = WaitCode.REGISTRY_REFUSES, describe_refusal(error)


@dataclass(frozen=True, slots=True)
class BatchEstimate:
    """The cost of a batch: `combined_price` if all blocks are ready at once and share
    transactions, `fee_needed` if they are proven separately. Hops are counted once per source.
    """

    destination: int
    free: bool  # the destination accepts batches without a fee
    blocks: tuple[BlockEstimate, ...]
    combined_price: Price
    deliveries: tuple[DeliveryPrice, ...]  # at most

    @property
    def fee_needed(self) -> int:
        if self.free:
            return 0
        block_prices = (block.facts_price for block in self.blocks if block.facts_price)
        prices = *block_prices, *self.deliveries
        return sum((price.cost for price in prices), _preparation_price(self.blocks).cost)

    @property
    def delivery_price(self) -> Price:
        """The price of all deliveries, at most."""
        return sum(self.deliveries, Price())

    @property
    def assumes_gas(self) -> bool:
        """Whether the gas of a delivery is an assumption."""
        return any(price.is_assumed for price in self.deliveries)

    @property
    def max_cost(self) -> int:
        """What the batch costs at most, as far as it is priced."""
        return self.combined_price.cost + self.delivery_price.cost

    @property
    def is_complete(self) -> bool:
        """Whether all blocks are priced and none waits."""
        ready_states = {Readiness.PROVEN, Readiness.READY}
        return all(block.price and block.readiness in ready_states for block in self.blocks)


def estimate_batch(
    chains: ChainReaders,
    destination: int,
    queries: Sequence[Query],
    deliveries: Sequence[CheckedDelivery] = (),
    *,
    proves: bool = True,
) -> BatchEstimate:
    """Estimate unsaved queries and the deliveries of one batch. Raises `ChainError` if a retry may
    help.
    """
    blocks = tuple(_estimate_blocks(chains, destination, queries)) if proves else ()
    separate = (block.facts_price for block in blocks if block.facts_price and not block.pieces)
    combined_price = sum(separate, _preparation_price(blocks))
    for source in {block.source for block in blocks}:
        ready = [block for block in blocks if block.source == source and block.pieces]
        if ready:
            leaves = {number: leaf for block in ready for number, leaf in block.leaves.items()}
            registry = chains.routes.registries[source, destination]
            calls = join_pieces([piece for block in ready for piece in block.pieces])
            combined_price += _price_calls(chains, registry, calls, leaves) or Price()
    free = chains.chain(destination).free
    delivery_prices = _price_deliveries(chains, destination, queries, deliveries)
    return BatchEstimate(destination, free, blocks, combined_price, tuple(delivery_prices))


def _price_deliveries(
    chains: ChainReaders,
    destination: int,
    queries: Sequence[Query],
    deliveries: Sequence[CheckedDelivery],
) -> Iterator[DeliveryPrice]:
    if not deliveries:
        return
    fees = chains.client(destination).fees()
    for data, contract_gas, is_assumed, estimate in delivery_estimates(
        chains, destination, queries, deliveries
    ):
        price = 1, len(data), estimate.gas, fees.max_fee, estimate.max_cost(fees)
        yield DeliveryPrice(*price, contract_gas, is_assumed)


def _preparation_price(blocks: Sequence[BlockEstimate]) -> Price:
    """The preparations of all blocks. Per source, the longest chain of hops serves all blocks."""
    prices: dict[tuple[int, object], Price] = {}
    for block in blocks:
        for key, price in block.preparations.items():
            other = prices.setdefault((block.source, key), price)
            prices[block.source, key] = max(other, price, key=lambda price: price.cost)
    return sum(prices.values(), Price())


def _estimate_blocks(
    chains: ChainReaders, destination: int, queries: Sequence[Query]
) -> Iterator[BlockEstimate]:
    for (source, timestamp), group in _group_queries(queries, "timestamp").items():
        block_estimate = BlockEstimate(source, group, chains.head(source).final_number)
        try:
            block, reason = chains.block_at_time(source, timestamp)
        except ChainError as error:
            block_estimate.fail(error)
        else:
            for query in group:
                query.block = block
            if block is not None or reason is None:
                continue
            block_estimate.wait(Readiness.NOT_FINAL, reason)
        yield block_estimate
    for (source, _), group in _group_queries(queries, "block").items():
        registry = chains.routes.registries[source, destination]
        block_estimate = BlockEstimate(source, group, chains.provable_head(registry).final_number)
        try:
            _estimate_block(chains, registry, block_estimate)
        except ChainError as error:
            block_estimate.fail(error)
        yield block_estimate


def _group_queries(
    queries: Sequence[Query], column: str
) -> dict[tuple[int, int], tuple[Query, ...]]:
    """Group queries by source and this column, in order. Queries without a value are left out."""
    groups: dict[tuple[int, int], tuple[Query, ...]] = {}
    for query in queries:
        if (value := getattr(query, column)) is not None:
            key = query.source, value
            groups[key] = (*groups.get(key, ()), query)
    return groups


def _estimate_block(chains: ChainReaders, registry: Registry, estimate: BlockEstimate) -> None:
    head, source = chains.provable_head(registry), chains.client(estimate.source)
    has_time = any(query.timestamp is not None for query in estimate.queries)
    if has_time or any(query.name for query in estimate.queries):
        # Blocks and accounts that are looked up are stored for good: they wait for a final block.
        head = chains.head(estimate.source)
        estimate.last_final = head.final_number
    last = (estimate.block or 0) + has_time  # a time is proven with the header after the block's
    if reason := head.wait_reason(last):
        estimate.wait(Readiness.NOT_FINAL, reason)
    if last > head.number:
        return
    plan = BlockPlan.read(chains, registry, estimate.block or 0, estimate.queries)
    words = plan.registry_block.words
    estimate.proven = [
        (query, names)
        for query in estimate.queries
        if (
            names := [
                name
                for name, fact in facts_of(query).items()
                if words[fact] is not None and name != BLOCK_AT_TIME
            ]
        )
    ]
    if plan.registry_block.is_complete:
        estimate.readiness, estimate.code, estimate.sentence = Readiness.PROVEN, "", ""
        estimate.facts_price = Price()
        return
    leaves: dict[int, bytes] = {}
    anchor = plan.find_anchor()
    while isinstance(anchor, Preparation):
        estimate.hops += anchor.count if isinstance(anchor, HopPreparation) else 0
        estimate.sentence = estimate.sentence or anchor.sentence
        price = _price_calls(chains, registry, [PlannedCall(anchor.calldata)], leaves)
        if price is None:
            estimate.sentence = f"{anchor.sentence} {NOT_PRICED}"
            return
        estimate.add(anchor, price)
        leaves[anchor.next_start] = block_leaf(source.header(anchor.next_start))
        anchor = plan.find_anchor(assumed=anchor.known_afterwards)
    if isinstance(anchor, Anchor):
        _estimate_facts(plan, estimate, anchor, leaves)
    else:
        _mark_unknown(estimate, anchor)


def _mark_unknown(estimate: BlockEstimate, result: HashNotKnown) -> None:
    """Say why the registry knows no hash, and whether it ever can."""
    if result.distance is not None:
        estimate.distance = result.distance
        estimate.wait(Readiness.OUT_OF_REACH, result.reason)
    elif result.is_permanent:
        estimate.wait(Readiness.FAILS, result.reason)
    elif estimate.readiness is not Readiness.NOT_FINAL:
        estimate.wait(Readiness.NOT_KNOWN, result.reason)


def _estimate_facts(
    plan: BlockPlan, estimate: BlockEstimate, anchor: Anchor, leaves: Mapping[int, bytes]
) -> None:
    chains, registry, missing = plan.chains, plan.registry, plan.missing
    pieces = _fetch_pieces(plan, anchor, missing)
    proves_accounts = any(isinstance(piece, AccountPiece) and piece.accounts for piece in pieces)
    is_whole = proves_accounts or not missing.accounts
    estimate.sentence = estimate.sentence or ("" if is_whole else HEADER_FIRST)
    estimate.hops += bool(anchor.hop)
    price = _price_calls(chains, registry, join_pieces(pieces), leaves)
    if price and is_whole:
        estimate.leaves, estimate.pieces = leaves, tuple(pieces)
    elif price:
        leaves = {**leaves, plan.header.number: block_leaf(plan.header)}
        rest = FactGroups(missing.accounts, frozenset(), ())
        rest_pieces = _fetch_pieces(plan, Anchor(plan.header, is_accumulated=True), rest)
        rest_price = _price_calls(chains, registry, join_pieces(rest_pieces), leaves)
        price = rest_price and price + rest_price
    estimate.facts_price = price
    if not price:
        estimate.sentence = f"{estimate.sentence} {NOT_PRICED}"


def _fetch_pieces(plan: BlockPlan, anchor: Anchor, missing: FactGroups) -> list[Piece]:
    proofs = plan.content.source.account_proofs(plan.header, missing.account_slots)
    return plan.cut_into_pieces(plan.header.number, anchor, missing, proofs)


def _price_calls(
    chains: ChainReaders,
    registry: Registry,
    calls: Sequence[PlannedCall],
    leaves: Mapping[int, bytes],
) -> Price | None:
    """The price of the calls, or None if they cannot be simulated.

    Calls after other transactions are tried with a state override in which their blocks are
    accumulated, with these leaves; some nodes refuse overrides.
    """
    estimator, price = chains.estimator(registry), Price()
    override = accumulated_override(registry.address, leaves) if leaves else None
    try:
        results = estimator.estimate_and_split(calls, override)
        fees = estimator.destination.fees()
        for call, result in results.items():
            if not isinstance(result, GasEstimate):
                raise result
            price += Price(1, len(call.data), result.gas, fees.max_fee, result.max_cost(fees))
    except OVERRIDE_ERRORS:
        if not leaves:
            raise
        return None
    return price
