"""What the API answers: pydantic models, and how a view becomes one.

A chain's numbers (ids, blocks, amounts, gas) are decimal text, because many JSON readers keep no
more than 53 bits of a number.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from django.http import HttpResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

from accounts.keys.text import ALPHABET, ID_LENGTH
from queries.api.batch_codes import rejection_codes, wait_codes
from queries.config.registries import RegistryKind
from queries.config.routes import Routes
from queries.ids import ID_PATTERN
from queries.planning.estimate import Readiness
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.view_models import BatchView, QueryPage, QueryView
from queries.schema.batch_request import selector_of
from queries.schema.bodies import (
    ACCOUNT_PATTERN,
    ADDRESS,
    CHAIN_PATTERN,
    DECIMAL,
    SELECTOR_PATTERN,
    Blocks,
    map_keys,
    slot_word,
)
from queries.schema.json_schema import example_of, text_schema
from queries.statuses import ENDED, BatchStatus, StepName, StepStatus
from queries.webhooks.log import ATTEMPTS_SHOWN, DeliveryState


@lru_cache(1_024)  # the steps of a batch's queries begin and end together
def moment(value: datetime) -> str:
    """In UTC and milliseconds, such as 2026-11-20T07:41:03.204Z: steps can be that short."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _enum(members: Iterable[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(members)})


def _number(example: int) -> WithJsonSchema:
    return text_schema(DECIMAL, str(example))


BATCH_ID, EVENT_ID = "01J2VM6JSA6VKKZ0ENWGYYPR18", "01J2VM7B5T3Q1Y8ZC4N6W0XKDE"
ChainId = Annotated[int, PlainSerializer(str), _number(11155111)]
DestinationId = Annotated[int, PlainSerializer(str), _number(11155420)]
BlockNumber = Annotated[int, PlainSerializer(str), _number(5186021)]
Gas = Annotated[int, PlainSerializer(str), _number(170480)]
Wei = Annotated[int, PlainSerializer(str), _number(340960000000001)]
Moment = Annotated[
    datetime,
    PlainSerializer(moment),
    WithJsonSchema(
        {"type": "string", "format": "date-time", "examples": ["2026-11-20T07:41:03.204Z"]}
    ),
]
QUERY_ID_PATTERN = f"{ID_PATTERN[:-1]}-[0-9]{{1,9}}$"  # a batch's id and a query's place
_ACTION_ID_PATTERN = f"{QUERY_ID_PATTERN[:-1]}-({'|'.join(StepName)})$"
Id = Annotated[str, text_schema(ID_PATTERN, BATCH_ID)]
QueryId = Annotated[str, text_schema(QUERY_ID_PATTERN, f"{BATCH_ID}-0")]
ActionId = Annotated[str, text_schema(_ACTION_ID_PATTERN, f"{BATCH_ID}-0-INITIAL_STATE")]
KeyId = Annotated[str, text_schema(f"^[{ALPHABET}]{{{ID_LENGTH}}}$", "qok33gj3fx")]
_HOLDER, _ETHER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", f"0x{10**18:064x}"
Address = Annotated[str, text_schema(f"^{ADDRESS}$", _HOLDER)]
Registry = Annotated[str, text_schema(f"^{ADDRESS}$", "0x5FbDB2315678afecb367f032d93F642f64180aa3")]
TransactionHash = Annotated[str, text_schema("^0x[0-9a-f]{64}$", f"0x{'5c504ed4' * 8}")]
Selector = Annotated[str, text_schema(SELECTOR_PATTERN, "block:5186021")]
Word = Annotated[str, text_schema("^0x[0-9a-f]{64}$", _ETHER)]
FactName = Annotated[str, text_schema("^([A-Z_]+|0x[0-9a-f]{64})$", "BALANCE")]
_OR_NONE = BeforeValidator(lambda text: text or None)
Prop = Annotated[str, _enum(AccountField.__members__)]
HeaderName = Annotated[str, _enum(HeaderField.__members__)]
Values = Annotated[dict[str, Word], Field(examples=[{"BALANCE": _ETHER}])]
RejectionCode = Annotated[
    str, Field(description="For programs: one of the codes of a batch.", examples=rejection_codes())
]
QueryStatus = Annotated[str, _enum(["DONE", "IN_PROGRESS", "REJECTED"])]


