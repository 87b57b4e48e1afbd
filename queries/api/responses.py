"""The responses about batches, chains and keys as pydantic models, and the types of all responses.

Other responses stand beside their endpoints. A chain's numbers (ids, blocks, amounts, gas) are
decimal text, because many JSON readers keep no more than 53 bits of a number.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

from accounts.keys.text import ALPHABET, ID_LENGTH
from queries.api.rejection_codes import rejection_codes, wait_codes
from queries.contracts.create2 import courier_address, verifier_address
from queries.ids import ID_PATTERN
from queries.proving import AccountField, HeaderField
from queries.proving.facts import EVENT_NAME
from queries.schema.bodies import ACCOUNT_PATTERN, ADDRESS, CHAIN_PATTERN, DECIMAL, Blocks, map_keys
from queries.schema.json_schema import example_of, text_schema
from queries.selectors import EXAMPLE_SELECTOR, SELECTOR_PATTERN
from queries.sources import RegistryKind
from queries.statuses import BatchStatus, DeliveryState, GasSource, StepName, StepStatus


@lru_cache(1_024)  # the steps of a batch's queries begin and end together
def format_moment(value: datetime) -> str:
    """UTC with milliseconds, because steps can be that short: 2026-11-20T07:41:03.204Z."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def enum_schema(members: Iterable[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(members)})


def _number_schema(example: int) -> WithJsonSchema:
    return text_schema(DECIMAL, str(example))


BATCH_ID = "01J2VM6JSA6VKKZ0ENWGYYPR18"
ChainId = Annotated[int, PlainSerializer(str), _number_schema(11155111)]
DestinationId = Annotated[int, PlainSerializer(str), _number_schema(11155420)]
BlockNumber = Annotated[int, PlainSerializer(str), _number_schema(5186021)]
Gas = Annotated[int, PlainSerializer(str), _number_schema(170480)]
Wei = Annotated[int, PlainSerializer(str), _number_schema(340960000000001)]
Moment = Annotated[
    datetime,
    PlainSerializer(format_moment),
    WithJsonSchema(
        {"type": "string", "format": "date-time", "examples": ["2026-11-20T07:41:03.204Z"]}
    ),
]
Id = Annotated[str, text_schema(ID_PATTERN, BATCH_ID)]
KeyId = Annotated[str, text_schema(f"^[{ALPHABET}]{{{ID_LENGTH}}}$", "qok33gj3fx")]
_HOLDER, _ETHER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", f"0x{10**18:064x}"
Address = Annotated[str, text_schema(f"^{ADDRESS}$", _HOLDER)]
_REGISTRY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
ContractAddress = Annotated[str, text_schema(f"^{ADDRESS}$", _REGISTRY)]
_HORIZON, CONSTRUCTOR_ARGUMENTS = "2100-01-01T00:00:00.000Z", f"0x{4_102_444_800:064x}"
TransactionHash = Annotated[str, text_schema("^0x[0-9a-f]{64}$", f"0x{'5c504ed4' * 8}")]
Selector = Annotated[str, text_schema(SELECTOR_PATTERN, EXAMPLE_SELECTOR)]
Word = Annotated[str, text_schema("^0x[0-9a-f]{64}$", _ETHER)]
HexBytes = Annotated[str, text_schema("^0x([0-9a-f]{2})*$", "0x")]
FactName = Annotated[str, text_schema(f"^([A-Z_]+|0x[0-9a-f]{{64}}|{EVENT_NAME})$", "BALANCE")]
_EMPTY_AS_NULL = BeforeValidator(lambda text: text or None)
Prop = Annotated[str, BeforeValidator(attrgetter("name")), enum_schema(AccountField.__members__)]
HeaderName = Annotated[str, enum_schema(HeaderField.__members__)]
Values = Annotated[dict[str, Word], Field(examples=[{"BALANCE": _ETHER}])]
RejectionCode = Annotated[
    str, Field(description="For programs: one of the codes of a batch.", examples=rejection_codes())
]
QueryStatus = Annotated[str, enum_schema(["DONE", "IN_PROGRESS", "REJECTED"])]


