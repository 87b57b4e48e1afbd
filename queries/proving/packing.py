"""Many accounts or slots of one block, in the fewest transactions that a node takes.

Groups are cut by bytes and by a rough gas table; the service tries out every call before it is
sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import TypeVar

from queries.proving.accounts import SlotProof
from queries.proving.witnesses import AccountField, AccountRequest

# What a node's pool takes is the whole signed transaction: 128 KiB with its signature, fees and
# address, for which some 130 bytes would do.
TRANSACTION_BYTES = 128 * 1024
CALLDATA_BYTES = TRANSACTION_BYTES - 256

Item = TypeVar("Item")
Build = Callable[[Sequence[Item]], bytes]
Fits = Callable[[int, int], bool]  # whether one call takes the items from one place to another
Shared = Callable[[int], int]  # bytes that are sent twice where the items are cut there

_SHIFT = 8


def pack(
    items: Sequence[Item], build: Build[Item], most: int, weigh: Callable[[Item], int] = lambda _: 1
) -> list[Sequence[Item]]:
    """Split the items, in their order, into as few groups as `build` needs calls for.

    A call has at most `CALLDATA_BYTES`, and items of at most the weight `most`, which represents
    the gas that would not fit.
    """
    if not items:
        return []
    weight = [0, *accumulate(map(weigh, items))]

    @cache  # the same groups are weighed again and again
    def size(start: int, end: int) -> int:
        return len(build(items[start:end]))

    def fits(start: int, end: int) -> bool:
        return (
            0 <= start < end <= len(items)
            and weight[end] - weight[start] <= most
            and size(start, end) <= CALLDATA_BYTES
        )

    # No fewer groups than these can do. Where they do, the longest need not be looked for.
    least = max(-(-size(0, len(items)) // CALLDATA_BYTES), -(-weight[-1] // max(most, 1)))
    cuts = _even(len(items), min(least, len(items)))
    if not all(fits(start, end) for start, end in pairwise(cuts)):
        cuts = [0]
        while cuts[-1] < len(items):
            cuts.append(_furthest(cuts[-1], len(items), fits))

    def shared(cut: int) -> int:
        """What a cut there costs: these two are under all nodes that groups on both sides show."""
        return size(cut - 1, cut) + size(cut, cut + 1) - size(cut - 1, cut + 1)

    return [items[start:end] for start, end in pairwise(_evened(cuts, shared, fits))]


def _even(items: int, groups: int) -> list[int]:
    return [items * place // groups for place in range(groups + 1)]


def _furthest(start: int, last: int, fits: Fits) -> int:
    """The end of the longest group from `start` that fits; one item is always taken."""
    fitting, beyond = start + 1, last + 1
    while beyond - fitting > 1:
        middle = (fitting + beyond) // 2
        if fits(start, middle):
            fitting = middle
        else:
            beyond = middle
    return fitting


def _evened(cuts: list[int], shared: Shared, fits: Fits) -> list[int]:
    """The same number of groups, of one size where that fits, cut where it costs least.

    Neighbours share nodes, and what two groups share is sent twice: a cut between two subtrees is
    the cheapest.
    """
    groups = len(cuts) - 1
    even = _even(cuts[-1], groups)
    if not all(fits(start, end) for start, end in pairwise(even)):
        return cuts
    for place in range(1, groups):
        before, middle, behind = even[place - 1 : place + 2]
        # From the middle outwards: of equals the first is taken.
        shifts = sorted(range(-_SHIFT, _SHIFT + 1), key=abs)
        near = [middle + shift for shift in shifts if before < middle + shift < behind]
        even[place] = next(
            cut for cut in sorted(near, key=shared) if fits(before, cut) and fits(cut, behind)
        )
    return even


# All fields are in one record, but these two of a contract are facts of their own beside it.
OWN_FACTS = frozenset({AccountField.STORAGE_ROOT, AccountField.CODE_HASH})
ACCOUNT = 20_000  # beside what is stored of it
SLOT = 10_000
BYTE = 40
HEADERS_OF_A_HOP = 8  # that cost as much as a hop, on tries as deep as mainnet's


@dataclass(frozen=True, slots=True)
class GasRules:
    """What a chain's forks decide; by default the rules of Osaka."""

    cap: int = 2**24  # of a transaction (EIP-7825)
    new_slot: int = 22_100  # a storage slot's first word (EIP-2929)

    @property
    def room(self) -> int:
        """For what the rough table counts; the rest of the cap is for 128 KiB of calldata."""
        return self.cap * 31 // 40


OSAKA = GasRules()


def portions(
    requests: Sequence[AccountRequest], build: Build[AccountRequest], rules: GasRules = OSAKA
) -> list[Sequence[AccountRequest]]:
    """In as few groups as `build`, which makes a call of one, needs calls for."""
    parts = [_parts(request, build, rules) for request in requests]
    # Parts of one account cannot share a witness.
    apart = [[part] for account in parts if len(account) > 1 for part in account]
    whole = sorted(
        (account[0] for account in parts if len(account) == 1),
        key=lambda request: request.proof.address_hash,
    )
    return [*apart, *pack(whole, build, rules.room, lambda each: gas_of(each, rules))]


def gas_of(request: AccountRequest, rules: GasRules) -> int:
    """By the rough table, beside its bytes."""
    fields, slots = request.fields, len(request.proof.slots)
    stored = bool(fields) + len(fields & OWN_FACTS) + slots
    return ACCOUNT + SLOT * slots + rules.new_slot * stored


def _parts(
    request: AccountRequest, build: Build[AccountRequest], rules: GasRules
) -> list[AccountRequest]:
    """An account with more slots than one transaction can store is proven in several parts."""
    proof, fields = request.proof, request.fields
    if not proof.slots:
        return [request]

    def part(slots: Sequence[SlotProof]) -> AccountRequest:
        return AccountRequest(replace(proof, slots=tuple(slots)), fields)

    slots = sorted(proof.slots, key=lambda each: each.path.key)
    rest = rules.room - gas_of(part(()), rules)
    first, *more = pack(
        slots, lambda some: build([part(some)]), rest, lambda _: rules.new_slot + SLOT
    )
    others = [replace(part(each), fields=frozenset()) for each in more]
    return [part(first), *others]
