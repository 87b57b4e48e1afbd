"""The codes that a batch carries: while it waits, and once it is rejected."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace

from queries import refusals
from queries.chain.errors import (
    AnotherBlockAccumulated,
    ChainAnswer,
    ChainError,
    EnsOffChain,
    EnsUnresolved,
    StateRootEmptyError,
)
from queries.intake.cancel import CANCELLED
from queries.planning.anchors import OutOfReach
from queries.prover.prove import TRANSACTION_FAILED
from queries.wait_reasons import NOT_PROVABLE_YET, WaitCode

# A batch is not rejected for these, however long it waits.
WAITS_ONLY = NOT_PROVABLE_YET - {WaitCode.NOT_ATTESTED} | {
    WaitCode.NOT_TAKEN,
    WaitCode.NO_PROVER,
    WaitCode.CHAIN_LEFT,
}
# What is certain once a quorum says so: nothing waits for it.
CERTAIN = {AnotherBlockAccumulated, EnsOffChain, EnsUnresolved, StateRootEmptyError}


@dataclass(frozen=True, slots=True)
class BatchCode:
    """`waits`: it is a `waitCode`. `rejects`: it is the `code` of a batch that is REJECTED."""

    code: str
    meaning: str
    waits: bool = False
    rejects: bool = False


def batch_codes() -> list[BatchCode]:
    """Each once: those of waiting, those of both, those of rejections."""
    found: dict[str, BatchCode] = {}
    for each in _all():
        so_far = found.setdefault(each.code, each)
        found[each.code] = replace(
            so_far, waits=so_far.waits or each.waits, rejects=so_far.rejects or each.rejects
        )
    return sorted(found.values(), key=lambda each: each.rejects + (not each.waits))


def wait_codes() -> list[str]:
    return sorted(each.code for each in batch_codes() if each.waits)


def rejection_codes() -> list[str]:
    return sorted(each.code for each in batch_codes() if each.rejects)


def _all() -> Iterator[BatchCode]:
    for wait in WaitCode:
        yield BatchCode(wait.value, wait.meaning, waits=True, rejects=wait not in WAITS_ONLY)
    for fault in _below(ChainError):
        if fault is not ChainAnswer:
            sentence = fault.of("the chain", "the JSON-RPC method").sentence
            meaning, waits = sentence[0].upper() + sentence[1:], fault not in CERTAIN
            yield BatchCode(fault.code, meaning, waits, rejects=True)
    for refusal in (refusals.ROUTE_UNSUPPORTED, refusals.BLOCK_BEYOND_HEAD, refusals.FEE_TOO_LOW):
        yield BatchCode(refusal.code, refusal.meaning, rejects=True)
    far = inspect.getdoc(OutOfReach) or ""
    yield BatchCode(OutOfReach.code, far.partition("\n")[0], rejects=True)
    failed = "Several transactions for the block were mined and failed, which has cost gas."
    yield BatchCode(TRANSACTION_FAILED, failed, rejects=True)
    yield BatchCode(CANCELLED, "Its owner cancelled it before anything was signed.", rejects=True)


def _below(base: type[ChainError]) -> Iterator[type[ChainError]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)
