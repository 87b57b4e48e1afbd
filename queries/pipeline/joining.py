"""Pieces of several jobs in one transaction, which spares the 21,000 gas of another.

Headers that several pieces show, on their way up to a block that the registry knows, are shown
once. Nobody pays more for that than alone: what a transaction costs is borne in proportion to
what each piece would have cost by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from queries.pipeline.pieces import Piece
from queries.proving.packing import CALLDATA_BYTES
from queries.proving.portions import MOST_GAS
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction's calldata, and what it shows."""

    data: bytes
    pieces: tuple[Piece, ...] = ()  # none: it brings the registry a block's hash


def join(pieces: Sequence[Piece]) -> list[Call]:
    """In the order of their blocks, each into the first call that has room."""
    groups: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda each: each.step.header.number):
        for group in groups:
            if _has_room([*group, piece]):
                group.append(piece)
                break
        else:
            groups.append([piece])
    return [Call(_data(group), tuple(group)) for group in groups]


def _has_room(group: Sequence[Piece]) -> bool:
    return sum(piece.gas for piece in group) <= MOST_GAS and len(_data(group)) <= CALLDATA_BYTES


def _data(group: Sequence[Piece]) -> bytes:
    named = [piece.section for piece in group if piece.by_words]
    shown = map(headers_section, _ranges([piece for piece in group if not piece.by_words]))
    return prove_call([*named, *shown])


def _ranges(pieces: Sequence[Piece]) -> list[list[HeaderStep]]:
    """The chains of headers, those that meet made one; `pieces` is in the order of blocks."""
    ranges: list[list[HeaderStep]] = []
    for piece in pieces:
        steps = [piece.step, *piece.above]
        for place, lower in enumerate(ranges):
            if (joined := _joined(lower, steps)) is not None:
                ranges[place] = joined
                break
        else:
            ranges.append(steps)
    return ranges


def _joined(lower: Sequence[HeaderStep], upper: Sequence[HeaderStep]) -> list[HeaderStep] | None:
    meet = upper[0].header.number - lower[0].header.number
    if not 0 <= meet < len(lower):
        return None
    both = [[step for step in pair if step] for pair in zip_longest(lower[meet:], upper)]
    if not all(_can_be_one(steps) for steps in both):
        return None
    return [*lower[:meet], *map(_one, both)]


def _can_be_one(steps: Sequence[HeaderStep]) -> bool:
    same = len({step.header.hash for step in steps}) == 1
    return same and sum(bool(step.witness) for step in steps) <= 1


def _one(steps: Sequence[HeaderStep]) -> HeaderStep:
    first, *_ = steps
    return replace(
        first,
        witness=b"".join(step.witness for step in steps),
        accumulate=any(step.accumulate for step in steps),
        fields=frozenset(field for step in steps for field in step.fields),
        timestamps=tuple(sorted({second for step in steps for second in step.timestamps})),
    )
