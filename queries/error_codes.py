"""The API's error codes, besides those of `accounts/shared/errors.py`.

The code that finds a fault writes the sentence for people, and names the field.
"""

from functools import partial
from http import HTTPStatus

from accounts.shared.errors import ErrorCode, RefusalError, rate_limit_code, unavailable_code
from accounts.shared.wording import quote_text

_not_found = partial(ErrorCode, status=HTTPStatus.NOT_FOUND)
_conflict = partial(ErrorCode, status=HTTPStatus.CONFLICT)

NOT_JSON = ErrorCode("not_json", "The body is empty, not UTF-8, or not exactly one JSON value.")
NESTED_TOO_DEEPLY = ErrorCode(
    "nested_too_deeply", "Objects and lists are nested deeper than any request needs."
)
DUPLICATE_KEY = ErrorCode("duplicate_key", "An object has the same key twice.")
TEXT_NOT_STORABLE = ErrorCode(
    "text_not_storable",
    "A text contains U+0000 or half of a surrogate pair, which databases cannot store.",
)
WRONG_TYPE = ErrorCode("wrong_type", "A value has the wrong JSON type.")
MISSING_FIELD = ErrorCode("missing_field", "A required field is missing.")
UNKNOWN_FIELD = ErrorCode(
    "unknown_field", "A block, an account or the webhook has an unknown field."
)
NUMBER_MALFORMED = ErrorCode("number_malformed", "A number is malformed or too long.")
CHAIN_UNSUPPORTED = ErrorCode("chain_unsupported", "No chain with this id or name is configured.")
ROUTE_UNSUPPORTED = ErrorCode(
    "route_unsupported",
    "Both chains are configured, but the destination has no registry for the source.",
)
FEE_MISSING = ErrorCode(
    "fee_missing",
    "Requests without a fee are accepted only if proving is free or has a daily budget.",
)
FEE_MALFORMED = ErrorCode("fee_malformed", "The fee is not an amount in wei.")
FEE_TOO_LOW = ErrorCode(
    "fee_too_low", "The fee is lower than what proving on the destination costs."
)
SELECTOR_MALFORMED = ErrorCode(
    "selector_malformed",
    "A block's key is neither `block:` and a number nor `timestamp:` and Unix seconds.",
)
BLOCK_BEYOND_HEAD = ErrorCode(
    "block_beyond_head", "The chain does not have this block yet.", retryable=True
)
ACCOUNT_MALFORMED = ErrorCode(
    "account_malformed", "An account is not named by an address or by a supported ENS name."
)
LIST_TOO_LONG = ErrorCode("list_too_long", "A list of field names has more entries than allowed.")
UNKNOWN_PROP = ErrorCode("unknown_prop", "Accounts have no such field.")
UNKNOWN_HEADER_FIELD = ErrorCode("unknown_header_field", "Block headers have no such field.")
SLOT_MALFORMED = ErrorCode("slot_malformed", "A storage slot is not 0x and 1 to 64 hex digits.")
WEBHOOK_MALFORMED = ErrorCode(
    "webhook_malformed", "The webhook's URL or one of its headers cannot be used."
)
EMPTY_REQUEST = ErrorCode("empty_request", "The batch, a block or an account requests no fact.")
TOO_MANY_BLOCKS = ErrorCode("too_many_blocks", "The batch has more blocks than allowed.")
TOO_MANY_ACCOUNTS = ErrorCode(
    "too_many_accounts", "The batch has more accounts, over all its blocks, than allowed."
)
TOO_MANY_SLOTS = ErrorCode(
    "too_many_slots", "The batch has more storage slots, over all its accounts, than allowed."
)
TOO_MANY_FACTS = rate_limit_code(
    "too_many_facts", "The batch asks for more facts than your account has left of its daily limit."
)
BATCH_EXCEEDS_DAILY_LIMIT = ErrorCode(
    "batch_exceeds_daily_limit",
    "The batch asks for more facts than an account may request in a day.",
)
TOO_MANY_WEBHOOK_HEADERS = ErrorCode(
    "too_many_webhook_headers", "The webhook has more headers than allowed."
)
WEBHOOK_HEADERS_TOO_LARGE = ErrorCode(
    "webhook_headers_too_large",
    "The webhook's headers, names and values together, are longer than allowed.",
)
IDEMPOTENCY_KEY_MALFORMED = ErrorCode(
    "idempotency_key_malformed", "The Idempotency-Key is empty, too long, or not visible ASCII."
)
IDEMPOTENCY_KEY_REUSED = _conflict(
    "idempotency_key_reused", "The Idempotency-Key was used before with another batch."
)
BATCH_UNKNOWN = _not_found("batch_unknown", "No batch has this id.")
BATCH_ENDED = _conflict("batch_ended", "The batch is already DONE or REJECTED.")
TRANSACTION_SIGNED = _conflict(
    "transaction_signed", "A transaction for the batch is signed, so the batch cannot be cancelled."
)
BATCH_NOT_DONE = _conflict(
    "batch_not_done",
    "The batch is still being proven, or being proven again after a reorg.",
    retryable=True,
)
BATCH_REJECTED = _conflict("batch_rejected", "The batch was rejected, so it has no proof.")
PROOF_UNAVAILABLE = _conflict(
    "proof_unavailable",
    "The proof is not stored here, or a reorg removed the fact; `error` says why.",
)
PROOFS_BUSY = unavailable_code(
    "proofs_busy", "The server is already preparing as many proofs as it can."
)
DELIVERY_UNKNOWN = _not_found("delivery_unknown", "You have no webhook delivery with this id.")
TOO_MANY_REPLAYS = rate_limit_code(
    "too_many_replays", "Your account has used up its webhook replays for this hour."
)
PARAMETER_MALFORMED = ErrorCode("parameter_malformed", "A parameter of the URL is malformed.")
TOO_MANY_ESTIMATES = rate_limit_code(
    "too_many_estimates", "Your account has used up its estimates and witnesses for this minute."
)
ESTIMATES_BUSY = unavailable_code(
    "estimates_busy",
    "The server is busy, or is already making an estimate or witness for your account.",
)
NOT_PROVABLE_NOW = _conflict(
    "not_provable_now",
    "A block is not final yet, or the registry does not know a block above it yet.",
    retryable=True,
)
NOT_PROVABLE = ErrorCode(
    "not_provable",
    "The registry can never know the block or a later one that leads to it, or an ENS name has no "
    "address.",
)
CHAIN_UNAVAILABLE = unavailable_code(
    "chain_unavailable",
    "A chain's nodes do not answer in time, or its gas price is above the operator's limit.",
)
ATTESTATION_MALFORMED = ErrorCode(
    "attestation_malformed", "A field of the attestation is missing or malformed."
)
ATTESTATION_UNTRUSTED = ErrorCode(
    "attestation_untrusted",
    "The attestation is not for a registry of this server, or its signer is not one of the "
    "registry's.",
)
ATTESTATION_CONTRADICTED = _conflict(
    "attestation_contradicted",
    "The signer attested another hash of this block before; the first one is kept.",
)
ATTESTATION_UNWANTED = _conflict(
    "attestation_unwanted", "No query waits for this block, or for one that a hop from it reaches."
)
TOO_MANY_ATTESTATIONS = rate_limit_code(
    "too_many_attestations", "Your IP address has used up its attestation requests for this minute."
)


RETRY_SOON = {"Retry-After": "5"}  # seconds


def busy_refusal(code: ErrorCode, why: str) -> RefusalError:
    return RefusalError(code, f"{why}. Try again in a few seconds.", headers=RETRY_SOON)


def batch_not_found(batch_id: str, path: str) -> RefusalError:
    """Existing clients compare the sentence `No query found`."""
    detail = f"There is no batch with the id {quote_text(batch_id)}."
    return RefusalError(BATCH_UNKNOWN, "No query found", path=path, detail=detail)
