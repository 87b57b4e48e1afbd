"""A batch's deliveries: in few words, and each with its decoded arguments."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.grammar import ABIType, TupleType
from eth_utils.address import to_checksum_address

from accounts.wording import format_count, join_names
from explorer.pages.decoding import (
    DecodedValue,
    decode_account_field,
    decode_header_field,
    decode_time,
)
from explorer.pages.formatting import status_mark
from explorer.pages.links import PageLinks
from queries.proving import AccountField, HeaderField
from queries.reading import BatchView, DeliveryView, ProvenValues, delivery_states
from queries.schema.contract_calls import (
    Argument,
    CallValueError,
    CheckedCall,
    placeholder_value,
    read_call,
)
from queries.schema.functions import Parameter, parse_function
from queries.schema.templates import Placeholder
from queries.statuses import OPEN_DELIVERIES, BatchStatus, DeliveryState
from queries.wait_reasons import Reason

MAX_SHOWN_LINES, MAX_LINES = 12, 300  # of a call's arguments: above a fold, and in all
MAX_TEXT = 400  # characters of a text
MAX_BYTES, MAX_UNFOLDED_BYTES = 4_096, 64
_TIMES = range(1_400_000_000, 4_102_444_800)  # before Ethereum, and up to 2100
_TIME_NAMES = "time", "deadline", "expir"  # in names of parameters


@dataclass(frozen=True, slots=True)
class DeliverySummary:
    """What became of a batch's deliveries."""

    text: str  # such as `2 of 3 delivered`
    mark: str  # CSS class


def summarize_deliveries(
    states: Sequence[DeliveryState], refused: int = 0
) -> DeliverySummary | None:
    """The summary of these states; None without deliveries. A failure comes first.

    `refused`: how many wait because their contract refuses them.
    """
    if not states:
        return None
    count, failed = len(states), states.count(DeliveryState.FAILED)
    if failed:
        text = f"{failed:,} of {format_count(count, 'delivery', 'deliveries')} failed"
        return DeliverySummary(
            "delivery failed" if count == 1 else text, status_mark(DeliveryState.FAILED)
        )
    delivered, skipped = states.count(DeliveryState.DELIVERED), states.count(DeliveryState.SKIPPED)
    if any(state in OPEN_DELIVERIES for state in states):
        if count == 1:
            text = "refused, is tried again" if refused else "being delivered"
        else:
            text = f"{delivered + skipped:,} of {count:,} delivered"
            text += f", {refused:,} refused" if refused else ""
        return DeliverySummary(text, "waiting" if refused else status_mark(DeliveryState.SENT))
    text = "delivered" if count == 1 else f"{delivered:,} delivered"
    if skipped:
        text = (
            f"{delivered:,} delivered, {skipped:,} skipped" if delivered else "nothing to deliver"
        )
    return DeliverySummary(text, status_mark(DeliveryState.DELIVERED))


def delivery_summaries(batches: Iterable[BatchView]) -> Mapping[str, DeliverySummary]:
    """The summaries of those batches that are DONE and have deliveries."""
    ids = [
        batch.id for batch in batches if batch.delivery_count and batch.status == BatchStatus.DONE
    ]
    if not ids:
        return {}
    summaries = (
        (key, summarize_deliveries(*states)) for key, states in delivery_states(ids).items()
    )
    return {key: summary for key, summary in summaries if summary}


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """An argument, or a value in an array or tuple."""

    name: str  # as declared, such as `votes[0].weight`; empty without one
    type: str
    text: str  # for people
    unit_text: str = ""  # in another unit, such as `5 wei`
    copied: str = ""  # the value as the contract gets it; empty if it is the text
    placeholder: str = ""  # that stands for it
    size: int = 0  # of long bytes
    is_known: bool = True  # False: the text is a placeholder

    @property
    def is_address(self) -> bool:
        return self.is_known and self.type == "address"


@dataclass(frozen=True, slots=True)
class CallLines:
    function: str
    lines: Sequence[ArgumentLine]
    is_cut_off: bool

    @property
    def shown(self) -> Sequence[ArgumentLine]:
        return self.lines[:MAX_SHOWN_LINES]

    @property
    def folded(self) -> Sequence[ArgumentLine]:
        return self.lines[MAX_SHOWN_LINES:]


@dataclass(frozen=True, slots=True)
class SharedReason:
    """Why several deliveries wait or have failed."""

    reason: Reason
    has_failed: bool
    text: str  # such as `10 deliveries` or `Deliveries 2, 3 and 5`


@dataclass(frozen=True, slots=True)
class DeliveryCall:
    """A delivery as its page shows it."""

    number: int  # from 1
    delivery: DeliveryView
    reason: Reason | None  # unless several share it
    call: CallLines
    condition: CallLines | None
    attempts: int
    max_attempts: int


@dataclass(frozen=True, slots=True)
class DeliveryList:
    calls: Sequence[DeliveryCall]
    shared_reasons: Sequence[SharedReason]


