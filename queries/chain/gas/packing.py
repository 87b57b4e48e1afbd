"""Many accounts or slots of one block, in the fewest transactions that a node takes."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

# What a node's pool takes is the whole signed transaction: 128 KiB with its signature, fees and
# address, for which some 130 bytes would do.
TRANSACTION_BYTES = 128 * 1024
CALLDATA_BYTES = TRANSACTION_BYTES - 256

Item = TypeVar("Item")
Build = Callable[[Sequence[Item]], bytes]

_SHIFT = 8


def pack(items: Sequence[Item], build: Build[Item], most: int) -> list[Sequence[Item]]:
    """Split the items, in their order, into as few groups as `build` needs calls for.

    A call has at most `CALLDATA_BYTES`, and at most `most` items where it is their gas that would
    not fit.
    """
    cuts = [0]
    while cuts[-1] < len(items):
        cuts.append(_furthest(items, cuts[-1], build, most))
    return _groups(items, _evened(items, cuts, build, most))


def _furthest(items: Sequence[Item], start: int, build: Build[Item], most: int) -> int:
    """The end of the longest group from `start` that fits; one item is always taken."""
    fits, beyond = start + 1, min(len(items), start + most) + 1
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if len(build(items[start:middle])) <= CALLDATA_BYTES:
            fits = middle
        else:
            beyond = middle
    return fits


def _evened(items: Sequence[Item], cuts: list[int], build: Build[Item], most: int) -> list[int]:
    """The same number of groups, of one size where that fits, cut where it costs least.

    Neighbours share nodes, and what two groups share is sent twice: a cut between two subtrees is
    the cheapest.
    """
    groups = len(cuts) - 1
    even = [len(items) * place // groups for place in range(groups + 1)]
    if not _fit(items, even, build, most):
        return cuts
    for place in range(1, groups):
        middle = even[place]
        # From the middle outwards: of equals the first is taken.
        for shift in sorted(range(-_SHIFT, _SHIFT + 1), key=abs):
            cuts = [*even[:place], middle + shift, *even[place + 1 :]]
            if _fit(items, cuts, build, most) and (
                _size(items, cuts, build) < _size(items, even, build)
            ):
                even = cuts
    return even


def _size(items: Sequence[Item], cuts: list[int], build: Build[Item]) -> int:
    return sum(len(build(group)) for group in _groups(items, cuts))


def _fit(items: Sequence[Item], cuts: list[int], build: Build[Item], most: int) -> bool:
    ascending = all(start < end for start, end in pairwise(cuts))
    return ascending and all(
        len(group) <= most and len(build(group)) <= CALLDATA_BYTES for group in _groups(items, cuts)
    )


def _groups(items: Sequence[Item], cuts: list[int]) -> list[Sequence[Item]]:
    return [items[start:end] for start, end in pairwise(cuts)]
