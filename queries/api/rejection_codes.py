"""The codes that a batch carries: while it waits, and once it is rejected."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from queries.chain.errors import ChainError
from queries.error_codes import EndpointCode, RequestCode
from queries.intake.cancel import CANCELLED
from queries.planning.anchors import OutOfReach
from queries.prover.job_pass import TRANSACTION_FAILED
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE, WaitCode

# A batch is not rejected for these, however long it waits.
WAIT_ONLY_CODES = EXEMPT_FROM_MAX_AGE - {WaitCode.NOT_ATTESTED} | {
    WaitCode.NOT_CLAIMED,
    WaitCode.NO_PROVER,
    WaitCode.DESTINATION_REMOVED,
}
OTHER_REJECTIONS = {
    OutOfReach.code: (
        "The block is older than its chain's block-hash history, and too far before the first "
        "block whose hash the registry can know."
    ),
    TRANSACTION_FAILED: (
        "Several transactions for the block were mined and failed, which has cost gas."
    ),
    CANCELLED: "Its owner cancelled it before anything was signed.",
}


@dataclass(frozen=True, slots=True)
class BatchCode:
    """`waits`: a batch can have it as `waitCode`; `rejects`: as the `code` of its rejection."""

    code: str
    meaning: str
    waits: bool = False
    rejects: bool = False


def batch_codes() -> list[BatchCode]:
    """All codes, without repetition: those of waiting, those of both, those of rejections."""
    codes: dict[str, BatchCode] = {}
    for code in _codes():
        entry = codes.setdefault(code.code, code)
        codes[code.code] = replace(
            entry, waits=entry.waits or code.waits, rejects=entry.rejects or code.rejects
        )
    return sorted(codes.values(), key=lambda code: code.rejects + (not code.waits))


def wait_codes() -> list[str]:
    return sorted(code.code for code in batch_codes() if code.waits)


def rejection_codes() -> list[str]:
    return sorted(code.code for code in batch_codes() if code.rejects)


def _codes() -> Iterator[BatchCode]:
    for wait in WaitCode:
        yield BatchCode(wait.value, wait.meaning, waits=True, rejects=wait not in WAIT_ONLY_CODES)
    for error in _subclasses(ChainError):
        if "code" in vars(error):
            sentence = error.create("the chain", "the JSON-RPC method").sentence
            meaning = sentence[0].upper() + sentence[1:]
            yield BatchCode(error.code, meaning, waits=not error.is_certain, rejects=True)
    for refusal in (
        RequestCode.ROUTE_UNSUPPORTED,
        RequestCode.BLOCK_BEYOND_HEAD,
        EndpointCode.FEE_TOO_LOW,
    ):
        yield BatchCode(refusal.code, refusal.meaning, rejects=True)
    for code, meaning in OTHER_REJECTIONS.items():
        yield BatchCode(code, meaning, rejects=True)


def _subclasses(base: type[ChainError]) -> Iterator[type[ChainError]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