def delivery_list(
    batch: BatchView, deliveries: Sequence[DeliveryView], links: PageLinks
) -> DeliveryList:
    """The deliveries with their arguments; a reason that several have stands apart."""
    keys = [(entry.error is not None, entry.error or entry.waits_for) for entry in deliveries]
    shared = [key for key, count in Counter(keys).items() if key[1] and count > 1]
    conditions = [read_call(*entry.unless) if entry.unless else None for entry in deliveries]
    calls = [read_call(entry.function, entry.arguments) for entry in deliveries]
    decoder = _Decoder(batch, [*calls, *filter(None, conditions)], links)
    attempts = links.routes.limits.delivery_attempts
    return DeliveryList(
        [
            DeliveryCall(
                number,
                entry,
                None if key in shared else key[1],
                decoder.call_lines(entry.function, call),
                decoder.call_lines(entry.unless[0], condition)
                if entry.unless and condition
                else None,
                entry.refusals + bool(entry.transaction_hash and not entry.error),
                attempts,
            )
            for number, (entry, key, call, condition) in enumerate(
                zip(deliveries, keys, calls, conditions, strict=True), 1
            )
        ],
        [
            SharedReason(reason, has_failed, _places([key == (has_failed, reason) for key in keys]))
            for has_failed, reason in shared
            if reason
        ],
    )


def _places(are_meant: Sequence[bool]) -> str:
    """Such as `10 deliveries`, or `Deliveries 2, 3 and 5` if there are others."""
    numbers = [number for number, is_meant in enumerate(are_meant, 1) if is_meant]
    if all(are_meant):
        return format_count(len(numbers), "delivery", "deliveries")
    first, last = numbers[0], numbers[-1]
    is_range = last - first == len(numbers) - 1 > 1
    return f"Deliveries {f'{first} to {last}' if is_range else join_names(numbers)}"


class _Decoder:
    """Decodes the arguments of a batch's calls, with the known values of placeholders."""

    def __init__(self, batch: BatchView, calls: Sequence[CheckedCall], links: PageLinks) -> None:
        placeholders = [used for call in calls for used in call.placeholders]
        self._values, self._currency = None, ""
        if placeholders:
            registry = ""
            if batch.proves and batch.source:
                registry = links.registry_address(batch.source, batch.destination)
            self._values = ProvenValues(batch.id, registry, placeholders)
            self._currency = links.currency(self._values.source)

    def call_lines(self, function: str, call: CheckedCall) -> CallLines:
        parameters = call.function.parameters
        items = zip(parameters, call.function.inputs, call.arguments, strict=True)
        lines = list[ArgumentLine]()
        for parameter, kind, argument in items:
            for line in self._lines(parameter.name, parameter, kind, argument):
                if len(lines) == MAX_LINES:
                    return CallLines(function, lines, is_cut_off=True)
                lines.append(line)
        return CallLines(function, lines, is_cut_off=False)

    def _lines(
        self, name: str, parameter: Parameter, kind: ABIType, argument: Argument
    ) -> Iterator[ArgumentLine]:
        if isinstance(argument, Placeholder):
            yield self._placeholder_line(name, kind, argument)
        elif not isinstance(argument, tuple):
            yield _literal_line(name, kind, argument)
        elif not argument:
            yield ArgumentLine(name, kind.to_type_str(), "empty")
        elif isinstance(kind, TupleType) and not kind.is_array:
            entries = zip(parameter.components, kind.components, argument, strict=True)
            for index, (component, item_kind, item) in enumerate(entries):
                label = f"{name}.{component.name or index}"
                yield from self._lines(label, component, item_kind, item)
        else:
            for index, item in enumerate(argument):
                yield from self._lines(f"{name}[{index}]", parameter, kind.item_type, item)

    def _placeholder_line(self, name: str, kind: ABIType, placeholder: Placeholder) -> ArgumentLine:
        type_text = kind.to_type_str()
        try:
            value = self._values and placeholder_value(placeholder, kind, self._values)
        except CallValueError:
            value = None
        if value is None:
            return ArgumentLine(name, type_text, placeholder.text, is_known=False)
        line = _literal_line(name, kind, value)
        decoded = self._decoded(placeholder, value)
        text, unit_text = (decoded.exact, decoded.unit_text) if decoded else (line.text, "")
        copied = line.copied or (line.text if decoded else "")
        return ArgumentLine(name, type_text, text, unit_text, copied, placeholder.text, line.size)

    def _decoded(self, placeholder: Placeholder, value: Any) -> DecodedValue | None:
        """The value by what it is, if its type does not show that."""
        number = int.from_bytes(value) if isinstance(value, bytes) else value
        if placeholder.name == "timestamp":
            return decode_time(number)
        if placeholder.name != "value" or isinstance(value, bool):
            return None
        (fact,) = placeholder.facts
        if placeholder.account and fact in AccountField.__members__:
            return decode_account_field(fact, number, self._currency)
        if fact in HeaderField.__members__:
            return decode_header_field(fact, f"0x{number:064x}")
        return None


def _literal_line(name: str, kind: ABIType, value: Any) -> ArgumentLine:
    """A value as eth_abi takes it, or one of a checked call."""
    type_text = kind.to_type_str()
    if type_text == "address":
        return ArgumentLine(name, type_text, to_checksum_address(value))
    if isinstance(value, bool):
        return ArgumentLine(name, type_text, str(value).lower())
    if isinstance(value, bytes):
        text, is_long = f"0x{value[:MAX_BYTES].hex()}", len(value) > MAX_UNFOLDED_BYTES
        text += "…" if len(value) > MAX_BYTES else ""
        size, copied = (len(value), "") if is_long else (0, text)
        return ArgumentLine(name, type_text, text, copied=copied, size=size)
    if isinstance(value, int):
        if value in _TIMES and any(word in name.lower() for word in _TIME_NAMES):
            moment = decode_time(value)
            return ArgumentLine(name, type_text, moment.exact, moment.unit_text, f"{value}")
        plain, text = str(value), f"{value:,}"
        return ArgumentLine(name, type_text, text, copied=plain if plain != text else "")
    text = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
    return ArgumentLine(name, type_text, text)


def function_name(function: str) -> str:
    return parse_function(function).name
