"""The API's error codes, besides those of `accounts/http/errors.py`.

The caller writes the detailed sentence and names the field.
"""

from accounts.http.errors import NOT_RETRYABLE, RETRYABLE, ErrorCode, RefusalError
from accounts.wording import quote_text


class RequestCode(ErrorCode):
    """Errors in the content of a batch."""

    WRONG_TYPE = "A value has the wrong JSON type."
    MISSING_FIELD = "A required field is missing."
    UNKNOWN_FIELD = "A block, an account, a delivery, a feed or the webhook has an unknown field."
    CHAIN_UNSUPPORTED = "No chain with this id or name is configured."
    ROUTE_UNSUPPORTED = (
        "Both chains are configured, but the destination has no registry for the source."
    )
    FEE_MALFORMED = "The fee is not an amount in wei."
    SELECTOR_MALFORMED = (
        "A block's key is neither `block:` and a number nor `timestamp:` and Unix seconds."
    )
    BLOCK_BEYOND_HEAD = "The chain does not have this block yet.", 400, RETRYABLE
    ACCOUNT_MALFORMED = "An account's key is neither an address nor a supported ENS name."
    LIST_TOO_LONG = "A list of field names or deliveries has more entries than allowed."
    UNKNOWN_PROP = "Accounts have no such field."
    UNKNOWN_HEADER_FIELD = "Block headers have no such field."
    SLOT_MALFORMED = "A storage slot is not 0x and 1 to 64 hex digits."
    EVENT_MALFORMED = (
        "A log, receipt, transaction, withdrawal or absence is not named in one of the forms that "
        "the guide *Events* lists."
    )
    WEBHOOK_MALFORMED = "The webhook's URL or one of its headers cannot be used."
    DELIVERY_MALFORMED = "A delivery's contract is not an address, or its gas is out of range."
    FUNCTION_MALFORMED = (
        "The function of a delivery is not written as in Solidity, or its condition does not "
        "return one bool as a view."
    )
    ARGUMENT_MALFORMED = "An argument of a delivery does not fit the type of its parameter."
    UNKNOWN_PLACEHOLDER = (
        "An argument of a delivery begins with $, but does not name a placeholder, or one whose "
        "value the batch does not ask for or has several of."
    )
    EMPTY_REQUEST = "The batch, a block or an account requests no fact."
    TOO_MANY_BLOCKS = "The batch has more blocks than allowed."
    TOO_MANY_ACCOUNTS = "The batch has more accounts, over all its blocks, than allowed."
    TOO_MANY_SLOTS = "The batch has more storage slots, over all its accounts, than allowed."
    TOO_MANY_EVENTS = (
        "The batch has more logs, receipts, transactions, withdrawals and absences, over all its "
        "blocks, than allowed."
    )
    TOO_MANY_WEBHOOK_HEADERS = "The webhook has more headers than allowed."
    WEBHOOK_HEADERS_TOO_LARGE = (
        "The webhook's headers, names and values together, are longer than allowed."
    )


class SubmissionCode(ErrorCode):
    """Errors of submissions, besides `RequestCode`."""

    TOO_MANY_FACTS = (
        "The batch asks for more facts than your account has left of its daily limit.",
        429,
    )
    BATCH_EXCEEDS_DAILY_LIMIT = (
        "The batch asks for more facts than an account may request in a day."
    )


class EstimateCode(ErrorCode):
    """Errors of estimates and witnesses, which need nodes."""

    TOO_MANY_ESTIMATES = (
        "Your account has used up its estimates and witnesses for this minute.",
        429,
    )
    ESTIMATES_BUSY = (
        "The server is busy, or is already making an estimate or witness for your account.",
        503,
    )
    CHAIN_UNAVAILABLE = (
        "A chain's nodes do not answer in time, or its gas price is above the operator's limit.",
        503,
    )


class ProofCode(ErrorCode):
    """Errors of a batch's proof."""

    BATCH_NOT_DONE = (
        "The batch is still being proven, or being proven again after a reorg.",
        409,
        RETRYABLE,
    )
    BATCH_REJECTED = "The batch was rejected, so it has no proof.", 409
    PROOF_UNAVAILABLE = (
        "The proof is not stored here, or a reorg removed the fact; `error` says why.",
        409,
    )
    PROOFS_BUSY = ("The server is already preparing as many proofs as it can.", 503)


