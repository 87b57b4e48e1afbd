"""Many accounts or slots of one block, in the fewest transactions that a node takes."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeVar

# What a node's pool takes is the whole signed transaction: 128 KiB with its signature, fees and
# address, for which some 130 bytes would do.
TRANSACTION_BYTES = 128 * 1024
CALLDATA_BYTES = TRANSACTION_BYTES - 256

Item = TypeVar("Item")
Build = Callable[[Sequence[Item]], bytes]
Size = Callable[[int, int], int]  # bytes of the call for the items from one place to another

_SHIFT = 8


def pack(items: Sequence[Item], build: Build[Item], most: int) -> list[Sequence[Item]]:
    """Split the items, in their order, into as few groups as `build` needs calls for.

    A call has at most `CALLDATA_BYTES`, and at most `most` items where it is their gas that would
    not fit.
    """

    @cache  # the same groups are weighed again and again
    def size(start: int, end: int) -> int:
        return len(build(items[start:end]))

    cuts = [0]
    while cuts[-1] < len(items):
        cuts.append(_furthest(cuts[-1], min(len(items), cuts[-1] + most), size))
    return [items[start:end] for start, end in pairwise(_evened(cuts, size, most))]


def _furthest(start: int, last: int, size: Size) -> int:
    """The end of the longest group from `start` that fits; one item is always taken."""
    fits, beyond = start + 1, last + 1
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if size(start, middle) <= CALLDATA_BYTES:
            fits = middle
        else:
            beyond = middle
    return fits


def _evened(cuts: list[int], size: Size, most: int) -> list[int]:
    """The same number of groups, of one size where that fits, cut where it costs least.

    Neighbours share nodes, and what two groups share is sent twice: a cut between two subtrees is
    the cheapest.
    """
    groups = len(cuts) - 1
    even = [cuts[-1] * place // groups for place in range(groups + 1)]
    if not all(_fits(start, end, size, most) for start, end in pairwise(even)):
        return cuts
    for place in range(1, groups):
        before, middle, behind = even[place - 1 : place + 2]
        # From the middle outwards: of equals the first is taken.
        shifts = sorted(range(-_SHIFT, _SHIFT + 1), key=abs)
        possible = [
            middle + shift
            for shift in shifts
            if _fits(before, middle + shift, size, most)
            and _fits(middle + shift, behind, size, most)
        ]
        even[place] = min(possible, key=lambda cut: size(before, cut) + size(cut, behind))
    return even


def _fits(start: int, end: int, size: Size, most: int) -> bool:
    return 0 < end - start <= most and size(start, end) <= CALLDATA_BYTES
