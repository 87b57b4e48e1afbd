"""Read the logs of many contracts' events, in as few requests as nodes answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from queries.chain.answers import FoundLog
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError, NodesUnreachableError, NoQuorumError, RateLimitedError

FEW_BLOCKS = 16  # of so many or fewer, events are halved and not blocks

# By chain, the blocks that a request may be about, if nodes did not answer one for more.
_max_blocks: dict[int, int] = {}


class EventSource(NamedTuple):
    """An event of a contract."""

    address: str  # in lower case
    topic: bytes


@dataclass(frozen=True, slots=True)
class LogRange:
    """The logs of these events in these blocks, or why nodes refuse them."""

    events: Sequence[EventSource]
    blocks: range
    logs: Sequence[FoundLog] = ()
    error: ChainError | None = None


def read_logs(
    source: ChainClient, positions: Mapping[EventSource, int], last: int
) -> Iterator[LogRange]:
    """Read the logs of each event from its block on, perhaps not up to `last`, and those of events
    with much later blocks not at all. Raises `ChainError` if nodes fail; if they refuse, the
    request is for fewer blocks and then for fewer events, so that a contract with many logs stops
    no other.
    """
    chain, limit = source.chain.id, source.chain.limits.max_log_blocks
    max_blocks = _max_blocks.get(chain, limit)
    try:
        blocks = range(min(positions.values()), last + 1)[:max_blocks]
        yield from _read_or_halve(source, positions, blocks)
    except NodesUnreachableError:  # perhaps because of so many logs
        _max_blocks[chain] = max(max_blocks // 2, 1)
        raise
    _max_blocks[chain] = min(2 * max_blocks, limit)


def _read_or_halve(
    source: ChainClient, positions: Mapping[EventSource, int], blocks: range
) -> Iterator[LogRange]:
    """Read these blocks for the events whose blocks begin there. If nodes refuse, only the first
    half of the blocks, or of few blocks both halves of the events.
    """
    events = [event for event, first in positions.items() if first in blocks]
    blocks = range(min(positions[event] for event in events), blocks.stop)
    try:
        logs = source.ask_quorum(
            ChainClient.logs,
            addresses={event.address for event in events},
            topics=[{event.topic for event in events}],
            first=blocks[0],
            last=blocks[-1],
        )
    except (NodesUnreachableError, NoQuorumError, RateLimitedError):
        raise
    except ChainError as error:
        middle = len(events) // 2
        if len(blocks) > (FEW_BLOCKS if middle else 1):
            yield from _read_or_halve(source, positions, blocks[: len(blocks) // 2])
        elif middle:
            for half in (events[:middle], events[middle:]):
                half_positions = {event: positions[event] for event in half}
                yield from _read_or_halve(source, half_positions, blocks)
        else:
            yield LogRange(events, blocks, error=error)
    else:
        yield LogRange(events, blocks, logs)
