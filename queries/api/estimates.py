"""POST /estimate and POST /witness."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from django.http import HttpRequest
from pydantic import Field

from accounts.http.errors import RefusalError
from accounts.models import ApiKey
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
from queries.chain import ChainError
from queries.error_codes import EndpointCode, EstimateCode
from queries.facts import BLOCK_AT_TIME
from queries.planning import on_request
from queries.planning.deliveries import ASSUMED_BYTE_GAS, ASSUMED_GAS, ASSUMED_SLOTS
from queries.planning.estimate import BatchEstimate, BlockEstimate
from queries.planning.witness import NotProvableError, RegistryWitness, WitnessFact, make_witnesses
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.bodies import EstimateRequest
from queries.schema.checked_batch import CheckedBatch
from queries.schema.json_schema import example_of
from queries.sources import Routes
from queries.statuses import Readiness
from queries.wait_reasons import Reason

WITNESS_SECONDS = 30.0
MAX_WITNESS_BLOCKS = 5
MAX_WITNESS_ITEMS = 50  # of each kind: accounts, slots, events


class PriceResponse(ApiModel):
    transactions: int
    bytes: int = Field(examples=[4_100])
    gas: Gas
    gas_price: Wei = Field(examples=["2000000000"])
    cost: Wei = Field(description="In wei.")


class DeliveryPriceResponse(PriceResponse):
    contract_gas: Gas = Field(
        description="The gas that the contract gets: the request's, or half as much on top of what "
        "a trial run needs now."
    )
    assumed: bool = Field(
        validation_alias="is_assumed",
        description="Whether `contractGas` is an assumption, because the contract refuses the call "
        f"before the facts are proven: {ASSUMED_GAS:,} gas, {ASSUMED_BYTE_GAS} for each byte of "
        f"calldata and {ASSUMED_SLOTS} new slots, and half as much on top.",
        examples=[False],
    )


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
    deliveries: list[DeliveryPriceResponse] = Field(
        default=[],
        description="What each delivery costs at most, if its contract uses all the gas that it "
        "gets. `feeNeeded` includes it, and `cost` does not. Left out without deliveries.",
        examples=[[]],
    )


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
    batch = read_batch(content, routes, limits, needs_fee=False)
    return _estimate_response(batch, on_request.estimate(key, batch, routes))


def _estimate_response(batch: CheckedBatch, result: BatchEstimate) -> EstimateResponse:
    members: dict[str, Any] = {}
    if result.deliveries:
        members["deliveries"] = list(map(DeliveryPriceResponse.model_validate, result.deliveries))
    return EstimateResponse(
        destination_chain_id=batch.destination,
        free=result.free,
        fee_needed=result.fee_needed,
        complete=result.is_complete,
        **asdict(result.combined_price),
        warnings=_warnings(batch),
        blocks=[_block_response(block) for block in result.blocks],
        **members,
    )


def _warnings(batch: CheckedBatch) -> list[WarningResponse]:
    return [WarningResponse.model_validate(warning) for warning in batch.warnings]


def _block_response(block: BlockEstimate) -> BlockEstimateResponse:
    is_waiting = block.sentence and not block.is_rejected
    reason = Reason(block.code, block.sentence) if is_waiting else None
    wait_members: dict[str, Any] = {"waits_for": reason, "wait_code": reason}
    return BlockEstimateResponse(
        origin_chain_id=block.source,
        selectors=block.selectors,
        block=block.block,
        last_final_block=block.last_final,
        readiness=block.readiness,
        error=block.sentence if block.is_rejected else None,
        code=block.code if block.is_rejected else None,
        distance=block.distance,
        hops=block.hops,
        proven=[
            ProvenResponse(account=query.account or None, name=query.name or None, facts=facts)
            for query, facts in block.proven
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
    with on_request.rate_limited_chain_readers(key, batch, routes, WITNESS_SECONDS) as (
        chains,
        queries,
    ):
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
