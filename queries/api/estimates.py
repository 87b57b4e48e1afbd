"""POST /estimate and POST /witness. They ask nodes, so they are bounded in time and in load."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from threading import Lock
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from pydantic import Field

from accounts.http.errors import RefusalError
from accounts.http.rate_limits import MINUTE, refuse_over_quota, use_quota
from accounts.models import Account, ApiKey
from accounts.wording import format_duration
from queries.api.endpoint import BATCH_ERRORS, endpoint
from queries.api.request_parts import json_body
from queries.api.responses import (
    Address,
    ApiModel,
    BlockNumber,
    ChainId,
    ContractAddress,
    DestinationId,
    FactName,
    Gas,
    HexBytes,
    Selector,
    WaitCode,
    WaitsFor,
    WarningResponse,
    Wei,
    Word,
)
from queries.chain.errors import ChainError
from queries.config.routes import Routes
from queries.error_codes import RETRY_SOON, EndpointCode, EstimateCode, busy_refusal
from queries.facts import BLOCK_AT_TIME
from queries.http.thread_slots import thread_slot
from queries.intake import submit
from queries.models import Batch, Query
from queries.planning.estimate import BatchEstimate, BlockEstimate, estimate_batch
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, RegistryWitness, WitnessFact, make_witnesses
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.bodies import EstimateRequest
from queries.schema.checked_batch import CheckedBatch, selector_of
from queries.schema.json_schema import example_of
from queries.statuses import Readiness
from queries.wait_reasons import Reason

ESTIMATES_PER_MINUTE = 30  # for an account, whichever of its keys is used
ESTIMATE_SECONDS, WITNESS_SECONDS = 10.0, 30.0
MAX_WITNESS_BLOCKS = 5
MAX_WITNESS_ITEMS = 50  # of each kind: accounts, slots, events

_busy_accounts: set[int] = set()  # primary keys of accounts with an estimate or witness in progress
_busy_lock = Lock()


class PriceResponse(ApiModel):
    transactions: int
    bytes: int = Field(examples=[4_100])
    gas: Gas
    gas_price: Wei = Field(examples=["2000000000"])
    cost: Wei = Field(description="In wei.")


class ProvenResponse(ApiModel):
    account: Address | None
    name: str | None
    facts: list[FactName]


class BlockEstimateResponse(ApiModel):
    origin_chain_id: ChainId
    selectors: list[Selector]
    block: BlockNumber | None
    last_final_block: BlockNumber
    readiness: Readiness = Field(
        description="Whether the block could be proven now. A submitted batch waits for a block "
        "that is NOT_FINAL, or NOT_KNOWN to the destination (`waitCode` says why), and is rejected "
        "for one that is OUT_OF_REACH or FAILS.",
        examples=["READY"],
    )
    waits_for: WaitsFor
    wait_code: WaitCode
    error: str | None
    code: str | None
    distance: BlockNumber | None = Field(examples=[None])
    hops: int = Field(
        description="The number of proofs of earlier block hashes (EIP-2935) that lead down to "
        "the block.",
        examples=[0],
    )
    proven: list[ProvenResponse] = Field(
        description="Facts that are in the registry already.", examples=[[]]
    )
    price: PriceResponse | None = Field(examples=[example_of(PriceResponse)])


class EstimateResponse(PriceResponse):
    destination_chain_id: DestinationId
    free: bool = Field(examples=[False])
    fee_needed: Wei = Field(description="A sufficient `fee`, in wei.")
    complete: bool = Field(description="Whether `cost` includes the price of every block.")
    warnings: list[WarningResponse] = Field(examples=[[]])
    blocks: list[BlockEstimateResponse]


class VerifiedFactResponse(ApiModel):
    block: BlockNumber
    account: Address | None
    name: FactName = Field(description="A field's name, or a slot.")
    value: Word


class EventWitnessResponse(ApiModel):
    """A proof about a block's content, for `verify(section, witness)` of the events verifier."""

    block: BlockNumber
    verifier: ContractAddress
    section: HexBytes = Field(description="The first parameter of `verify`.", examples=["0x020001"])
    witness: HexBytes = Field(description="The second parameter of `verify`.", examples=["0x0001"])
    facts: list[VerifiedFactResponse]
    gas: Gas


