"""The codes that the API refuses with, beside those of `accounts/errors.py`.

The sentence for a person stands where the fault is found, and names the place in the request.
"""

from http import HTTPStatus

from accounts.errors import Code, Refusal
from queries.schema.wording import quoted

NOT_JSON = Code("not_json", "The body is empty, not UTF-8, or not exactly one JSON value.")
NESTED_TOO_DEEPLY = Code(
    "nested_too_deeply", "Objects and lists stand inside each other deeper than any request needs."
)
DUPLICATE_KEY = Code(
    "duplicate_key", "An object names the same thing twice, so that one of the two would be lost."
)
TEXT_NOT_STORABLE = Code(
    "text_not_storable", "A text holds U+0000 or half of a surrogate pair, which no database keeps."
)
WRONG_TYPE = Code("wrong_type", "A value is of another JSON type than the one that belongs there.")
MISSING_FIELD = Code("missing_field", "A field that every request must have is not there.")
UNKNOWN_FIELD = Code(
    "unknown_field", "A block, an account or the webhook has a field that means nothing here."
)
NUMBER_MALFORMED = Code(
    "number_malformed",
    "A number is not written as numbers are here, or longer than any that is read.",
)
CHAIN_UNSUPPORTED = Code("chain_unsupported", "This server knows no chain of that id or name.")
ROUTE_UNSUPPORTED = Code(
    "route_unsupported",
    "This server knows both chains, but has no registry on the one for facts of the other.",
)
FEE_MISSING = Code(
    "fee_missing",
    "Requests without a fee are accepted only where proving is free, or has a daily budget.",
)
FEE_MALFORMED = Code("fee_malformed", "The fee is not an amount in wei.")
FEE_TOO_LOW = Code("fee_too_low", "The batch offers less than proving on its destination costs.")
SELECTOR_MALFORMED = Code(
    "selector_malformed", "A block is named neither by its number nor by a timestamp."
)
BLOCK_BEYOND_HEAD = Code(
    "block_beyond_head",
    "The chain has no such block yet, as far as this server has seen it.",
    retryable=True,
)
ACCOUNT_MALFORMED = Code(
    "account_malformed",
    "An account is named neither by an address nor by an ENS name that can be looked up.",
)
UNKNOWN_PROP = Code("unknown_prop", "Accounts have no such property.")
UNKNOWN_HEADER_FIELD = Code("unknown_header_field", "Block headers have no such field.")
SLOT_MALFORMED = Code("slot_malformed", "A storage slot is not at most 32 bytes of 0x-hex.")
WEBHOOK_MALFORMED = Code(
    "webhook_malformed", "The webhook's address or one of its headers cannot be sent to or with."
)
NOTHING_ASKED = Code(
    "nothing_asked", "The batch, a block or an account is named, but nothing is to be proven of it."
)
TOO_MANY_BLOCKS = Code("too_many_blocks", "The batch has more blocks than one batch may have here.")
TOO_MANY_ACCOUNTS = Code(
    "too_many_accounts",
    "The batch has more accounts, over all its blocks, than one batch may have here.",
)
TOO_MANY_SLOTS = Code(
    "too_many_slots",
    "The batch has more storage slots, over all its accounts, than one batch may have here.",
)
TOO_MANY_FACTS = Code(
    "too_many_facts",
    "The batch asks for more facts than your account has left of those of a day.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
MORE_FACTS_THAN_A_DAY = Code(
    "more_facts_than_a_day",
    "The batch asks for more facts than any account may ask for in a day here.",
)
TOO_MANY_WEBHOOK_HEADERS = Code(
    "too_many_webhook_headers", "The webhook has more headers than one may have here."
)
WEBHOOK_HEADERS_TOO_LARGE = Code(
    "webhook_headers_too_large",
    "The webhook's headers, names and values together, are longer than they may be here.",
)
IDEMPOTENCY_KEY_MALFORMED = Code(
    "idempotency_key_malformed", "The Idempotency-Key is empty, too long, or not visible ASCII."
)
IDEMPOTENCY_KEY_REUSED = Code(
    "idempotency_key_reused",
    "The Idempotency-Key came before with another batch.",
    HTTPStatus.CONFLICT,
)
BATCH_UNKNOWN = Code("batch_unknown", "No batch has this id.", HTTPStatus.NOT_FOUND)
BATCH_ENDED = Code("batch_ended", "The batch is DONE or REJECTED already.", HTTPStatus.CONFLICT)
BATCH_SIGNED = Code(
    "batch_signed",
    "A transaction for the batch is signed, so it cannot be cancelled.",
    HTTPStatus.CONFLICT,
)
BATCH_NOT_DONE = Code(
    "batch_not_done",
    "The batch is still being proven, or was undone by a reorganisation and is proven again.",
    HTTPStatus.CONFLICT,
    retryable=True,
)
BATCH_REJECTED = Code(
    "batch_rejected", "The batch was rejected, so there is no proof of it.", HTTPStatus.CONFLICT
)
PROOF_UNAVAILABLE = Code(
    "proof_unavailable",
    "A fact is in the registry, but what proves it is not kept here; the sentence says why.",
    HTTPStatus.CONFLICT,
)
PROOFS_BUSY = Code(
    "proofs_busy",
    "As many proofs as are put together at once already are, or others wait for nodes.",
    HTTPStatus.SERVICE_UNAVAILABLE,
    retryable=True,
)
DELIVERY_UNKNOWN = Code(
    "delivery_unknown",
    "No webhook of yours was sent, or is to be sent, under this id.",
    HTTPStatus.NOT_FOUND,
)
TOO_MANY_REPLAYS = Code(
    "too_many_replays",
    "Your account has had as many webhooks sent again in this hour as it may.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
PARAMETER_MALFORMED = Code(
    "parameter_malformed", "A parameter in the address has a value that means nothing there."
)
TOO_MANY_ESTIMATES = Code(
    "too_many_estimates",
    "Your account has used up its estimates of this minute, fewer than a key has requests.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
ESTIMATES_BUSY = Code(
    "estimates_busy",
    "As many estimates as run at once, or one of your account, are already being made.",
    HTTPStatus.SERVICE_UNAVAILABLE,
    retryable=True,
)
CHAIN_UNAVAILABLE = Code(
    "chain_unavailable",
    "A chain's nodes do not answer in time, or its gas is dearer than is paid here right now.",
    HTTPStatus.SERVICE_UNAVAILABLE,
    retryable=True,
)
ATTESTATION_MALFORMED = Code(
    "attestation_malformed", "A field of the attestation is missing, or not written as it is here."
)
ATTESTATION_UNTRUSTED = Code(
    "attestation_untrusted",
    "It is for no registry of this server, or signed by none of that registry's signers.",
)
ATTESTATION_CONTRADICTED = Code(
    "attestation_contradicted",
    "The signer has said another hash of this block before, and the first one stays.",
    HTTPStatus.CONFLICT,
)
ATTESTATION_UNWANTED = Code(
    "attestation_unwanted",
    "No query waits for a block that this one leads back to.",
    HTTPStatus.CONFLICT,
)
TOO_MANY_ATTESTATIONS = Code(
    "too_many_attestations",
    "This network has used up its requests about attestations of this minute.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)

OF_ATTESTATIONS = (
    ATTESTATION_MALFORMED,
    ATTESTATION_UNTRUSTED,
    ATTESTATION_CONTRADICTED,
    ATTESTATION_UNWANTED,
    TOO_MANY_ATTESTATIONS,
)


def no_such_batch(batch_id: str, path: str) -> Refusal:
    """Clients compare this sentence as a whole."""
    said = f"There is no batch with the id {quoted(batch_id)}."
    return Refusal(BATCH_UNKNOWN, "No query found", path=path, detail=said)
