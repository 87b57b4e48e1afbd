"""The codes of batches and deliveries, while they wait and if they fail."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from queries.chain import BeaconError, ChainError, TooMuchGasError, TransactionRefusedError
from queries.error_codes import EndpointCode, RequestCode
from queries.intake.cancel import CANCELLED
from queries.prover.batches import BLOCK_UNNAMED
from queries.prover.jobs import TRANSACTION_FAILED
from queries.sources import OUT_OF_REACH, REGISTRY_STOPPED
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE, WaitCode

# A batch is not rejected for these, however long it waits.
WAIT_ONLY_CODES = EXEMPT_FROM_MAX_AGE - {WaitCode.NOT_ATTESTED} | {
    WaitCode.NOT_CLAIMED,
    WaitCode.NO_PROVER,
    WaitCode.DESTINATION_REMOVED,
}
# A batch never waits for these.
DELIVERY_WAITS = {
    WaitCode.FACTS_REOPENED,
    WaitCode.CONTRACT_REFUSES,
    WaitCode.COURIER_MISSING,
    WaitCode.DELIVERY_GAS_SPENT,
    WaitCode.EARLIER_DELIVERY,
}
# Meanings for deliveries: they are tried again first, except those that fail at once.
DELIVERY_FAILURES = {
    WaitCode.CONTRACT_REFUSES.value: WaitCode.CONTRACT_REFUSES.meaning,
    WaitCode.COURIER_MISSING.value: WaitCode.COURIER_MISSING.meaning,
    WaitCode.DELIVERY_GAS_SPENT.value: WaitCode.DELIVERY_GAS_SPENT.meaning,
    WaitCode.FEE_BELOW_GAS_PRICE.value: "The delivery costs more than is left of the batch's fee.",
    TooMuchGasError.code: "The call needs more gas than a transaction, or a delivery, may use.",
    TRANSACTION_FAILED: (
        "The transaction was mined and failed, although nodes had expected it to succeed. Its gas "
        "is paid."
    ),
    TransactionRefusedError.code: "The chain does not accept the transaction.",
    RequestCode.ARGUMENT_MALFORMED.code: (
        "A proven value does not fit the type of its parameter, such as a number that is too large."
    ),
}
FAILS_AT_ONCE = {RequestCode.ARGUMENT_MALFORMED.code}
OTHER_REJECTIONS = {
    OUT_OF_REACH: (
        "The block is older than its chain's block-hash history, and too far before the first "
        "block whose hash the registry can know."
    ),
    REGISTRY_STOPPED: (
        "The beacon registry refuses all updates for good, because it learned no committee for its "
        "`max_age` or does not know a fork, and it has recorded no block at or above this one."
    ),
    TRANSACTION_FAILED: (
        "Several transactions for the block were mined and failed, which has cost gas."
    ),
    BLOCK_UNNAMED: "The contract that `block` names did not answer with a block's number.",
    CANCELLED: "Its owner cancelled it before anything was signed.",
}


@dataclass(frozen=True, slots=True)
class BatchCode:
    """A code of a batch: `waitCode` while it waits, the `code` of its rejection, or both."""

    code: str
    meaning: str
    is_wait: bool = False
    is_rejection: bool = False


def batch_codes() -> list[BatchCode]:
    """Every code once: first codes only of waiting, then codes of both, then only of rejections."""
    codes: dict[str, BatchCode] = {}
    for code in _codes():
        entry = codes.setdefault(code.code, code)
        codes[code.code] = replace(
            entry,
            is_wait=entry.is_wait or code.is_wait,
            is_rejection=entry.is_rejection or code.is_rejection,
        )
    return sorted(codes.values(), key=lambda code: code.is_rejection + (not code.is_wait))


def wait_codes() -> list[str]:
    """Those of deliveries too."""
    return sorted({*DELIVERY_WAITS, *(code.code for code in batch_codes() if code.is_wait)})


def delivery_codes() -> list[BatchCode]:
    """The codes of deliveries; `is_rejection`: of those that have FAILED."""
    waiting = [
        BatchCode(wait.value, wait.meaning, is_wait=True)
        for wait in WaitCode
        if wait in DELIVERY_WAITS and wait.value not in DELIVERY_FAILURES
    ]
    failing = (
        BatchCode(code, meaning, is_wait=code not in FAILS_AT_ONCE, is_rejection=True)
        for code, meaning in DELIVERY_FAILURES.items()
    )
    return [*waiting, *failing]


def rejection_codes() -> list[str]:
    return sorted(code.code for code in batch_codes() if code.is_rejection)


def _codes() -> Iterator[BatchCode]:
    for wait in WaitCode:
        if wait not in DELIVERY_WAITS:
            yield BatchCode(
                wait.value, wait.meaning, is_wait=True, is_rejection=wait not in WAIT_ONLY_CODES
            )
    for error in _subclasses(ChainError):
        if "code" in vars(error) and not issubclass(error, BeaconError):
            sentence = error.create("the chain", "the JSON-RPC method").sentence
            meaning = sentence[0].upper() + sentence[1:]
            yield BatchCode(error.code, meaning, is_wait=not error.is_certain, is_rejection=True)
    for refusal in (
        RequestCode.ROUTE_UNSUPPORTED,
        RequestCode.BLOCK_BEYOND_HEAD,
        EndpointCode.FEE_TOO_LOW,
    ):
        yield BatchCode(refusal.code, refusal.meaning, is_rejection=True)
    for code, meaning in OTHER_REJECTIONS.items():
        yield BatchCode(code, meaning, is_rejection=True)


def _subclasses(base: type[ChainError]) -> Iterator[type[ChainError]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