class Answer(BaseModel):
    """Members that are not given are left out."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        from_attributes=True,
        frozen=True,
    )

    def content(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


def answer(content: Answer) -> HttpResponse:
    return HttpResponse(
        content.model_dump_json(by_alias=True, exclude_unset=True),
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


class Warned(Answer):
    """A part of the request that was accepted but is probably a mistake."""

    sentence: str = Field(examples=['Fields that are not known here were ignored: "label".'])
    path: str = Field(description="The path of the value in the request.", examples=[""])


class _Accepted(Answer):
    page: str = Field(
        description="The address of the batch's page.",
        examples=[f"https://proofs.example.org/explorer/query/{BATCH_ID}"],
    )
    warnings: list[Warned] = Field(examples=[[]])


class Submitted(_Accepted):
    internal_id: Id = Field(description="The batch's id, for polling.")


class Rejection(Answer):
    code: RejectionCode
    message: str = Field(validation_alias="sentence", examples=["The block is out of reach."])
    step: Annotated[StepName | None, _OR_NONE]
    retryable: bool


WaitsFor = Annotated[str | None, Field(description="The reason for waiting, in a sentence.")]
WaitCode = Annotated[
    str | None,
    Field(
        description="The code of `waitsFor`, for programs: one of the codes of a batch.",
        examples=[None, *wait_codes()],
    ),
]


class Batch(Answer):
    query_status: QueryStatus = Field(
        description="The status that existing clients read: DONE, REJECTED, or IN_PROGRESS for the "
        "rest."
    )
    internal_id: Id
    status: BatchStatus = Field(examples=["DONE"])
    destination_chain_id: DestinationId
    fee: Wei = Field(description="The most that may be spent, in wei.")
    spent: Wei = Field(description="What was spent so far, in wei.")
    submitted: Moment
    ended: Moment | None
    waits_for: WaitsFor
    wait_code: WaitCode
    rejection: Rejection | None = Field(default=None, description="Why the batch was REJECTED.")
    info: list[str] = Field(default=[], description="Why the batch was REJECTED, as a list.")


class StepFault(Answer):
    error: str = Field(validation_alias="sentence", examples=["The block is out of reach."])
    code: RejectionCode
    retryable: bool


class Step(Answer):
    step: StepName = Field(validation_alias="name")
    status: StepStatus | None = Field(
        description="null until the step begins.", examples=["COMPLETED"]
    )
    started: Moment | None = Field(validation_alias="began")
    completed: Moment | None
    transaction_hash: Annotated[TransactionHash | None, _OR_NONE]
    transaction_block: BlockNumber | None
    gas_used: Gas | None
    error: StepFault | None = Field(description="Why the step was not completed.")


class Query(Answer):
    """One account of one block, or fields of one block's header."""

    origin_chain_id: ChainId
    selector: Selector = Field(description="The block as it was asked for.")
    block: BlockNumber | None = Field(description="null until a timestamp's block is known.")
    account: Address | None
    name: str | None = Field(description="The ENS name, if the request named the account by one.")
    props: list[Prop] = Field(examples=[["BALANCE"]])
    slots: list[Word] = Field(examples=[[]])
    header: list[HeaderName] = Field(examples=[[]])
    steps: list[Step]
    waits_for: WaitsFor
    wait_code: WaitCode
    values: Values | None = Field(
        description="Once the batch is DONE: the values in the registry, 32 bytes each, in hex."
    )
    registry: Registry | None = Field(
        description="Once the batch is DONE: the registry that holds the values."
    )
    cost: Wei | None = Field(
        description="Its share of the batch's `spent`, in wei; null if it has none. It is "
        "set once a transaction has enough confirmations, maybe after the batch is DONE, and "
        "updated if a reorg changes it."
    )


class StatusAnswer(Batch):
    queries: list[Query] = Field(
        default=[], description="Left out with details=0.", examples=[[example_of(Query)]]
    )
    next_query: int | None = Field(
        default=None,
        description="The `fromQuery` of the next page of queries; null on the last page.",
        examples=[None],
    )


