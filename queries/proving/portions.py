"""Proofs of one block in portions that each fit a transaction.

They are cut by a rough gas table; the service tries out every call before it is sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .account_proofs import SlotProof
from .packing import pack
from .witnesses import AccountRequest

ACCOUNT = 20_000  # beside what is stored of it
SLOT = 10_000
BYTE = 40


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
Build = Callable[[Sequence[AccountRequest]], bytes]


def portions(
    requests: Sequence[AccountRequest], build: Build, rules: GasRules = OSAKA
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
    slots = len(request.proof.slots)
    return ACCOUNT + SLOT * slots + rules.new_slot * (len(request.fields) + slots)


def _parts(request: AccountRequest, build: Build, rules: GasRules) -> list[AccountRequest]:
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
