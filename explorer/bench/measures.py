"""Every row there is, in the order of the table, and what measures it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from explorer.bench import memory
from explorer.bench.gas import gas
from explorer.bench.latency import SECONDS, latency
from explorer.bench.many_batches import PROVERS, many_batches
from explorer.bench.rows import Bench, Row
from explorer.bench.status_growth import status_growth
from explorer.bench.status_polling import status_polling
from explorer.bench.submitting import SIZES, submitting
from explorer.bench.thousand_accounts import PIPELINED, WAITING, thousand_accounts


@dataclass(frozen=True, slots=True)
class Measure:
    """What finds one row, or several that share their preparation."""

    names: tuple[str, ...]
    find: Callable[[Bench], Iterator[Row]]


MEASURES = (
    Measure(("status_polling",), status_polling),
    Measure(("status_growth",), status_growth),
    Measure(tuple(SIZES), submitting),
    Measure((WAITING, PIPELINED), thousand_accounts),
    Measure(tuple(PROVERS), many_batches),
    Measure(tuple(SECONDS), latency),
    Measure(("gas",), gas),
    Measure(memory.NAMES, memory.memory),
)
NAMES = tuple(name for measure in MEASURES for name in measure.names)


def found(bench: Bench) -> Iterator[Row]:
    """The wanted rows, as they are measured."""
    for measure in MEASURES:
        if bench.wanted & set(measure.names):
            bench.say(", ".join(name for name in measure.names if name in bench.wanted))
            yield from measure.find(bench)