class ApiModel(BaseModel):
    """A response; members that are not given are left out."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        from_attributes=True,
        frozen=True,
    )


class WarningResponse(ApiModel):
    """A part of the request that was accepted but is probably a mistake."""

    sentence: str = Field(examples=['Fields that are not known here were ignored: "label".'])
    path: str = Field(description="The path of the value in the request.", examples=[""])


class BaseSubmissionResponse(ApiModel):
    page: str = Field(
        description="The address of the batch's page.",
        examples=[f"https://proofs.example.org/explorer/query/{BATCH_ID}"],
    )
    warnings: list[WarningResponse] = Field(examples=[[]])


class SubmissionResponse(BaseSubmissionResponse):
    internal_id: Id = Field(description="The batch's id, for polling.")


class RejectionResponse(ApiModel):
    code: RejectionCode
    message: str = Field(validation_alias="sentence", examples=["The block is out of reach."])
    step: Annotated[StepName | None, _EMPTY_AS_NULL]
    retryable: bool


WaitsFor = Annotated[
    str | None,
    BeforeValidator(lambda reason: reason and reason.sentence),
    Field(description="The reason for waiting, in a sentence."),
]
WaitCode = Annotated[
    str | None,
    BeforeValidator(lambda reason: (reason and reason.code) or None),
    Field(
        validation_alias="waits_for",
        description="The code of `waitsFor`, for programs: one of the codes of a batch.",
        examples=[None, *wait_codes()],
    ),
]


class DeliveryErrorResponse(ApiModel):
    code: str = Field(
        description="One of the codes of a delivery, or of a rejected batch.",
        examples=["contract_refuses"],
    )
    message: str = Field(
        validation_alias="sentence", examples=["The contract reverts: this block is not newer."]
    )


class DeliveryResponse(ApiModel):
    """A call of a contract after the batch is DONE, and what became of it."""

    to: Address = Field(description="The contract.")
    function: str = Field(description="As requested.", examples=["update(uint256)"])
    state: DeliveryState = Field(
        description="SENT until its transaction is deep enough, then DELIVERED; SENT again if a "
        "reorganisation removes it. SKIPPED: `unless` was true.",
        examples=["DELIVERED"],
    )
    ended: Moment | None = Field(validation_alias="ended_at")
    transaction_hash: Annotated[TransactionHash | None, _EMPTY_AS_NULL] = Field(
        description="null until it is sent."
    )
    transaction_block: BlockNumber | None
    gas: Gas | None = Field(
        description="The gas that the contract gets; null until a trial run has set it.",
        examples=["150000"],
    )
    gas_source: GasSource = Field(
        description="What sets it. TRIAL: half as much on top of what a trial run needed.",
        examples=["TRIAL"],
    )
    gas_used: Gas | None
    waits_for: WaitsFor
    wait_code: WaitCode
    refusals: int = Field(
        description="How often it would have failed, or has, so far.", examples=[0]
    )
    next_attempt: Moment | None = Field(
        validation_alias="retry_at", description="While it waits after a refusal.", examples=[None]
    )
    error: DeliveryErrorResponse | None = Field(description="Why it FAILED.", examples=[None])


class BatchResponse(ApiModel):
    query_status: QueryStatus = Field(
        description="The status that existing clients read: DONE, REJECTED, or IN_PROGRESS for the "
        "rest."
    )
    internal_id: Id
    status: BatchStatus = Field(examples=["DONE"])
    destination_chain_id: DestinationId
    fee: Wei = Field(description="The maximum that may be spent, in wei.")
    spent: Wei = Field(
        description="What was spent so far, in wei. It can still change, by little, until the "
        "transactions are final: a reorganisation may mine them again at another gas price."
    )
    submitted: Moment
    ended: Moment | None
    waits_for: WaitsFor
    wait_code: WaitCode
    rejection: RejectionResponse | None = Field(
        default=None, description="Why the batch was REJECTED."
    )
    info: list[str] = Field(default=[], description="Why the batch was REJECTED, as a list.")
    prove: bool = Field(
        default=True,
        description="false: nothing is stored in a registry, only delivered. Left out otherwise.",
        examples=[True],
    )
    deliveries: list[DeliveryResponse] = Field(
        default=[], description="Its deliveries; the batch may be DONE before they have ended."
    )

    @property
    def code(self) -> str | None:
        """The code of its rejection, or of its wait."""
        return self.rejection.code if self.rejection else self.wait_code


class StepErrorResponse(ApiModel):
    error: str = Field(validation_alias="sentence", examples=["The block is out of reach."])
    code: RejectionCode
    retryable: bool


class StepResponse(ApiModel):
    step: StepName = Field(validation_alias="name")
    status: StepStatus | None = Field(
        description="null until the step begins.", examples=["COMPLETED"]
    )
    started: Moment | None = Field(validation_alias="began_at")
    completed: Moment | None = Field(validation_alias="completed_at")
    transaction_hash: Annotated[TransactionHash | None, _EMPTY_AS_NULL]
    transaction_block: BlockNumber | None
    gas_used: Gas | None
    error: StepErrorResponse | None = Field(description="Why the step was not completed.")


class EventResponse(ApiModel):
    """A fact about a block's content. It has the members that apply to its kind."""

    name: str = Field(
        description="The fact's kind, and where it is in the block.", examples=["LOG:3:0"]
    )
    transaction_index: int | None = None
    log: int | None = Field(default=None, description="The log's index within its receipt.")
    log_index: int | None = Field(
        default=None, description="The log's index within the block, as JSON-RPC counts."
    )
    position: int | None = Field(default=None, description="The withdrawal's index in the block.")
    address: Address | None = Field(
        default=None, description="The log's emitter, or the withdrawal's recipient."
    )
    topics: list[Word] | None = None
    data: HexBytes | None = Field(default=None, description="The log's data, in hex.")
    transaction_hash: Word | None = None
    type: int | None = Field(default=None, description="The transaction's type.")
    status: int | None = Field(
        default=None, description="1 succeeded, 0 failed; left out before Byzantium."
    )
    cumulative_gas_used: str | None = None
    log_count: int | None = None
    withdrawal_index: str | None = None
    validator_index: str | None = None
    amount: str | None = Field(default=None, description="Of the withdrawal, in Gwei.")