class BatchData(Answer):
    id: Id
    status: QueryStatus
    data: Blocks = Field(
        description="What these queries ask for, as the request spells it.",
        examples=[{"11155111": {"block:5186021": {"accounts": {_HOLDER: {"props": ["BALANCE"]}}}}}],
    )


_AccountResults = Annotated[
    dict[str, Word],
    map_keys("prop or slot", f"^({'|'.join(AccountField.__members__)}|0x[0-9a-fA-F]{{1,64}})$"),
]
_ChainResults = Annotated[dict[str, "BlockResults"], map_keys("block", SELECTOR_PATTERN)]


class BlockResults(Answer):
    header: Annotated[
        dict[str, Word], map_keys("field", f"^({'|'.join(HeaderField.__members__)})$")
    ] = {}
    accounts: Annotated[dict[str, _AccountResults], map_keys("account", ACCOUNT_PATTERN)]


class BatchAnswer(StatusAnswer):
    batch_query: BatchData = Field(description="For existing clients, which read this.")
    results: Annotated[dict[str, _ChainResults], map_keys("chain", CHAIN_PATTERN)] = Field(
        description="Once the batch is DONE: the values of these queries, under the same keys.",
        examples=[{"11155111": {"block:5186021": {"accounts": {_HOLDER: {"BALANCE": _ETHER}}}}}],
    )


class Batches(Answer):
    batches: list[Batch]
    cursor: Id | None = Field(description="The cursor of the next page.", examples=[None])


class Attempt(Answer):
    made: Moment
    answered: int | None = Field(description="The HTTP status.", examples=[200])
    fault: str | None
    milliseconds: int


class Delivery(Answer):
    event: Id = Field(examples=[EVENT_ID])
    corrects: Id | None = Field(examples=[None])
    batch_query_id: Id = Field(validation_alias="batch")
    url: str = Field(examples=["https://example.org/hook"])
    state: DeliveryState = Field(examples=["DELIVERED"])
    created: Moment
    delivered: Moment | None
    next_attempt: Moment | None = Field(examples=[None])
    attempts: list[Attempt] = Field(description="The newest first.", max_length=ATTEMPTS_SHOWN)


class Deliveries(Answer):
    deliveries: list[Delivery]
    cursor: Id | None = Field(description="The cursor of the next page.", examples=[None])


class WebhookSecret(Answer):
    secret: str = Field(examples=["whsec_bxwNWrfpTzKI0aBb4sR6k9DhbxwNWrfpTzKI0aBb4sQ="])


class NamedChain(Answer):
    name: str = Field(examples=["Sepolia"])
    aliases: list[str] = Field(
        description="Names that requests may use in place of the id.", examples=[[]]
    )


class Connection(Answer):
    origin_chain_id: ChainId
    destination_chain_id: DestinationId
    origin: NamedChain
    destination: NamedChain = Field(examples=[{"name": "OP Testnet", "aliases": []}])
    kind: RegistryKind
    registry: Registry
    constructor_arguments: str = Field(
        description="ABI-encoded. The registry's address follows from them and the bytecode of its "
        "kind.",
        examples=["0x"],
    )
    verifiable: bool = Field(
        description="Whether its address proves its code and its constructor's arguments."
    )
    horizon: Moment = Field(description="From then on the registry takes no headers.")
    state_horizon: Moment = Field(
        description="From then on it takes no accounts and slots. Earlier than `horizon` if a "
        "header was shown not to hold the state after its block."
    )
    blocks_back: int | None = Field(
        description="The origin's nodes can prove accounts up to this many blocks before the "
        "newest one; at most 8,191 are measured. -1: for no block. null: not measured yet.",
        examples=[8_191],
    )


class Connections(Answer):
    connections: list[Connection]


class KeyLimits(Answer):
    requests: int = Field(examples=[600])
    seconds: int = Field(examples=[60])


class KeyUse(Answer):
    today: int
    total: int
    last: Moment | None


class ApiKeyAnswer(Answer):
    id: KeyId
    name: str = Field(examples=["Bridge"])
    owner: Address
    owner_chain_id: ChainId | None = Field(examples=[None])
    created: Moment
    limits: KeyLimits
    use: KeyUse


class Price(Answer):
    transactions: int
    bytes: int = Field(examples=[4_100])
    gas: Gas
    gas_price: Wei = Field(examples=["2000000000"])
    cost: Wei = Field(description="In wei.")


