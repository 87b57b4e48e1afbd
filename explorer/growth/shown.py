"""The arithmetic's outcome as the command and the page both show it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.growth.figures import Figures
from explorer.growth.limits import Reached, reached
from explorer.growth.needs import Needs, needs_of

LEVELS = (10_000, 1_000_000, 100_000_000)
TENTH = 0.1
UNITS = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


@dataclass(frozen=True, slots=True)
class Line:
    """One need, at each level."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Growth:
    """The tables, and in words what is full first."""

    levels: tuple[str, ...]
    lines: tuple[Line, ...]
    limits: Sequence[tuple[str, str, str]]  # what, from how many facts a day on, what changes then
    first: str
    first_of_design: str

    @property
    def rows(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Each need, with its cells under the levels that they are of."""
        return [(line.name, list(zip(self.levels, line.cells, strict=True))) for line in self.lines]


def short(number: float) -> str:
    """Such as 8.77 M, in three digits."""
    for size, letter in UNITS:
        if number >= size:
            return f"{number / size:.3g} {letter}" if number < 1_000 * size else f"{number:.3g}"
    return f"{number:.3g}"


def _percent(share: float) -> str:
    places = 2 if share < TENTH else 0
    return f"{share * 100:,.{places}f} %"


NEEDS: tuple[tuple[str, Callable[[Needs], str]], ...] = (
    ("source blocks asked for, a day", lambda needs: short(needs.blocks_asked)),
    ("facts of each", lambda needs: short(needs.facts_of_a_block)),
    ("destination gas, a day", lambda needs: short(needs.gas)),
    ("of all its blocks", lambda needs: _percent(needs.block_share)),
    ("calldata, bytes a day", lambda needs: short(needs.calldata)),
    ("transactions, a day", lambda needs: short(needs.transactions)),
    ("in each destination block", lambda needs: short(needs.transactions_of_a_block)),
    ("questions to nodes, a day", lambda needs: short(needs.questions)),
    ("proofs of a node, a second", lambda needs: short(needs.proofs_a_second)),
    ("database rows, a day", lambda needs: short(needs.rows)),
    ("database bytes, a day", lambda needs: short(needs.database_bytes)),
    ("database bytes, kept", lambda needs: short(needs.database_bytes_kept)),
    ("polls, a second", lambda needs: short(needs.polls_a_second)),
)


def growth(figures: Figures, levels: Sequence[float] = LEVELS) -> Growth:
    needs = [needs_of(level, figures) for level in levels]
    lines = [Line(name, tuple(map(shown, needs))) for name, shown in NEEDS]
    for name, count in (
        ("provers", "provers"),
        ("server processes", "servers"),
        ("processors of a PostgreSQL", "database"),
    ):
        cells = tuple(short(_whole(getattr(each, count) / figures.busy)) for each in needs)
        lines.append(Line(name, cells))
    found = reached(figures)
    design = next(each for each in found if not each.limit.mended_by_more)
    return Growth(
        tuple(f"{level:,.0f}" for level in levels),
        tuple(lines),
        [(each.limit.name, _since(each, figures), each.limit.then) for each in found],
        _told(found[0], figures),
        _told(design, figures),
    )


def _whole(number: float) -> float:
    return max(-(-number // 1), 1)


def _told(each: Reached, figures: Figures) -> str:
    return f"{each.limit.name}, {_since(each, figures)}"


def _since(each: Reached, figures: Figures) -> str:
    return f"from {short(each.facts)} facts a day on{each.limit.where(figures)}"