class QueryResponse(ApiModel):
    """A query for an account at a block, or for the block's header fields, time and contents."""

    origin_chain_id: ChainId = Field(validation_alias="source")
    selector: Selector = Field(description="The block as it was asked for.")
    block: BlockNumber | None = Field(description="null until a timestamp's block is known.")
    account: Annotated[Address | None, _EMPTY_AS_NULL]
    name: Annotated[str | None, _EMPTY_AS_NULL] = Field(
        description="The ENS name, if the request named the account by one."
    )
    props: list[Prop] = Field(examples=[["BALANCE"]])
    slots: list[Word] = Field(examples=[[]])
    header: list[HeaderName] = Field(examples=[[]])
    events: list[EventResponse] = Field(
        default=[],
        description="What was asked for of the block's content, once its header is known.",
        examples=[[]],
    )
    steps: list[StepResponse]
    waits_for: WaitsFor
    wait_code: WaitCode
    values: Annotated[Values | None, _EMPTY_AS_NULL] = Field(
        description="Once the query's steps are COMPLETED: the values in the registry, 32 bytes "
        "each, in hex. The batch may still wait for its other queries. null in a batch that is "
        "REJECTED, and again if a reorg removed them and they could not be proven again; the last "
        "step has the error then."
    )
    registry: Annotated[ContractAddress | None, _EMPTY_AS_NULL] = Field(
        description="As soon as there are values: the contract that holds them, which is the "
        "events verifier for `events`, and the registry for others."
    )


class StatusResponse(BatchResponse):
    queries: list[QueryResponse] = Field(
        default=[], description="Left out with details=0.", examples=[[example_of(QueryResponse)]]
    )
    next_query: int | None = Field(
        default=None,
        description="The `fromQuery` of the next page of queries; null on the last page.",
        examples=[None],
    )


class BatchDataResponse(ApiModel):
    id: Id
    status: QueryStatus
    data: Blocks = Field(
        description="What these queries ask for, as the request spells it.",
        examples=[
            {"11155111": {EXAMPLE_SELECTOR: {"accounts": {_HOLDER: {"props": ["BALANCE"]}}}}}
        ],
    )


_AccountResults = Annotated[
    dict[str, Word],
    map_keys("prop or slot", f"^({'|'.join(AccountField.__members__)}|0x[0-9a-fA-F]{{1,64}})$"),
]
_ChainResults = Annotated[dict[str, "BlockResultsResponse"], map_keys("block", SELECTOR_PATTERN)]


class BlockResultsResponse(ApiModel):
    header: Annotated[
        dict[str, Word], map_keys("field", f"^({'|'.join(HeaderField.__members__)})$")
    ] = {}
    accounts: Annotated[dict[str, _AccountResults], map_keys("account", ACCOUNT_PATTERN)]
    events: Annotated[dict[str, Word], map_keys("event", f"^({EVENT_NAME})$")] = {}


class BatchQueryResponse(StatusResponse):
    batch_query: BatchDataResponse = Field(description="For existing clients, which read this.")
    results: Annotated[dict[str, _ChainResults], map_keys("chain", CHAIN_PATTERN)] = Field(
        description="Once the batch is DONE: the values of these queries, under the same keys.",
        examples=[{"11155111": {EXAMPLE_SELECTOR: {"accounts": {_HOLDER: {"BALANCE": _ETHER}}}}}],
    )


