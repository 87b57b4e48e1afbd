"""The request bodies as pydantic models, which OpenAPI and the docs page show too.

A model checks the form of each value; `read_batch` checks it against chains and limits. Patterns of
map keys are in `propertyNames`, because client generators drop pydantic's `patternProperties`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

from eth_utils.address import is_checksum_formatted_address, to_checksum_address
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError, PydanticKnownError

from accounts.http.errors import BodyCode, ErrorCode, RefusalError
from accounts.wording import join_names, json_kind, quote_text
from queries.config.chains import ALIAS
from queries.error_codes import RequestCode
from queries.proving import MAX_TOPICS, AccountField, HeaderField
from queries.proving.facts import EVENT_FORMS, MAX_INDEX
from queries.schema.functions import (
    EXAMPLE,
    EXAMPLE_ERROR,
    MAX_ERROR_CHARACTERS,
    MAX_FUNCTION_CHARACTERS,
    FunctionMalformedError,
    parse_error,
    parse_function,
)
from queries.schema.json_schema import KEY, member_of, schema_of, text_schema
from queries.schema.paths import JsonPath
from queries.selectors import NAMED_BLOCK, SELECTOR_FORMS, SELECTOR_PATTERN

DECIMAL = "^(0|[1-9][0-9]*)$"
ADDRESS = "0x[0-9a-fA-F]{40}"
# These accept everything that a server may accept, and a little more.
CHAIN_PATTERN = f"^([1-9][0-9]{{0,18}}|{ALIAS})$"
ACCOUNT_PATTERN = rf"^({ADDRESS}|([a-z0-9-]{{1,63}}\.)+[a-z0-9-]{{1,63}})$"
MAX_URL_CHARACTERS = 2_000
MAX_DELIVERIES, MAX_ERRORS = 16, 16
MIN_DELIVERY_GAS, MAX_DELIVERY_GAS = 21_000, 5_000_000
MAX_FIELD_NAMES = 100  # in one list: more than there are, because clients may repeat a name
_WEI = "^(0|[1-9][0-9]{0,77})$"
_MAX_WEI = 2**256 - 1
SLOT = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DECIMAL_SLOT = re.compile(r"[0-9]{1,77}")  # any number of 77 digits is below 2^256
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")
_WORD = re.compile("0x[0-9a-fA-F]{64}")


def validation_error(code: ErrorCode, problem: str, *sub_path: str) -> PydanticCustomError:
    """An error for a validator to raise; its sentence is the path, `sub_path`, and `problem`."""
    return PydanticCustomError(
        code.code, "{problem}", {"problem": problem, "kind": code, "sub_path": sub_path}
    )


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return value


def _check_slot(text: str) -> str:
    if not SLOT.fullmatch(text):
        raise validation_error(
            RequestCode.SLOT_MALFORMED,
            f"is {quote_text(text)}, but a slot is 0x and 1 to 64 hex digits{_slot_hint(text)}.",
        )
    return text


def slot_word(text: str) -> bytes:
    """The 32 bytes of a slot, however the client spells it."""
    return int(text, 16).to_bytes(32)


def _slot_hint(text: str) -> str:
    if text == "0x":
        return ': slot 0 is "0x0"'
    if _DECIMAL_SLOT.fullmatch(text):
        return f': slot {int(text)} is "{int(text):#x}"'
    digits = text.removeprefix("0x")
    if digits != text and _HEX_DIGITS.fullmatch(digits):
        return f", and this has {len(digits):,}"
    return ""


def _read_fee(value: object) -> int:
    text = _read_text(value)
    if not re.fullmatch(_WEI, text) or int(text) > _MAX_WEI:
        raise validation_error(
            RequestCode.FEE_MALFORMED,
            f"is {quote_text(text)}, but must be an amount in wei: a decimal whole number below "
            "2^256 without sign, spaces or leading zeros.",
        )
    return int(text)


def _known_name(names: Mapping[str, object], code: ErrorCode, noun: str) -> AfterValidator:
    """Refuse a name that is not one of these; the sentence calls them by `noun`."""

    def check(name: str) -> str:
        if name not in names:
            problem = f"is {quote_text(name)}, but {noun} are {join_names(names)}."
            raise validation_error(code, problem)
        return name

    return AfterValidator(check)


def _choice_schema(names: Iterable[str], example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(names), "examples": [example]})


PROPS, HEADER_FIELDS = AccountField.__members__, HeaderField.__members__
PropName = Annotated[
    str,
    _known_name(PROPS, RequestCode.UNKNOWN_PROP, "an account's props"),
    _choice_schema(PROPS, "BALANCE"),
]
HeaderName = Annotated[
    str,
    _known_name(HEADER_FIELDS, RequestCode.UNKNOWN_HEADER_FIELD, "a header's fields"),
    _choice_schema(HEADER_FIELDS, "PARENT_HASH"),
]
Slot = Annotated[str, AfterValidator(_check_slot), text_schema("^0x[0-9a-fA-F]{1,64}$", "0x1")]
Fee = Annotated[int, BeforeValidator(_read_fee), text_schema(_WEI, "0")]


def _no_default() -> Any:
    """None as a default that the JSON Schema leaves out, because null is refused."""
    return None


def map_keys(name: str, pattern: str) -> Any:
    """The schema of a map's keys, under their `name` in the reference."""
    return Field(
        json_schema_extra={KEY: name, "propertyNames": {"pattern": pattern, "maxLength": 255}}
    )


class Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AccountBody(Body):
    """The facts to prove of an account: at least one prop or slot."""

    props: list[PropName] = Field(
        default_factory=list,
        max_length=MAX_FIELD_NAMES,
        description="Fields of the account: its nonce, balance and so on.",
    )
    slots: list[Slot] = Field(
        default_factory=list, description="Storage slots: 0x and 1 to 64 hex digits each."
    )


def _number_reader(maximum: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if type(value) is not int or not 0 <= value <= maximum:
            problem = f"must be a whole number from 0 to {maximum}."
            raise validation_error(RequestCode.EVENT_MALFORMED, problem)
        return value

    return read


_read_index = _number_reader(MAX_INDEX)


def _read_transaction(value: object) -> int | str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value.lower()
    if isinstance(value, str):
        problem = f"is {quote_text(value)}, but a transaction's hash is 0x and 64 hex digits."
        raise validation_error(RequestCode.EVENT_MALFORMED, problem)
    return _read_index(value)


def _hex_reader(pattern: re.Pattern[str], form: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            value_text = quote_text(value) if isinstance(value, str) else json_kind(value)
            problem = f"is {value_text}, but must be {form}."
            raise validation_error(RequestCode.EVENT_MALFORMED, problem)
        return value.lower()

    return read


read_emitter = _hex_reader(re.compile(ADDRESS), "an address: 0x and 40 hex digits")
_read_topic = _hex_reader(_WORD, "a topic: 0x and 64 hex digits")


def read_topics(value: object) -> list[list[str] | None]:
    """The topics that each position may have, as in `eth_getLogs`; None: any."""
    if not isinstance(value, list) or len(value) > MAX_TOPICS:
        problem = f"must be a list of at most {MAX_TOPICS} topics; null is any topic."
        raise validation_error(RequestCode.EVENT_MALFORMED, problem)
    lists = (topics if isinstance(topics, list) else [topics] for topics in value)
    return [None if topics in ([], [None]) else list(map(_read_topic, topics)) for topics in lists]


_INDEX_SCHEMA = {"type": "integer", "minimum": 0, "maximum": MAX_INDEX, "examples": [0]}
_WORD_SCHEMA = {"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$"}
WholeNumber = Annotated[
    int,
    BeforeValidator(_number_reader(2**63 - 1)),
    WithJsonSchema({"type": "integer", "minimum": 0, "examples": [5186021]}),
]
Index = Annotated[int, BeforeValidator(_read_index), WithJsonSchema(_INDEX_SCHEMA)]
Transaction = Annotated[
    int | str,
    BeforeValidator(_read_transaction),
    WithJsonSchema({"anyOf": [_INDEX_SCHEMA, _WORD_SCHEMA], "examples": [3]}),
]
Emitter = Annotated[
    str,
    BeforeValidator(read_emitter),
    WithJsonSchema({"type": "string", "pattern": f"^{ADDRESS}$"}),
]
Topic = Annotated[str, BeforeValidator(_read_topic), WithJsonSchema(_WORD_SCHEMA)]
Topics = Annotated[
    list[list[str] | None],
    BeforeValidator(read_topics),
    WithJsonSchema(
        {
            "type": "array",
            "maxItems": MAX_TOPICS,
            "items": {
                "anyOf": [{"type": "null"}, _WORD_SCHEMA, {"type": "array", "items": _WORD_SCHEMA}]
            },
        }
    ),
]
_TOPICS_MEANING = "By position, as in eth_getLogs; null matches any topic."


def optional(description: str) -> Any:
    return Field(default_factory=_no_default, description=description)


class EventBody(Body):
    """An item that is named by one of several sets of members."""

    forms: ClassVar[tuple[frozenset[str], ...]]

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if self.model_fields_set not in self.forms:
            forms = "; or ".join(join_names(sorted(form)) for form in self.forms)
            problem = f"must have exactly these members: {forms}."
            raise validation_error(RequestCode.EVENT_MALFORMED, problem)
        return self


class LogBody(EventBody):
    """A log, by its transaction and its index in the receipt, or by its index in the block; or all
    logs of the block that match a filter.
    """

    forms = EVENT_FORMS["logs"]
    transaction: Transaction = optional("The transaction's hash, or its index in the block.")
    log: Index = optional("The log's index within its receipt.")
    logIndex: Index = optional("The log's index within the block, as JSON-RPC counts.")
    address: Emitter = optional("The contract that emitted the logs.")
    topics: Topics = optional(_TOPICS_MEANING)


class AbsenceBody(EventBody):
    """An absence from the block: of a transaction or withdrawal at an index or beyond it; of a log
    in a receipt; or, if its bloom can show that, of any log by an address or with a topic.
    """

    forms = EVENT_FORMS["absent"]
    transaction: Transaction = optional(
        "Without `address`: an index at or beyond the end of the block's transactions."
    )
    withdrawal: Index = optional("An index at or beyond the end of the block's withdrawals.")
    address: Emitter = optional("The contract that emitted no such log.")
    topics: Topics = optional(_TOPICS_MEANING)
    topic: Topic = optional("A topic that no log of the block has at any position.")

    @model_validator(mode="after")
    def _check_topics(self) -> Self:
        if any(topics and len(topics) > 1 for topics in self.topics or ()):
            problem = "has several topics for one position; ask for the absence of each."
            raise validation_error(RequestCode.EVENT_MALFORMED, problem, "topics")
        return self


class BlockBody(Body):
    """The facts to prove of a block: at least one."""

    header: list[HeaderName] = Field(
        default_factory=list,
        max_length=MAX_FIELD_NAMES,
        description="Fields of the block's header.",
    )
    accounts: Annotated[dict[str, AccountBody], map_keys("account", ACCOUNT_PATTERN)] = Field(
        default_factory=dict,
        description="Accounts at that block, by address (in any letter case) or by ENS name, if "
        "the operator has set up ENS for the source chain. The nodes resolve the name at that "
        "block; the proof is of the address, not of the name.",
    )
    logs: list[LogBody] = Field(default_factory=list, description="Logs of the block.")
    receipts: list[Transaction] = Field(
        default_factory=list, description="Receipts, by their transactions."
    )
    transactions: list[Transaction] = Field(
        default_factory=list, description="Transactions, by hash or by index in the block."
    )
    withdrawals: list[Index] = Field(
        default_factory=list, description="Withdrawals, by index in the block."
    )
    absent: list[AbsenceBody] = Field(
        default_factory=list, description="Items that the block does not contain."
    )


_LABEL = "[a-z0-9_-]{1,63}"
_HOST = re.compile(rf"(?!.{{254}}){_LABEL}(\.{_LABEL})*\.?|[0-9a-f.]*:[0-9a-f:.]*")
_URL_FORM = "must be a full http or https URL, such as https://example.org/hook"
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
RESERVED_PREFIX = "webhook-"
# Headers that frame the message or concern the connection.
CONNECTION_HEADERS = {
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip


def _check_webhook_url(url: str) -> str:
    """Refuse an unusable URL without repeating it, because it may contain a secret."""
    if problem := _url_problem(url):
        raise validation_error(RequestCode.WEBHOOK_MALFORMED, f"{problem}.")
    return url


def _url_problem(url: str) -> str:
    if len(url) > MAX_URL_CHARACTERS:
        return f"has {len(url):,} characters; at most {MAX_URL_CHARACTERS:,} are allowed"
    if not _VISIBLE_ASCII.fullmatch(url):
        return "must be a URL in visible ASCII; percent-encode all other characters"
    if "#" in url:
        return "must not have a fragment (#), which is never sent"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return _URL_FORM
    if "@" in parts.netloc:
        return "must not contain a user name or password; send them in a header"
    # The URL must be spelled as parsed here, or another parser might read another host.
    canonical = (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
    is_canonical = parts.netloc.lower() == canonical and port != 0
    is_usable = parts.scheme in {"http", "https"} and _HOST.fullmatch(host) and is_canonical
    return "" if is_usable else _URL_FORM


def _check_webhook_headers(headers: dict[str, str]) -> dict[str, str]:
    seen_names: set[str] = set()
    for name, value in headers.items():
        if problem := _header_problem(name.lower(), value):
            raise validation_error(
                RequestCode.WEBHOOK_MALFORMED, f"cannot be sent: {problem}.", name
            )
        if name.lower() in seen_names:
            raise validation_error(
                BodyCode.DUPLICATE_KEY, "occurs twice: header names are case-insensitive.", name
            )
        seen_names.add(name.lower())
    return headers


def _header_problem(name: str, value: str) -> str:
    if not _TOKEN.fullmatch(name):
        return "its name is not a valid HTTP header name"
    if name in CONNECTION_HEADERS:
        return "this header belongs to the connection"
    if name.startswith(RESERVED_PREFIX):
        return "header names that begin with webhook- are reserved"
    if not _HEADER_VALUE.fullmatch(value):
        return "its value must be visible ASCII, with spaces and tabs only inside it"
    return ""


class WebhookBody(Body):
    """The receiver of a call at the batch's end."""

    url: Annotated[str, AfterValidator(_check_webhook_url)] = Field(
        description="The address that is called when the batch has ended.",
        examples=["https://example.org/hook"],
        json_schema_extra={"maxLength": MAX_URL_CHARACTERS, "pattern": "^https?://"},
    )
    headers: Annotated[
        dict[str, Annotated[str, Field(examples=["application/json"])]],
        AfterValidator(_check_webhook_headers),
    ] = Field(default_factory=dict, description="Headers to send along, such as Authorization.")


def checksum_problem(address: str) -> str:
    """What is wrong with an address in mixed case; empty if nothing is."""
    checksummed = to_checksum_address(address)
    if not is_checksum_formatted_address(address) or address == checksummed:
        return ""
    return (
        f"is {address}, but its EIP-55 checksum is wrong, so a digit may be mistyped. With a "
        f"correct checksum it is {checksummed}."
    )


def _check_function(text: str) -> str:
    try:
        parse_function(text)
    except FunctionMalformedError as error:
        raise validation_error(RequestCode.FUNCTION_MALFORMED, str(error)) from None
    return text


def _check_error(text: str) -> str:
    try:
        parse_error(text)
    except FunctionMalformedError as error:
        raise validation_error(RequestCode.FUNCTION_MALFORMED, str(error)) from None
    return text


def _check_condition(text: str) -> str:
    if not parse_function(_check_function(text)).is_condition:
        raise validation_error(
            RequestCode.FUNCTION_MALFORMED,
            f"is {quote_text(text)}, but must be a view or pure function that returns one bool, "
            f'such as "{_CONDITION}".',
        )
    return text


def _check_receiver(text: str) -> str:
    problem = f"is {quote_text(text)}, but must be a contract's address: 0x and 40 hex digits."
    if not re.fullmatch(ADDRESS, text) or (problem := checksum_problem(text)):
        raise validation_error(RequestCode.DELIVERY_MALFORMED, problem)
    return to_checksum_address(text)


def _read_gas(value: object) -> int:
    text = _read_text(value)
    is_number = re.fullmatch(_WEI, text) is not None
    if not is_number or not MIN_DELIVERY_GAS <= int(text) <= MAX_DELIVERY_GAS:
        raise validation_error(
            RequestCode.DELIVERY_MALFORMED,
            f"is {quote_text(text)}, but must be a decimal whole number from {MIN_DELIVERY_GAS} to "
            f"{MAX_DELIVERY_GAS}.",
        )
    return int(text)


def _check_block_function(text: str) -> str:
    if parse_function(_check_function(text)).inputs:
        raise validation_error(
            RequestCode.FUNCTION_MALFORMED,
            f'is {quote_text(text)}, but must take no arguments, such as "lastBlock()".',
        )
    return text


_CONDITION = "isDone(uint256) view returns (bool)"


def _arguments(description: str, example: list[str]) -> Any:
    return Field(description=description, examples=[example], json_schema_extra={"items": {}})


class ConditionBody(Body):
    """A call of a view of the contract."""

    function: Annotated[str, AfterValidator(_check_condition)] = Field(
        description="The function, as in Solidity: `view` or `pure`, and it returns one bool.",
        examples=[_CONDITION],
        json_schema_extra={"maxLength": MAX_FUNCTION_CHARACTERS},
    )
    args: list[Any] = _arguments(
        "Its arguments, as those of the delivery. They may have placeholders.", ["$block"]
    )


class DeliveryBody(Body):
    """A call of a contract on the destination, once the batch is DONE."""

    to: Annotated[str, AfterValidator(_check_receiver)] = Field(
        description="The contract's address on the destination. ENS names are not accepted.",
        examples=["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"],
        json_schema_extra={"pattern": f"^{ADDRESS}$"},
    )
    function: Annotated[str, AfterValidator(_check_function)] = Field(
        description="The function, as in Solidity. Names of parameters, `function`, `external` and "
        "`returns (…)` may be left out.",
        examples=[EXAMPLE],
        json_schema_extra={"maxLength": MAX_FUNCTION_CHARACTERS},
    )
    args: list[Any] = _arguments(
        "Its arguments. Integers are text or JSON numbers below 2^53; addresses and bytes are hex "
        "digits after 0x; arrays and tuples are lists. A text that begins with $ is a placeholder, "
        "such as `$block` or `$value(0xACCOUNT.BALANCE)`: the guide *Deliver* lists them. A text "
        "that really begins with $ is written with $$.",
        ["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "$block", "42"],
    )
    gas: Annotated[int, BeforeValidator(_read_gas), text_schema(_WEI, "200000")] = optional(
        f"The gas that the call may use, {MIN_DELIVERY_GAS:,} to {MAX_DELIVERY_GAS:,}. Without it, "
        "a trial run just before the transaction shows the need, and the call gets half as much on "
        "top."
    )
    unless: ConditionBody = optional(
        "A view of the contract that is called first: if it returns true, nothing is delivered."
    )

    errors: list[Annotated[str, AfterValidator(_check_error)]] = Field(
        default_factory=list,
        max_length=MAX_ERRORS,
        description="Errors of the contract, as in Solidity, of parameters that are not lists or "
        "tuples. If it reverts with one of them, the reason has its name. Common ones, such as "
        "OpenZeppelin's, are known.",
        examples=[[EXAMPLE_ERROR]],
        json_schema_extra={"items": {"type": "string", "maxLength": MAX_ERROR_CHARACTERS}},
    )


class NamedBlockBody(Body):
    """A view of a contract on the destination that returns the number of a block."""

    from_: Annotated[str, AfterValidator(_check_receiver)] = Field(
        alias="from",
        description="The contract's address on the destination.",
        examples=["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"],
        json_schema_extra={"pattern": f"^{ADDRESS}$"},
    )
    function: Annotated[str, AfterValidator(_check_block_function)] = Field(
        description="The function: it takes no arguments, and returns one unsigned integer.",
        examples=["lastBlock()"],
        json_schema_extra={"maxLength": MAX_FUNCTION_CHARACTERS},
    )


_ChainBlocks = Annotated[dict[str, BlockBody], map_keys("block", SELECTOR_PATTERN)]
Blocks = Annotated[
    dict[str, _ChainBlocks],
    map_keys("chain", CHAIN_PATTERN),
    Field(
        description="The blocks to prove, by the id of their source chain. A block's key is "
        f"{SELECTOR_FORMS}."
    ),
]
DestinationField = Annotated[
    str,
    Field(
        description="The id of the chain on which the facts are to be read, in decimal, or an "
        "alias that the operator gave it.",
        examples=["11155420"],
        json_schema_extra={"pattern": CHAIN_PATTERN},
    ),
]
WebhookField = Annotated[
    WebhookBody,
    Field(default_factory=_no_default, description="The receiver of a call at the batch's end."),
]


class BlocksBody(Body):
    """A request for facts of blocks, in its member `data`. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class EstimateRequest(BlocksBody):
    """A batch to estimate. Unknown fields are ignored, with a warning."""

    destinationChainId: DestinationField
    fee: Fee = Field(
        default_factory=int,
        description="Optional, and ignored: an estimate does not depend on the fee. Accepted so "
        "that a batch's body can be sent unchanged.",
    )
    data: Blocks
    webhook: WebhookField
    deliver: list[DeliveryBody] = Field(
        default_factory=list,
        max_length=MAX_DELIVERIES,
        description="Calls of contracts on the destination, once the batch is DONE.",
    )
    prove: bool = Field(
        default_factory=lambda: True,  # generated clients require members with a default
        description="Whether facts are stored in a registry. false: headers and proofs are checked "
        "here and only delivered, to contracts that know block hashes by themselves. Then the "
        "chains need no route, and `deliver` must not be empty.",
    )
    block: NamedBlockBody = optional(
        f"The contract that names the block whose selector is `{NAMED_BLOCK}`. It is asked once, "
        "when a prover takes the batch; then answers show the block by its number."
    )


class BatchRequest(EstimateRequest):
    """Unknown fields are ignored, with a warning."""

    fee: Fee = Field(
        description="The maximum that may be spent on the batch, in wei of the destination chain. "
        'Send "0" where proving is free; elsewhere POST /estimate returns a fee.'
    )


Model = TypeVar("Model", bound=BaseModel)


def read_body(model: type[Model], content: object) -> Model:
    """Validate the body. Raises a `RefusalError` for the first error, with its path."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise _body_refusal(model, error.errors(include_url=False)[0]) from None


def _body_refusal(model: type[BaseModel], error: ErrorDetails) -> RefusalError:
    context = error.get("ctx", {})
    path = JsonPath((*error["loc"], *context.get("sub_path", ())))
    if "kind" in context:
        return path.refusal(context["kind"], context["problem"])
    code, problem = _schema_problem(model, error)
    return path.refusal(code, problem)


def _schema_problem(model: type[BaseModel], error: ErrorDetails) -> tuple[ErrorCode, str]:
    """The problem of a value that does not have the form in the schema."""
    holder, member = member_of(schema_of(model), error["loc"])
    match error["type"]:
        case "missing":
            meaning = member["description"].partition(".")[0]
            return RequestCode.MISSING_FIELD, f"is missing: {meaning[0].lower()}{meaning[1:]}."
        case "too_long":
            return RequestCode.LIST_TOO_LONG, f"has more than {error['ctx']['max_length']} entries."
        case "extra_forbidden":
            fields = join_names(holder["properties"])
            return RequestCode.UNKNOWN_FIELD, f"is an unknown field; the known fields are {fields}."
    name = error["loc"][-1] if error["loc"] else None
    is_optional = name in holder.get("properties", {}) and name not in holder.get("required", [])
    if error["input"] is None and is_optional:
        return RequestCode.WRONG_TYPE, "must not be null. Leave it out instead."
    expected_form = {"object": "an object", "array": "a list"}.get(
        member["type"], f'text in quotes, such as "{member.get("examples", [""])[0]}"'
    )
    return RequestCode.WRONG_TYPE, f"must be {expected_form}, not {json_kind(error['input'])}."
