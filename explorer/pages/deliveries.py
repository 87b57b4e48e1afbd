"""A batch's deliveries: in few words, and their arguments with types."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from accounts.wording import format_count
from explorer.pages.formatting import status_mark
from queries.reading import BatchView, delivery_states
from queries.schema.functions import parse_function
from queries.statuses import OPEN_DELIVERIES, BatchStatus, DeliveryState


@dataclass(frozen=True, slots=True)
class DeliverySummary:
    """What became of a batch's deliveries."""

    text: str  # such as `2 of 3 delivered`
    mark: str  # CSS class


def summarize_deliveries(states: Sequence[DeliveryState]) -> DeliverySummary | None:
    """The summary of these states; None without deliveries. A failure comes first."""
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
        text = (
            "being delivered" if count == 1 else f"{delivered + skipped:,} of {count:,} delivered"
        )
        return DeliverySummary(text, status_mark(DeliveryState.SENT))
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
        (key, summarize_deliveries(states)) for key, states in delivery_states(ids).items()
    )
    return {key: summary for key, summary in summaries if summary}


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    type: str
    text: str  # as in the request; a list as JSON


def argument_lines(function: str, arguments: Sequence[object]) -> Iterator[ArgumentLine]:
    """The arguments of a checked call."""
    for kind, argument in zip(parse_function(function).inputs, arguments, strict=True):
        text = argument if isinstance(argument, str) else json.dumps(argument, ensure_ascii=False)
        yield ArgumentLine(kind.to_type_str(), text)


def function_name(function: str) -> str:
    return parse_function(function).name
