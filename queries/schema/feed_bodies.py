"""The request bodies of feeds as pydantic models, and the checks that need no database."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Self, cast

from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from accounts.wording import DAY, HOUR, MINUTE, join_names, json_kind, quote_text
from queries.error_codes import FeedCode, RequestCode
from queries.schema.bodies import (
    CHAIN_PATTERN,
    BatchRequest,
    BlockBody,
    Body,
    Emitter,
    Fee,
    Topics,
    map_keys,
    optional,
    read_emitter,
    read_topics,
    validation_error,
)
from queries.schema.event_values import MAX_EVENT_VALUES, is_fillable
from queries.schema.functions import (
    EXAMPLE_EVENT,
    ContractEvent,
    FunctionMalformedError,
    parse_event,
)
from queries.schema.json_schema import example_of
from queries.selectors import DUE_BLOCK, FEED_SELECTOR_PATTERN
from queries.statuses import CatchUp, FeedState

MAX_TIME = 10**10 - 1  # the year 2286, as of a batch's times
MAX_INTERVAL_BLOCKS, MAX_INTERVAL_SECONDS = 10**9, 366 * DAY
_SECONDS = {"second": 1, "minute": MINUTE, "hour": HOUR, "day": DAY, "week": 7 * DAY}
_INTERVAL = re.compile("([1-9][0-9]{0,9}) (block|second|minute|hour|day|week)s?")
_POINTS = re.compile(r"((?:0|[1-9][0-9]{0,4})(?:\.[0-9]{1,4})?) bp")
_AMOUNT = re.compile("[1-9][0-9]{0,77}")
MAX_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Interval:
    """A number of blocks, or of seconds."""

    count: int
    is_time: bool


def _interval_reader(*, units: str, example: str) -> Callable[[object], Interval]:
    def read(value: object) -> Interval:
        match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
        if not match or match[2] not in units:
            raise _malformed(f"is {_quoted(value)}, but must be a text such as {example}.")
        interval = Interval(int(match[1]) * _SECONDS.get(match[2], 1), match[2] != "block")
        maximum = MAX_INTERVAL_SECONDS if interval.is_time else MAX_INTERVAL_BLOCKS
        if interval.count > maximum:
            longest = "366 days" if interval.is_time else f"{maximum} blocks"
            raise _malformed(f"is {_quoted(value)}, but must be at most {longest}.")
        return interval

    return read


def _malformed(problem: str) -> Exception:
    return validation_error(FeedCode.FEED_MALFORMED, problem)


def _quoted(value: object) -> str:
    return quote_text(value) if isinstance(value, str) else json_kind(value)


def _read_time(value: object) -> int:
    if type(value) is not int:
        kind = f"{value:g}" if isinstance(value, float) else json_kind(value)
        raise _malformed(f"must be a whole number from 0 to {MAX_TIME}, not {kind}.")
    if not 0 <= value <= MAX_TIME:
        raise _malformed(f"is {value}, but must be a whole number from 0 to {MAX_TIME}.")
    return value


def _read_name(value: object) -> str | None:
    if value is None:
        return None
    name = value.strip() if isinstance(value, str) else ""
    if not 1 <= len(name) <= MAX_NAME_LENGTH:
        length = f"has {len(name)} characters" if isinstance(value, str) else f"is {_quoted(value)}"
        raise _malformed(f"{length}, but must be a text of 1 to {MAX_NAME_LENGTH}, or null.")
    if not name.isprintable():
        problem = f"is {_quoted(value)}, but must not have control or invisible characters."
        raise _malformed(problem)
    return name


def _choice_reader(*names: str) -> Callable[[object], str]:
    choices = " or ".join(f'"{name}"' for name in names)

    def read(value: object) -> str:
        if value not in names:
            raise _malformed(f"is {_quoted(value)}, but must be {choices}.")
        return str(value)

    return read


def _choice_schema(*names: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(names), "examples": [names[0]]})


def _text_schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$", "examples": [example]})


_TIME_UNITS = "second minute hour day week"
Every = Annotated[
    Interval,
    BeforeValidator(
        _interval_reader(
            units=f"block {_TIME_UNITS}", example='"300 blocks", "4 hours" or "1 week"'
        )
    ),
    _text_schema(_INTERVAL.pattern, "4 hours"),
]
Blocks = Annotated[
    Interval,
    BeforeValidator(_interval_reader(units="block", example='"20 blocks"')),
    _text_schema("[1-9][0-9]{0,9} blocks?", "20 blocks"),
]
Duration = Annotated[
    Interval,
    BeforeValidator(_interval_reader(units=_TIME_UNITS, example='"4 hours"')),
    _text_schema(f"[1-9][0-9]{{0,9}} ({_TIME_UNITS.replace(' ', '|')})s?", "4 hours"),
]
UnixTime = Annotated[
    int,
    BeforeValidator(_read_time),
    WithJsonSchema(
        {"type": "integer", "minimum": 0, "maximum": MAX_TIME, "examples": [1_830_297_600]}
    ),
]
_CHANGES = FeedState.PAUSED.value, FeedState.ACTIVE.value
ChangedState = Annotated[str, BeforeValidator(_choice_reader(*_CHANGES)), _choice_schema(*_CHANGES)]
CatchUpName = Annotated[
    str, BeforeValidator(_choice_reader(*CatchUp.values)), _choice_schema(*CatchUp.values)
]


Name = Annotated[
    str | None,
    BeforeValidator(_read_name),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
                {"type": "null"},
            ],
            "examples": ["ETH of the vault"],
        }
    ),
]


def _read_event(value: object) -> ContractEvent:
    if not isinstance(value, str):
        raise validation_error(RequestCode.WRONG_TYPE, f"must be text, not {json_kind(value)}.")
    try:
        event = parse_event(value)
    except FunctionMalformedError as error:
        raise validation_error(RequestCode.FUNCTION_MALFORMED, f"{error}") from None
    if not is_fillable(event):
        raise _malformed(
            f"is {quote_text(value)}, but its parameters may have at most {MAX_EVENT_VALUES} "
            "values, and no list of lists, of texts or of tuples."
        )
    return event


Event = Annotated[
    InstanceOf[ContractEvent],
    BeforeValidator(_read_event),
    WithJsonSchema({"type": "string", "examples": [EXAMPLE_EVENT]}),
]


def _as_feed_error(read: Callable[[object], object]) -> BeforeValidator:
    """Refuse what `read` refuses, with the code of feeds: theirs is of the events to prove."""

    def read_of_feed(value: object) -> object:
        try:
            return read(value)
        except PydanticCustomError as error:
            raise _malformed(error.message()) from None

    return BeforeValidator(read_of_feed)


class LogTriggerBody(Body):
    """The logs of one event of a contract on the source chain."""

    address: Annotated[Emitter, _as_feed_error(read_emitter)] = Field(description="The contract.")
    event: Event = Field(
        description="The event as in Solidity, with `indexed`. `$topic1` to `$topic3` are its "
        "indexed parameters, `$data[0]` and so on the others."
    )
    topics: Annotated[Topics, _as_feed_error(read_topics)] = optional(
        "By position, as in eth_getLogs; null matches any topic. The first one is the event's, so "
        "null stands there."
    )

    @model_validator(mode="after")
    def _check_topics(self) -> Self:
        topics = self.topics or []
        if topics and topics[0] and topics[0] != [f"0x{self.event.topic.hex()}"]:
            problem = "begins with the topic of another event; write null there."
            raise validation_error(FeedCode.FEED_MALFORMED, problem, "topics")
        if len(topics) > 1 + len(self.event.indexed):
            problem = (
                f"has {len(topics)} positions, but logs of this event have "
                f"{1 + len(self.event.indexed)} topics."
            )
            raise validation_error(FeedCode.FEED_MALFORMED, problem, "topics")
        return self


@dataclass(frozen=True, slots=True)
class Change:
    """The least change that counts: of the number, or in hundredths of a percent of it."""

    amount: int = 1
    basis_points: Decimal | None = None

    def is_reached(self, before: int, after: int) -> bool:
        if self.basis_points is None:
            return abs(after - before) >= self.amount
        return abs(after - before) * 10_000 >= self.basis_points * before and before != after


def _read_change(value: object) -> Change:
    text = value if isinstance(value, str) else ""
    if (points := _POINTS.fullmatch(text)) and Decimal(points[1]):
        return Change(basis_points=Decimal(points[1]))
    if _AMOUNT.fullmatch(text):
        return Change(int(text))
    raise _malformed(
        f'is {_quoted(value)}, but must be hundredths of a percent, such as "50 bp", or a whole '
        'number in quotes, such as "1".'
    )


class ValueTriggerBody(Body):
    """A change of a value that the batch asks for."""

    value: str = Field(
        description="The value: `0xACCOUNT.BALANCE`, `0xACCOUNT.NONCE` or `0xACCOUNT.0xSLOT`.",
        examples=["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045.BALANCE"],
    )
    by: Annotated[
        Change,
        BeforeValidator(_read_change),
        _text_schema("([1-9][0-9]{0,77}|(0|[1-9][0-9]{0,4})([.][0-9]{1,4})? bp)", "50 bp"),
    ] = Field(
        default_factory=Change,
        description="The least change of the value that was proven last: hundredths of a percent "
        "of it, such as `50 bp`, or an amount. Without it, any change counts.",
    )
    every: Blocks = Field(description="How often it is read.")
    heartbeat: Duration = optional("The run comes after so long in any case.")


_DueBlocks = Annotated[dict[str, BlockBody], map_keys("block", FEED_SELECTOR_PATTERN)]


class FeedBatchBody(BatchRequest):
    """The body of a batch with one block. Its key is `timestamp:$due` if `every` counts time, and
    otherwise `block:$due`; or `hash:$topic2` and the like for the block whose hash a log has; or
    `block:$block` for the block that a contract names. `$due` and the values of a log may also
    stand in `accounts`, `slots` and `deliver`.
    """

    data: Annotated[dict[str, _DueBlocks], map_keys("chain", CHAIN_PATTERN)] = Field(
        description="The block to prove, by the id of its source chain.",
        examples=[{"11155111": {DUE_BLOCK: example_of(BlockBody, "validation")}}],
    )


def _read_batch(value: Any, _check: object) -> dict[str, Any]:
    """Checked when its placeholders have values."""
    if not isinstance(value, dict):
        problem = f"must be an object, not {json_kind(value)}."
        raise validation_error(RequestCode.WRONG_TYPE, problem)
    return value


_Budget = optional(
    "The maximum that its runs may spend in 24 hours, in wei of the destination chain. A run "
    "reserves its fee until it has ended, with its deliveries; on a server that proves for free, "
    "as much as the dearest run has spent. A run that does not fit waits."
)


class TriggerBody(Body):
    """What makes a feed due: exactly one of these."""

    every: Every = optional(
        "How often: a number of blocks of the source, or a time. Due are the block numbers, or the "
        "Unix times, that it divides: days begin at 0:00 UTC, and weeks on Thursday, as 1970 did."
    )
    on: LogTriggerBody = optional("One run for each log, once its block is final.")
    when: ValueTriggerBody = optional("A run when the value has changed.")

    @model_validator(mode="after")
    def _check_trigger(self) -> Self:
        if len(TriggerBody.model_fields.keys() & self.model_fields_set) != 1:
            names = join_names(f'"{name}"' for name in TriggerBody.model_fields)
            raise _malformed(f"must have exactly one of the members {names}.")
        return self


class FeedRequest(TriggerBody):
    """A batch that is submitted again whenever it is due: `every` so often, `on` each log of a
    contract, or `when` a value has changed.
    """

    name: Name = optional("For lists and pages.")
    batch: Annotated[FeedBatchBody, WrapValidator(_read_batch)] = Field(
        description="The body of a batch, with `$due` in place of its block's number or time."
    )
    until: UnixTime = optional("The Unix time of the last run.")
    budget: Fee = _Budget
    catchUp: CatchUpName = Field(
        default_factory=lambda: CatchUp.LATEST.value,
        description="The runs to make up for after a pause: the `latest` that was due, or `all`, "
        "at most 100. Of a pause's logs, `latest` leaves out all.",
    )

    @property
    def content(self) -> dict[str, Any]:
        """The batch as it was sent."""
        return cast("dict[str, Any]", self.batch)

    @model_validator(mode="after")
    def _check_catch_up(self) -> Self:
        if self.catchUp == CatchUp.ALL and "when" in self.model_fields_set:
            problem = 'is "all", but the values of a pause are not read; leave it out.'
            raise validation_error(FeedCode.FEED_MALFORMED, problem, "catchUp")
        return self


class FeedChange(Body):
    """What is to change; at least one member."""

    state: ChangedState = optional("PAUSED pauses the feed, ACTIVE resumes it.")
    budget: Fee = _Budget
    name: Name = optional("null removes it.")

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if not self.model_fields_set:
            raise _malformed("changes nothing. It needs a state, a budget or a name.")
        return self
