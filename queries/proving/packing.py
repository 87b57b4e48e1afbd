"""Pack many accounts or slots of a block into as few transactions as possible.

Calldata and rough gas estimates limit a group; the service simulates every call before sending it.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, pairwise
from typing import TypeVar

from queries.proving.accounts import SlotProof
from queries.proving.witnesses import AccountField, AccountToStore

# Nodes limit the whole signed transaction; its signature, fees and address take some 130 bytes.
TRANSACTION_BYTES = 128 * 1024
CALLDATA_BYTES = TRANSACTION_BYTES - 256

Item = TypeVar("Item")
Build = Callable[[Sequence[Item]], bytes]
Fits = Callable[[int, int], bool]  # whether a call can have the items from start to end
CutCost = Callable[[int], int]  # bytes that are sent twice if the items are cut there

_MAX_SHIFT = 8


def pack(
    items: Sequence[Item],
    build: Build[Item],
    limit: int,
    weigh: Callable[[Item], int] = lambda _: 1,
) -> list[Sequence[Item]]:
    """Split the items, in order, into as few groups as possible; `build` makes a group's call.

    A call has at most `CALLDATA_BYTES`, and its items a total weight of at most `limit`.
    """
    if not items:
        return []
    weights = [0, *accumulate(map(weigh, items))]

    @cache  # the same groups are tried repeatedly
    def size(start: int, end: int) -> int:
        return len(build(items[start:end]))

    def fits(start: int, end: int) -> bool:
        return (
            0 <= start < end <= len(items)
            and weights[end] - weights[start] <= limit
            and size(start, end) <= CALLDATA_BYTES
        )

    # A lower bound. If even groups of that number fit, no search is needed.
    min_groups = max(-(-size(0, len(items)) // CALLDATA_BYTES), -(-weights[-1] // max(limit, 1)))
    cuts = _even_cuts(len(items), min(min_groups, len(items)))
    if not all(fits(start, end) for start, end in pairwise(cuts)):
        cuts = [0]
        while cuts[-1] < len(items):
            cuts.append(_last_fitting(cuts[-1], len(items), fits))

    def cut_cost(cut: int) -> int:
        """Bytes of the nodes that both neighbours of the cut share, and each group repeats."""
        return size(cut - 1, cut) + size(cut, cut + 1) - size(cut - 1, cut + 1)

    return [items[start:end] for start, end in pairwise(_optimise_cuts(cuts, cut_cost, fits))]


def _even_cuts(items: int, groups: int) -> list[int]:
    return [items * index // groups for index in range(groups + 1)]


def _last_fitting(start: int, last: int, fits: Fits) -> int:
    """The end of the longest group from `start` that fits; it has at least one item."""
    ends = range(start + 2, last + 1)
    return start + 1 + bisect_left(ends, True, key=lambda end: not fits(start, end))


def _optimise_cuts(cuts: list[int], cut_cost: CutCost, fits: Fits) -> list[int]:
    """Make groups equally long if that fits, then move cuts to where they cost least.

    Neighbours share nodes, which two groups would both send. The cheapest cut is between subtrees.
    """
    groups = len(cuts) - 1
    even_cuts = _even_cuts(cuts[-1], groups)
    if not all(fits(start, end) for start, end in pairwise(even_cuts)):
        return cuts
    for index in range(1, groups):
        previous, middle, following = even_cuts[index - 1 : index + 2]
        # From the middle outwards, because the first of equals is taken.
        shifts = sorted(range(-_MAX_SHIFT, _MAX_SHIFT + 1), key=abs)
        candidates = [middle + shift for shift in shifts if previous < middle + shift < following]
        even_cuts[index] = next(
            cut
            for cut in sorted(candidates, key=cut_cost)
            if fits(previous, cut) and fits(cut, following)
        )
    return even_cuts


# Fields share a record, except these two, which a registry stores separately for contracts.
SEPARATE_FIELDS = frozenset({AccountField.STORAGE_ROOT, AccountField.CODE_HASH})
ACCOUNT_GAS = 20_000  # without its stored words
SLOT_GAS = 10_000
FLOOR_BYTE_GAS = 40  # the calldata floor of a non-zero byte (EIP-7623)
HEADER_BYTES = 600  # of a header in a call
HEADERS_PER_HOP = 8  # headers that cost as much as a hop, with tries as deep as mainnet's


@dataclass(frozen=True, slots=True)
class GasRules:
    """Gas rules that depend on a chain's forks; by default those of Osaka."""

    cap: int = 2**24  # of a transaction (EIP-7825)
    new_slot: int = 22_100  # a storage slot's first word (EIP-2929)
    floor_byte: int = FLOOR_BYTE_GAS

    @property
    def sentence(self) -> str:
        return (
            f"a new slot costs {self.new_slot:,}, and a byte of calldata at least {self.floor_byte}"
        )

    @property
    def items_gas(self) -> int:
        """Gas for a call's items. The rest of the cap is for 128 KiB of calldata."""
        return self.cap * 31 // 40


OSAKA = GasRules()


def split_accounts(
    requests: Sequence[AccountToStore], build: Build[AccountToStore], rules: GasRules = OSAKA
) -> list[Sequence[AccountToStore]]:
    """Split accounts into as few groups as possible; `build` makes a group's call."""
    parts = [_split_slots(request, build, rules) for request in requests]
    # Parts of one account cannot share a witness.
    own_groups = [[part] for account in parts if len(account) > 1 for part in account]
    packable = sorted(
        (account[0] for account in parts if len(account) == 1),
        key=lambda request: request.proof.address_hash,
    )
    gas = partial(estimate_account_gas, rules=rules)
    return [*own_groups, *pack(packable, build, rules.items_gas, gas)]


def estimate_account_gas(request: AccountToStore, rules: GasRules) -> int:
    """A rough estimate of the gas for an account, without its calldata."""
    fields, slots = request.fields, len(request.proof.slots)
    new_words = bool(fields) + len(fields & SEPARATE_FIELDS) + slots
    return ACCOUNT_GAS + SLOT_GAS * slots + rules.new_slot * new_words


def _split_slots(
    request: AccountToStore, build: Build[AccountToStore], rules: GasRules
) -> list[AccountToStore]:
    """Split an account with more slots than a transaction can store."""
    proof, fields = request.proof, request.fields
    if not proof.slots:
        return [request]

    def part(slots: Sequence[SlotProof]) -> AccountToStore:
        return AccountToStore(replace(proof, slots=tuple(slots)), fields)

    slots = sorted(proof.slots, key=lambda slot: slot.path.key)
    slots_gas = rules.items_gas - estimate_account_gas(part(()), rules)
    first, *others = pack(
        slots, lambda group: build([part(group)]), slots_gas, lambda _: rules.new_slot + SLOT_GAS
    )
    return [part(first), *(replace(part(group), fields=frozenset()) for group in others)]