class ProvenFacts(Answer):
    account: Address | None
    name: str | None
    facts: list[FactName]


class BlockEstimate(Answer):
    origin_chain_id: ChainId
    selectors: list[Selector]
    block: BlockNumber | None
    last_final_block: BlockNumber
    readiness: Readiness = Field(
        description="Whether the block could be proven now. If it is submitted, a block that is "
        "NOT_FINAL, or NOT_KNOWN to the destination, waits; one that is OUT_OF_REACH or FAILS is "
        "rejected.",
        examples=["READY"],
    )
    waits_for: str | None
    error: str | None
    code: str | None
    distance: BlockNumber | None = Field(examples=[None])
    hops: int = Field(
        description="Proofs of earlier block hashes (EIP-2935) that lead down to the block.",
        examples=[0],
    )
    proven: list[ProvenFacts] = Field(
        description="Facts that are in the registry already.", examples=[[]]
    )
    price: Price | None = Field(examples=[example_of(Price)])


class Estimate(Price):
    destination_chain_id: DestinationId
    free: bool = Field(examples=[False])
    fee_needed: Wei = Field(description="A sufficient `fee`, in wei.")
    complete: bool = Field(description="Whether `cost` includes the price of every block.")
    warnings: list[Warned] = Field(examples=[[]])
    blocks: list[BlockEstimate]


class VerifiedFact(Answer):
    block: BlockNumber
    account: Address | None
    name: FactName = Field(description="A field's name, or a slot.")
    value: Word


class Witness(Answer):
    origin_chain_id: ChainId
    registry: Registry
    proof: str = Field(
        description="The bytes to pass to the registry's `verify`.", examples=["0x020001"]
    )
    facts: list[VerifiedFact] = Field(
        description="The requested facts in the order of `verify`: fields of accounts, then slots, "
        "then header fields. Accounts and slots are in the order of their hashes, so find a fact "
        "by its block, account and name."
    )
    gas: Gas = Field(description="Gas of a transaction that only verifies this proof.")
    valid_until: BlockNumber | None = Field(
        description="The last block of the destination in which `verify` accepts the proof; null "
        "if it stays valid.",
        examples=[None],
    )


class Witnesses(Answer):
    destination_chain_id: DestinationId
    warnings: list[Warned] = Field(examples=[[]])
    witnesses: list[Witness] = Field(description="One for each origin chain.")


class AttestationTaken(Answer):
    signer: Address
    block: BlockNumber


class Wanted(Answer):
    origin_chain_id: ChainId
    destination_chain_id: DestinationId
    registry: Registry
    blocks: list[BlockNumber]


class WantedAttestations(Answer):
    wanted: list[Wanted]