class AttestationCode(ErrorCode):
    """Errors of attestations."""

    ATTESTATION_MALFORMED = "A field of the attestation is missing or malformed."
    ATTESTATION_UNTRUSTED = (
        "The attestation is not for a registry of this server, or its signer is not one of the "
        "registry's."
    )
    ATTESTATION_CONTRADICTED = (
        "The signer attested another hash of this block before; the first one is kept.",
        409,
    )
    ATTESTATION_UNWANTED = (
        "No query waits for this block, or for one that a hop from it reaches.",
        409,
    )
    TOO_MANY_ATTESTATIONS = (
        "Your IP address has used up its attestation requests for this minute.",
        429,
    )


class LookupCode(ErrorCode):
    """Errors of lookups (ERC-3668). Clients try the next gateway only after a 5xx."""

    QUESTION_UNKNOWN = "The data does not ask for a known kind of fact.", 404
    LOOKUP_UNAVAILABLE = (
        "This server cannot prove the fact at present; another gateway may. `error` says why.",
        503,
    )
    REGISTRY_UNKNOWN = (
        "This server has no such registry; another gateway may.",
        503,
        NOT_RETRYABLE,
    )
    FACT_NOT_PROVABLE = (
        "This server can never prove the fact; another gateway may. `error` says why.",
        503,
        NOT_RETRYABLE,
    )


class FeedCode(ErrorCode):
    """Errors of feeds, besides those of their batches."""

    FEED_MALFORMED = (
        "A feed's trigger, end, budget, state or choice of runs to make up for is not one that is "
        "accepted, its one block is not one that the trigger gives, or a log does not fit."
    )
    TOO_MANY_FEEDS = "Your account has the maximum number of feeds.", 409
    FEED_UNKNOWN = "You have no feed with this id.", 404
    FEED_ENDED = "The feed has ended, so it cannot be changed.", 409
    FEED_NOT_RUNNABLE = "The feed cannot run now: its budget is used up, or it needs a log.", 409
    HEAD_UNKNOWN = "No prover has read the source chain's newest block yet.", 409, RETRYABLE


class EndpointCode(ErrorCode):
    """Errors of single endpoints."""

    FEE_MISSING = (
        "Requests without a fee are accepted only if proving is free or has a daily budget."
    )
    FEE_TOO_LOW = "The fee is lower than what proving on the destination costs."
    IDEMPOTENCY_KEY_MALFORMED = "The Idempotency-Key is empty, too long, or not visible ASCII."
    IDEMPOTENCY_KEY_REUSED = ("The Idempotency-Key was used before with another batch.", 409)
    BATCH_UNKNOWN = "No batch has this id.", 404
    BATCH_ENDED = "The batch is already DONE or REJECTED.", 409
    TRANSACTION_SIGNED = (
        "A transaction for the batch is signed, so the batch cannot be cancelled.",
        409,
    )
    DELIVERY_UNKNOWN = "You have no webhook delivery with this id.", 404
    TOO_MANY_REPLAYS = ("Your account has used up its webhook replays for this hour.", 429)
    PARAMETER_MALFORMED = "A parameter of the URL is malformed."
    NOT_PROVABLE_NOW = (
        "A block is not final yet, or the registry does not know it or a later one yet.",
        409,
        RETRYABLE,
    )
    NOT_PROVABLE = (
        "The registry can never know the block or a later one that leads to it, or an ENS name has "
        "no address."
    )


RETRY_SOON = {"Retry-After": "5"}  # seconds


def busy_refusal(code: ErrorCode, reason: str) -> RefusalError:
    return RefusalError(code, f"{reason}. Try again in a few seconds.", headers=RETRY_SOON)


def batch_not_found(batch_id: str, path: str) -> RefusalError:
    """Existing clients compare the sentence `No query found`."""
    detail = f"There is no batch with the id {quote_text(batch_id)}."
    return RefusalError(EndpointCode.BATCH_UNKNOWN, "No query found", path=path, detail=detail)
