"""The request bodies of feeds as pydantic models, and the checks that need no database."""

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from accounts.wording import DAY, json_kind, quote_text
from queries.error_codes import FeedCode
from queries.schema.bodies import (
    CHAIN_PATTERN,
    BatchRequest,
    BlockBody,
    Body,
    Fee,
    map_keys,
    optional,
    validation_error,
)
from queries.schema.json_schema import example_of
from queries.statuses import CatchUp, FeedState

DUE_BLOCK, DUE_TIME = "block:$due", "timestamp:$due"
MAX_INTERVAL_BLOCKS, MAX_INTERVAL_SECONDS = 10**9, 366 * DAY
MAX_TIME = 10**10 - 1  # the year 2286, as of a batch's times


def _number_reader(minimum: int, maximum: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if type(value) is not int:
            problem = f"must be a whole number from {minimum} to {maximum}, not {_kind(value)}."
            raise validation_error(FeedCode.FEED_MALFORMED, problem)
        if not minimum <= value <= maximum:
            problem = f"is {value}, but must be a whole number from {minimum} to {maximum}."
            raise validation_error(FeedCode.FEED_MALFORMED, problem)
        return value

    return read


def _kind(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else json_kind(value)


def _choice_reader(*names: str) -> Callable[[object], str]:
    choices = " or ".join(f'"{name}"' for name in names)

    def read(value: object) -> str:
        if value not in names:
            kind = quote_text(value) if isinstance(value, str) else json_kind(value)
            raise validation_error(FeedCode.FEED_MALFORMED, f"is {kind}, but must be {choices}.")
        return str(value)

    return read


def _number_schema(minimum: int, maximum: int, example: int) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "integer", "minimum": minimum, "maximum": maximum, "examples": [example]}
    )


def _choice_schema(*names: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": list(names), "examples": [names[0]]})


BlockInterval = Annotated[
    int,
    BeforeValidator(_number_reader(1, MAX_INTERVAL_BLOCKS)),
    _number_schema(1, MAX_INTERVAL_BLOCKS, 300),
]
TimeInterval = Annotated[
    int,
    BeforeValidator(_number_reader(1, MAX_INTERVAL_SECONDS)),
    _number_schema(1, MAX_INTERVAL_SECONDS, 14_400),
]
UnixTime = Annotated[
    int, BeforeValidator(_number_reader(0, MAX_TIME)), _number_schema(0, MAX_TIME, 1_830_297_600)
]
_CHANGES = FeedState.PAUSED.value, FeedState.ACTIVE.value
ChangedState = Annotated[str, BeforeValidator(_choice_reader(*_CHANGES)), _choice_schema(*_CHANGES)]
CatchUpName = Annotated[
    str, BeforeValidator(_choice_reader(*CatchUp.values)), _choice_schema(*CatchUp.values)
]


class EveryBody(Body):
    """How often: one of its two members."""

    blocks: BlockInterval = optional(
        "A number of blocks of the source chain. Due are the blocks whose numbers it divides."
    )
    seconds: TimeInterval = optional(
        "A number of seconds, such as 14400 for four hours or 604800 for a week. Due are the Unix "
        "times that it divides: days begin at 0:00 UTC, and weeks on Thursday, as 1970 did."
    )

    @model_validator(mode="after")
    def _check_unit(self) -> Self:
        if len(self.model_fields_set) != 1:
            problem = 'must have exactly one member: {"blocks": 300} or {"seconds": 14400}.'
            raise validation_error(FeedCode.FEED_MALFORMED, problem)
        return self


_DueBlocks = Annotated[dict[str, BlockBody], map_keys("block", "^(block|timestamp):[$]due$")]


class FeedBatchBody(BatchRequest):
    """The body of a batch with one block, whose key is `block:$due` if `every` counts blocks, and
    `timestamp:$due` if it counts seconds.
    """

    data: Annotated[dict[str, _DueBlocks], map_keys("chain", CHAIN_PATTERN)] = Field(
        description="The block to prove, by the id of its source chain.",
        examples=[{"11155111": {DUE_BLOCK: example_of(BlockBody, "validation")}}],
    )


_Budget = optional(
    "The maximum that its runs may spend in 24 hours, in wei of the destination chain. A run "
    "reserves its fee until it has ended, with its deliveries. A run that does not fit waits."
)


class FeedRequest(Body):
    """A batch that is submitted again whenever it is due."""

    every: EveryBody = Field(description="How often: a number of blocks, or of seconds.")
    batch: FeedBatchBody = Field(
        description="The body of a batch, with `$due` in place of its block's number or time."
    )
    until: UnixTime = optional("The Unix time of the last run.")
    budget: Fee = _Budget
    catchUp: CatchUpName = Field(
        default_factory=lambda: CatchUp.LATEST.value,
        description="The runs to make up for after a pause: the `latest` that was due, or `all`.",
    )


class FeedChange(Body):
    """What is to change; at least one member."""

    state: ChangedState = optional("PAUSED pauses the feed, ACTIVE resumes it.")
    budget: Fee = _Budget

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if not self.model_fields_set:
            problem = "changes nothing. Name a state or a budget."
            raise validation_error(FeedCode.FEED_MALFORMED, problem)
        return self
