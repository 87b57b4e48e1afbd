"""Every row there is, in the order of the table, and what measures it."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from explorer.bench import gas, memory, stored_calldata
from explorer.bench.latency import SECONDS, latency
from explorer.bench.many_batches import PROVERS, many_batches
from explorer.bench.recorded import recorded
from explorer.bench.rows import Bench, BenchFailed, Row, Sizes
from explorer.bench.status_growth import status_growth
from explorer.bench.status_polling import FLOORS, status_polling
from explorer.bench.submitting import SIZES, submitting
from explorer.bench.thousand_accounts import PIPELINED, WAITING, thousand_accounts
from queries.chain.gas.corpus import CorpusUnreadable


@dataclass(frozen=True, slots=True)
class Measure:
    """What finds one row, or several that share their preparation."""

    names: tuple[str, ...]
    find: Callable[[Bench], Iterator[Row]]
    recorded: Collection[str] = ()  # cases of the corpus that it cannot do without


MEASURES = (
    Measure(("status_polling", *(f"status_polling_{count}" for count in FLOORS)), status_polling),
    Measure(("status_growth",), status_growth),
    Measure(tuple(SIZES), submitting),
    Measure((WAITING, PIPELINED), thousand_accounts),
    Measure(tuple(PROVERS), many_batches),
    Measure(tuple(SECONDS), latency),
    Measure(("gas",), gas.gas, gas.CASES),
    Measure((stored_calldata.NAME,), stored_calldata.stored_calldata, stored_calldata.SHOWN),
    Measure(memory.NAMES, memory.memory),
)
NAMES = tuple(name for measure in MEASURES for name in measure.names)


def look_for_what_is_recorded(wanted: Collection[str], sizes: Sizes) -> None:
    """Before anything runs: else the rows before those that lack it would have run in vain."""
    needy = [each for each in MEASURES if each.recorded and set(wanted) & set(each.names)]
    try:
        for each in needy:
            recorded(sizes.corpus, each.recorded)
    except (BenchFailed, CorpusUnreadable) as fault:
        names = [name for each in needy for name in each.names]
        rows = f"The row {names[0]} needs" if len(names) == 1 else f"{' and '.join(names)} need"
        raise BenchFailed(
            f"{fault} {rows} recorded blocks. Name their folder with --corpus (of make: "
            'ARGS="--corpus FOLDER"), or the rows that you want (ROWS="submit_1 memory_server").'
        ) from fault


def found(bench: Bench) -> Iterator[Row]:
    """The wanted rows, as they are measured."""
    for measure in MEASURES:
        if bench.wanted & set(measure.names):
            bench.say(", ".join(name for name in measure.names if name in bench.wanted))
            yield from measure.find(bench)