class BatchListResponse(ApiModel):
    batches: list[BatchResponse]
    cursor: Id | None = Field(description="The cursor of the next page.", examples=[None])


class ChainResponse(ApiModel):
    name: str = Field(examples=["Sepolia"])
    aliases: list[str] = Field(
        description="Names that requests may use in place of the id.", examples=[[]]
    )


class ConnectionResponse(ApiModel):
    origin_chain_id: ChainId
    destination_chain_id: DestinationId
    origin: ChainResponse
    destination: ChainResponse = Field(examples=[{"name": "OP Testnet", "aliases": []}])
    kind: RegistryKind
    registry: ContractAddress
    events_verifier: Address = Field(
        description="Where the events verifier beside the registry is, or will be once it is "
        "deployed: the address follows from its code and the registry's address.",
        examples=[verifier_address(_REGISTRY)],
    )
    lookup: Address | None = Field(
        description="Where the contract is that reads facts without a transaction (ERC-3668), "
        "likewise. null if the operator names no gateways.",
        examples=[None],
    )
    lookup_arguments: HexBytes | None = Field(
        description="The arguments of the lookup's constructor, ABI-encoded: registry, events "
        "verifier, and the URLs of the gateways. Its address follows from them and its bytecode.",
        examples=[None],
    )
    router: Address = Field(
        description="Where the router over all registries of the destination is, or will be once "
        "`deploy_router` deploys it: the address follows from its code and the registries.",
        examples=[verifier_address(_REGISTRY)],
    )
    events_router: Address = Field(
        description="Where the router over their events verifiers is, likewise.",
        examples=[verifier_address(_REGISTRY)],
    )
    courier: Address = Field(
        description="Where the contract is that calls yours when a batch has deliveries, likewise: "
        "it has the same address on every chain, and no rights.",
        examples=[courier_address()],
    )
    constructor_arguments: HexBytes = Field(
        description="ABI-encoded. The registry's address follows from them and the bytecode of its "
        "kind.",
        examples=[CONSTRUCTOR_ARGUMENTS],
    )
    verifiable: bool = Field(
        description="Whether its address proves its code and its constructor's arguments."
    )
    horizon: Moment = Field(
        description="From then on the registry takes no headers.", examples=[_HORIZON]
    )
    state_horizon: Moment = Field(
        description="From then on it takes no accounts and slots. Earlier than `horizon` if a "
        "header was shown not to hold the state after its block.",
        examples=[_HORIZON],
    )
    newest_block: BlockNumber | None = Field(
        description="The origin's newest block, as a prover recorded it last. null: not known yet."
    )
    final_block: BlockNumber | None = Field(
        description="The newest of its blocks that is final enough to be proven on this route."
    )
    blocks_back: int | None = Field(
        description="The origin's nodes can prove accounts up to this many blocks before the "
        "newest one; at most 8,191 are measured, and a node that proves all blocks of a younger "
        "chain has 8,191 too. -1: for no block. null: not measured yet.",
        examples=[8_191],
    )


class ConnectionListResponse(ApiModel):
    connections: list[ConnectionResponse]


class KeyLimitsResponse(ApiModel):
    requests: int = Field(examples=[600])
    seconds: int = Field(examples=[60])


class KeyUseResponse(ApiModel):
    today: int
    total: int
    last: Moment | None


class ApiKeyResponse(ApiModel):
    id: KeyId
    name: str = Field(examples=["Bridge"])
    owner: Address
    owner_chain_id: ChainId | None = Field(examples=[None])
    created: Moment
    limits: KeyLimitsResponse
    use: KeyUseResponse


class ErrorResponse(ApiModel):
    """The shape of every error."""

    error: str = Field(
        description="A sentence for people.",
        examples=[
            (
                "fee is missing: the maximum that may be spent on the batch, in wei of the "
                "destination chain."
            )
        ],
    )
    code: str = Field(description="The error's code, for programs.", examples=["missing_field"])
    path: str = Field(description="The value in the request that is at fault.", examples=["fee"])
    retryable: bool = Field(
        description="Whether sending the same request again may help.", examples=[False]
    )
    detail: str = Field(
        default="",
        description="More detail, where `error` is a fixed text because clients compare it.",
    )
    message: str = Field(default="", description="The same as `error`, in answers to lookups.")


class OpenApiResponse(ApiModel):
    """An OpenAPI document."""

    model_config = ConfigDict(extra="allow")
    openapi: str = Field(examples=["3.1.0"])
