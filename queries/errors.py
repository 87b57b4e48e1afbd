"""What the API refuses: a class per kind of fault, each with its code for programs.

The sentence for a person stands where the fault is found, and names the place in the request.
"""

from http import HTTPStatus

from accounts.refusals import Refusal


class NotJson(Refusal):
    """The body is empty, not UTF-8, or not exactly one JSON value."""

    code = "not_json"


class NestedTooDeeply(Refusal):
    """Objects and lists stand inside each other deeper than any request needs."""

    code = "nested_too_deeply"


class DuplicateKey(Refusal):
    """An object names the same thing twice, so that one of the two would be lost."""

    code = "duplicate_key"


class TextNotStorable(Refusal):
    """A text holds U+0000 or half of a surrogate pair, which no database keeps."""

    code = "text_not_storable"


class WrongType(Refusal):
    """A value is of another JSON type than the one that belongs there."""

    code = "wrong_type"


class MissingField(Refusal):
    """A field that every request must have is not there."""

    code = "missing_field"


class UnknownField(Refusal):
    """A block, an account or the webhook has a field that means nothing here."""

    code = "unknown_field"


class NumberMalformed(Refusal):
    """A number is not written as numbers are here, or longer than any that is read."""

    code = "number_malformed"


class ChainUnsupported(Refusal):
    """This server knows no chain of that id or name."""

    code = "chain_unsupported"


class RouteUnsupported(Refusal):
    """This server knows both chains, but has no registry on the one for facts of the other."""

    code = "route_unsupported"


class FeeMalformed(Refusal):
    """The fee is not an amount in wei."""

    code = "fee_malformed"


class FeeTooLow(Refusal):
    """The batch offers less than proving on its destination costs."""

    code = "fee_too_low"


class SelectorMalformed(Refusal):
    """A block is named neither by its number nor by a timestamp."""

    code = "selector_malformed"


class BlockBeyondHead(Refusal):
    """The chain has no such block yet, as far as this server has seen it."""

    code = "block_beyond_head"
    retryable = True


class AccountMalformed(Refusal):
    """An account is named neither by an address nor by an ENS name that can be looked up."""

    code = "account_malformed"


class UnknownProp(Refusal):
    """Accounts have no such property."""

    code = "unknown_prop"


class UnknownHeaderField(Refusal):
    """Block headers have no such field."""

    code = "unknown_header_field"


class SlotMalformed(Refusal):
    """A storage slot is not at most 32 bytes of 0x-hex."""

    code = "slot_malformed"


class WebhookMalformed(Refusal):
    """The webhook's address or one of its headers cannot be sent to or with."""

    code = "webhook_malformed"


class NothingAsked(Refusal):
    """The batch, a block or an account is named, but nothing is to be proven of it."""

    code = "nothing_asked"


class TooManyBlocks(Refusal):
    """The batch has more blocks than one batch may have here."""

    code = "too_many_blocks"


class TooManyAccounts(Refusal):
    """The batch has more accounts, over all its blocks, than one batch may have here."""

    code = "too_many_accounts"


class TooManySlots(Refusal):
    """The batch has more storage slots, over all its accounts, than one batch may have here."""

    code = "too_many_slots"


class TooManyFacts(Refusal):
    """The batch asks for more facts than your account has left of those of a day."""

    code = "too_many_facts"
    status = HTTPStatus.TOO_MANY_REQUESTS
    retryable = True


class MoreFactsThanADay(Refusal):
    """The batch asks for more facts than any account may ask for in a day here."""

    code = "more_facts_than_a_day"


class TooManyWebhookHeaders(Refusal):
    """The webhook has more headers than one may have here."""

    code = "too_many_webhook_headers"


class WebhookHeadersTooLarge(Refusal):
    """The webhook's headers, names and values together, are longer than they may be here."""

    code = "webhook_headers_too_large"


class IdempotencyKeyMalformed(Refusal):
    """The Idempotency-Key is empty, too long, or not visible ASCII."""

    code = "idempotency_key_malformed"


class IdempotencyKeyReused(Refusal):
    """The Idempotency-Key came before with another batch."""

    code = "idempotency_key_reused"
    status = HTTPStatus.CONFLICT


class BatchUnknown(Refusal):
    """No batch has this id."""

    code = "batch_unknown"
    status = HTTPStatus.NOT_FOUND


class BatchNotDone(Refusal):
    """The batch is still being proven, or was undone by a reorganisation and is proven again."""

    code = "batch_not_done"
    status = HTTPStatus.CONFLICT
    retryable = True


class BatchRejected(Refusal):
    """The batch was rejected, so there is no proof of it."""

    code = "batch_rejected"
    status = HTTPStatus.CONFLICT


class ProofUnavailable(Refusal):
    """A fact is in the registry, but what proves it is not kept here; the sentence says why."""

    code = "proof_unavailable"
    status = HTTPStatus.CONFLICT


class ProofsBusy(Refusal):
    """As many proofs as are put together at once already are, or others wait for nodes."""

    code = "proofs_busy"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retryable = True


class DeliveryUnknown(Refusal):
    """No webhook of yours was sent, or is to be sent, under this id."""

    code = "delivery_unknown"
    status = HTTPStatus.NOT_FOUND


class TooManyReplays(Refusal):
    """Your account has had as many webhooks sent again in this hour as it may."""

    code = "too_many_replays"
    status = HTTPStatus.TOO_MANY_REQUESTS
    retryable = True


class ParameterMalformed(Refusal):
    """A parameter in the address has a value that means nothing there."""

    code = "parameter_malformed"


class TooManyEstimates(Refusal):
    """Your account has used up its estimates of this minute, fewer than a key has requests."""

    code = "too_many_estimates"
    status = HTTPStatus.TOO_MANY_REQUESTS
    retryable = True


class EstimatesBusy(Refusal):
    """As many estimates as run at once, or one of your account, are already being made."""

    code = "estimates_busy"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retryable = True


class ChainUnavailable(Refusal):
    """A chain's nodes do not answer in time, or its gas is dearer than is paid here right now."""

    code = "chain_unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    retryable = True


class AttestationRefused(Refusal):
    """A signer's word, or a question about those that are wanted, is not taken."""


class AttestationMalformed(AttestationRefused):
    """A field of the attestation is missing, or not written as it is here."""

    code = "attestation_malformed"


class AttestationUntrusted(AttestationRefused):
    """It is for no registry of this server, or signed by none of that registry's signers."""

    code = "attestation_untrusted"


class AttestationContradicted(AttestationRefused):
    """The signer has said another hash of this block before, and the first one stays."""

    code = "attestation_contradicted"
    status = HTTPStatus.CONFLICT


class AttestationUnwanted(AttestationRefused):
    """No query waits for a block that this one leads back to."""

    code = "attestation_unwanted"
    status = HTTPStatus.CONFLICT


class TooManyAttestations(AttestationRefused):
    """This network has used up its requests about attestations of this minute."""

    code = "too_many_attestations"
    status = HTTPStatus.TOO_MANY_REQUESTS
    retryable = True
