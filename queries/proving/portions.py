"""Proofs of one block, portioned so that each portion fits a transaction.

By a rough gas table: what is sent is always tried out first.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .account_proofs import SlotProof
from .packing import pack
from .witnesses import AccountRequest

NEW_WORD = 22_100
ACCOUNT = 20_000  # beside what is stored of it
SLOT = 10_000
BYTE = 40
MOST_GAS = 13_000_000  # of 2^24, with room for 128 KiB of calldata

Build = Callable[[Sequence[AccountRequest]], bytes]


def portions(requests: Sequence[AccountRequest], build: Build) -> list[Sequence[AccountRequest]]:
    """In as few groups as `build`, which makes a call of one, needs calls for."""
    parts = [_parts(request, build) for request in requests]
    # Parts of one account cannot share a witness.
    apart = [[part] for account in parts if len(account) > 1 for part in account]
    whole = sorted(
        (account[0] for account in parts if len(account) == 1),
        key=lambda request: request.proof.address_hash,
    )
    return [*apart, *pack(whole, build, MOST_GAS, gas_of)]


def gas_of(request: AccountRequest) -> int:
    """By the rough table, beside its bytes."""
    words = len(request.fields) + len(request.proof.slots)
    return ACCOUNT + SLOT * len(request.proof.slots) + NEW_WORD * words


def _parts(request: AccountRequest, build: Build) -> list[AccountRequest]:
    """An account with more slots than one transaction can store is proven in several parts."""
    proof, fields = request.proof, request.fields
    if not proof.slots:
        return [request]

    def part(slots: Sequence[SlotProof]) -> AccountRequest:
        return AccountRequest(replace(proof, slots=tuple(slots)), fields)

    slots = sorted(proof.slots, key=lambda each: each.path.key)
    rest = MOST_GAS - gas_of(part(()))
    first, *more = pack(slots, lambda some: build([part(some)]), rest, lambda _: NEW_WORD + SLOT)
    others = [replace(part(each), fields=frozenset()) for each in more]
    return [part(first), *others]