class Error(Answer):
    """The shape of every error."""

    error: str = Field(
        description="A sentence for people.",
        examples=[
            (
                "fee is missing: the most that may be spent on the batch, in wei of the "
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


class Description(Answer):
    """An OpenAPI document."""

    model_config = ConfigDict(extra="allow")
    openapi: str = Field(examples=["3.1.0"])


class Facts(Answer):
    origin_chain_id: ChainId
    block: BlockNumber | None
    account: Address | None
    name: str | None
    values: Values | None


class EventFault(StepFault):
    step: StepName | None


class Event(Answer):
    """The body of a webhook call."""

    event: Id = Field(examples=[EVENT_ID])
    corrects: Id | None = Field(
        description="The earlier event of the batch whose values a reorg has changed.",
        examples=[None],
    )
    batch_query_id: Id
    query_status: Annotated[str, _enum(["DONE", "REJECTED"])]
    destination_chain_id: DestinationId
    error: EventFault | None
    facts: list[Facts]
    next_query: int | None = Field(
        description="If the batch has more queries: the `fromQuery` with which GET "
        "/batch-query-status lists the rest.",
        examples=[None],
    )


class RequestTaken(_Accepted):
    model_config = ConfigDict(alias_generator=None)
    status: BatchStatus = Field(examples=["RECEIVED"])
    request_id: Id


class _Later(Answer):
    """What is FAILED has a cause."""

    model_config = ConfigDict(alias_generator=None)
    message: str = Field(default="", description="The reason, if it is FAILED.")
    code: str = Field(default="", description="One of the codes of a batch, if it is FAILED.")
    retryable: bool = Field(default=False, description="If it is FAILED.")


class LaterQuery(_Later):
    internal_id: QueryId
    status: Annotated[str, _enum(["COMPLETED", "FAILED", "IN_PROGRESS"])]
    typ: Literal["ACCOUNT", "HEADER"]
    created_at: Moment
    completed_at: Moment | None


class LaterQueries(Answer):
    model_config = ConfigDict(alias_generator=None)
    queries: list[LaterQuery]
    next_query: int | None = Field(
        description="The `fromQuery` of the next page; null if there is none.", examples=[None]
    )


class LaterAction(_Later):
    internal_id: ActionId
    status: Annotated[str, _enum(["COMPLETED", "FAILED", "IN_PROGRESS", "PENDING"])]
    typ: StepName
    created_at: Moment | None
    completed_at: Moment | None
    transaction_hash: TransactionHash | None


class LaterActions(Answer):
    actions: list[LaterAction]


class Alive(Answer):
    message: Literal["Alive!"]


def batch_members(shown: BatchView) -> dict[str, Any]:
    """The members of a `Batch`."""
    why = shown.waits_for
    members: dict[str, Any] = {
        # Of five states the API has three: what has not ended is in progress.
        "query_status": (shown.status if shown.status in ENDED else BatchStatus.IN_PROGRESS).value,
        "internal_id": shown.id,
        "status": shown.status,
        "destination_chain_id": shown.destination,
        "fee": shown.fee,
        "spent": shown.spent,
        "submitted": shown.submitted,
        "ended": shown.ended,
        "waits_for": why.sentence if why else None,
        "wait_code": (why.code or None) if why else None,
    }
    if shown.error:
        # Not `error`: existing clients throw on that before they read `queryStatus`.
        members["rejection"] = Rejection.model_validate(shown.error)
        members["info"] = [shown.error.sentence]
    return members


def request_maps(page: QueryPage) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the queries ask for, and the values that are proven, by the keys of the request."""
    data: dict[str, Any] = {}
    results: dict[str, Any] = {}
    for query in page.queries:
        selector = selector_of(query.block, query.timestamp)
        asked, found = (
            chains.setdefault(query.chain_key, {}).setdefault(selector, {"accounts": {}})
            for chains in (data, results)
        )
        words = {value.name: value.word for value in query.values}
        if query.header:
            asked["header"], found["header"] = list(query.header), words
        props = [prop.name for prop in query.props]
        for key, slots in query.account_keys.items():
            asked["accounts"][key] = {"props": props, "slots": list(slots)}
            names = {prop: prop for prop in props}
            names |= {slot: f"0x{slot_word(slot).hex()}" for slot in slots}
            found["accounts"][key] = {each: words[name] for each, name in names.items() if words}
    return data, results


def query_members(batch: BatchView, page: QueryPage, routes: Routes) -> dict[str, Any]:
    """The members of a `StatusAnswer` beside those of a `Batch`."""
    queries = [_query(batch, each, routes) for each in page.queries]
    return {"queries": queries, "next_query": page.next}


def _query(batch: BatchView, shown: QueryView, routes: Routes) -> Query:
    why = shown.waits_for
    return Query(
        origin_chain_id=shown.source,
        selector=selector_of(shown.block, shown.timestamp),
        block=shown.block,
        account=shown.account or None,
        name=shown.name or None,
        props=[each.name for each in shown.props],
        slots=list(shown.slots),
        header=list(shown.header),
        steps=[Step.model_validate(each) for each in shown.steps],
        waits_for=why.sentence if why else None,
        wait_code=(why.code or None) if why else None,
        values={each.name: each.word for each in shown.values} or None,
        registry=_registry(batch, shown, routes) if batch.status is BatchStatus.DONE else None,
        cost=shown.cost,
    )


def _registry(batch: BatchView, shown: QueryView, routes: Routes) -> str | None:
    """The registry that its transaction was sent to; without one, the route's registry."""
    configured = routes.registries.get((shown.source, batch.destination))
    return shown.registry or (configured.address if configured else None)