class WitnessResponse(ApiModel):
    origin_chain_id: ChainId
    registry: ContractAddress
    proof: HexBytes = Field(
        description="The bytes to pass to the registry's `verify`; `0x` if `facts` is empty.",
        examples=["0x020001"],
    )
    facts: list[VerifiedFactResponse] = Field(
        description="The requested facts in the order of `verify`: fields of accounts, then slots, "
        "then header fields. Accounts and slots are in the order of their hashes, so find a fact "
        "by its block, account and name."
    )
    events: list[EventWitnessResponse] = Field(
        description="Facts about the content of blocks, for the events verifier.", examples=[[]]
    )
    gas: Gas = Field(description="Gas of transactions that only verify these proofs.")
    valid_until: BlockNumber | None = Field(
        description="The last block of the destination in which `verify` accepts the proof; null "
        "if it stays valid.",
        examples=[None],
    )


class WitnessListResponse(ApiModel):
    destination_chain_id: DestinationId
    warnings: list[WarningResponse] = Field(examples=[[]])
    witnesses: list[WitnessResponse] = Field(description="One for each origin chain.")


@endpoint(
    "POST",
    "/estimate",
    "What a batch would take if it were submitted now: what is proven already, what is not "
    "final yet or out of reach, and the fee. Send `feeNeeded`: it covers each block sent "
    "alone, at up to twice the current base fee. `cost` is the price if READY blocks share "
    "transactions; each block's `price` is for that block alone. A batch is sent if its fee "
    "covers the base fee at that time plus an eighth. The body is that of a batch; it needs no "
    "fee. Nothing is stored.",
    body=EstimateRequest,
    own_errors=(*BATCH_ERRORS, *EstimateCode),
)
def estimate(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> EstimateResponse:
    content = json_body(request, limits.body_bytes)
    return estimate_body(key, content, routes, limits)


def estimate_body(
    key: ApiKey, content: object, routes: Routes, limits: BatchLimits
) -> EstimateResponse:
    """Estimate the batch in a parsed body, for the API and for a page."""
    batch = read_batch(content, routes, limits, needs_fee=False)
    with rate_limited_chain_readers(key, batch, routes, ESTIMATE_SECONDS) as (chains, queries):
        result = estimate_batch(chains, batch.destination, queries)
    return _estimate_response(batch, result, free=routes.chains[batch.destination].free)


@contextmanager
def rate_limited_chain_readers(
    key: ApiKey, batch: CheckedBatch, routes: Routes, seconds: float
) -> Iterator[tuple[ChainReaders, list[Query]]]:
    """Yield what `chain_readers` yields.

    Also raises `RefusalError` if the account is over its limits, or a block is too far ahead.
    """
    submit.refuse_blocks_beyond_head(batch.blocks, routes.limits)
    refuse_over_quota(
        use_quota(f"estimates of {key.owner.pk}", ESTIMATES_PER_MINUTE, MINUTE),
        EstimateCode.TOO_MANY_ESTIMATES,
        f"An account has {ESTIMATES_PER_MINUTE} estimates and witnesses a minute; yours has used "
        "them up.",
    )
    with _account_slot(key.owner), chain_readers(batch, routes, seconds) as readers_and_queries:
        yield readers_and_queries


@contextmanager
def chain_readers(
    batch: CheckedBatch, routes: Routes, seconds: float
) -> Iterator[tuple[ChainReaders, list[Query]]]:
    """Yield chain readers and the batch's queries, which are not stored.

    Raises `RefusalError` if the server is busy, or if the nodes fail or take longer than `seconds`.
    """
    row = Batch(destination=batch.destination, submitted_at=timezone.now())
    queries = list(submit.build_queries(row, batch.blocks))
    with thread_slot() as acquired:
        if not acquired:
            raise busy_refusal(
                EstimateCode.ESTIMATES_BUSY, "Other requests are waiting for nodes right now"
            )
        chains = ChainReaders(
            routes, deadline=time.monotonic() + seconds, head_cache_seconds=seconds
        )
        with closing(chains):
            try:
                yield chains, queries
            except ChainError as error:
                raise RefusalError(
                    EstimateCode.CHAIN_UNAVAILABLE,
                    f"{error} This request gives up after {seconds:.0f} seconds; a submitted batch "
                    f"keeps trying for up to {format_duration(int(routes.limits.batch_max_age))}.",
                    headers=RETRY_SOON,
                ) from error


@contextmanager
def _account_slot(owner: Account) -> Iterator[None]:
    """Refuse a second concurrent estimate for an account, so that others get threads too."""
    with _busy_lock:
        if owner.pk in _busy_accounts:
            raise busy_refusal(
                EstimateCode.ESTIMATES_BUSY,
                "An estimate or witness for your account is being made right now",
            )
        _busy_accounts.add(owner.pk)
    try:
        yield
    finally:
        with _busy_lock:
            _busy_accounts.remove(owner.pk)


def _estimate_response(
    batch: CheckedBatch, result: BatchEstimate, *, free: bool
) -> EstimateResponse:
    return EstimateResponse(
        destination_chain_id=batch.destination,
        free=free,
        fee_needed=0 if free else result.fee_needed,
        complete=result.is_complete,
        **asdict(result.combined_price),
        warnings=_warnings(batch),
        blocks=[_block_response(block) for block in result.blocks],
    )


def _warnings(batch: CheckedBatch) -> list[WarningResponse]:
    return [WarningResponse.model_validate(warning) for warning in batch.warnings]


def _block_response(block: BlockEstimate) -> BlockEstimateResponse:
    selectors = (selector_of(query.block, query.timestamp) for query in block.queries)
    is_waiting = block.sentence and not block.is_rejected
    reason = Reason(block.code, block.sentence) if is_waiting else None
    wait_members: dict[str, Any] = {"waits_for": reason, "wait_code": reason}
    return BlockEstimateResponse(
        origin_chain_id=block.source,
        selectors=list(dict.fromkeys(selectors)),
        block=block.block,
        last_final_block=block.last_final,
        readiness=block.readiness,
        error=block.sentence if block.is_rejected else None,
        code=block.code if block.is_rejected else None,
        distance=block.distance,
        hops=block.hops,
        proven=[
            ProvenResponse(account=query.account or None, name=query.name or None, facts=facts)
            for query, names in zip(block.queries, block.proven_facts, strict=False)
            if (facts := [name for name in names if name != BLOCK_AT_TIME])
        ],
        price=PriceResponse.model_validate(block.price) if block.price else None,
        **wait_members,
    )


@endpoint(
    "POST",
    "/witness",
    "A proof that your own transaction passes to the registry's `verify`. `verify` returns the "
    "facts and stores nothing, so there is no batch, fee or status. The body is that of "
    f"a batch with at most {MAX_WITNESS_BLOCKS} blocks, "
    f"{MAX_WITNESS_ITEMS} accounts and {MAX_WITNESS_ITEMS} slots; it needs "
    "no fee. Nodes are asked while you wait, for at most "
    f"{WITNESS_SECONDS:.0f} seconds.",
    body=EstimateRequest,
    own_errors=(
        *BATCH_ERRORS,
        EndpointCode.NOT_PROVABLE_NOW,
        EndpointCode.NOT_PROVABLE,
        *EstimateCode,
    ),
)
def witness(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> WitnessListResponse:
    witness_limits = replace(
        limits,
        blocks=min(limits.blocks, MAX_WITNESS_BLOCKS),
        accounts=min(limits.accounts, MAX_WITNESS_ITEMS),
        slots=min(limits.slots, MAX_WITNESS_ITEMS),
        events=min(limits.events, MAX_WITNESS_ITEMS),
    )
    content = json_body(request, limits.body_bytes)
    batch = read_batch(content, routes, witness_limits, needs_fee=False)
    with rate_limited_chain_readers(key, batch, routes, WITNESS_SECONDS) as (chains, queries):
        try:
            results = make_witnesses(chains, batch.destination, queries)
        except NotProvableError as error:
            code = (
                EndpointCode.NOT_PROVABLE if error.is_permanent else EndpointCode.NOT_PROVABLE_NOW
            )
            raise RefusalError(code, str(error)) from None
        except ChainError as error:
            if error.retryable:
                raise
            raise RefusalError(EndpointCode.NOT_PROVABLE, str(error)) from None
    return WitnessListResponse(
        destination_chain_id=batch.destination,
        warnings=_warnings(batch),
        witnesses=[_witness_response(result) for result in results],
    )


def _witness_response(result: RegistryWitness) -> WitnessResponse:
    return WitnessResponse(
        origin_chain_id=result.registry.source,
        registry=result.registry.address,
        proof=f"0x{result.proof.hex()}",
        facts=_fact_responses(result.facts),
        events=[
            EventWitnessResponse(
                block=entry.piece.anchor.header.number,
                verifier=entry.piece.to,
                section=f"0x{entry.piece.section.hex()}",
                witness=f"0x{entry.piece.witness.hex()}",
                facts=_fact_responses(entry.facts),
                gas=entry.gas,
            )
            for entry in result.event_witnesses
        ],
        gas=result.gas,
        valid_until=result.valid_until,
    )


def _fact_responses(facts: Iterable[WitnessFact]) -> list[VerifiedFactResponse]:
    return [
        VerifiedFactResponse(
            block=query.block or 0,
            account=query.account or None,
            name=name,
            value=f"0x{word.hex()}",
        )
        for query, name, word in facts
        if name != BLOCK_AT_TIME
    ]
