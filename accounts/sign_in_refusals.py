"""Why a sign-in is refused: one class a reason, so that the page and the tests can tell them."""

from http import HTTPStatus
from typing import ClassVar

from accounts.refusals import Refusal


class SignInRefused(Refusal):
    code: ClassVar[str] = "sign_in_refused"


class RequestMalformed(SignInRefused):
    code: ClassVar[str] = "request_malformed"


class WrongPlace(SignInRefused):
    """The page was reached under an address that the operator did not name."""

    code: ClassVar[str] = "wrong_place"


class WalletAddressMalformed(SignInRefused):
    code: ClassVar[str] = "address_malformed"


class ChainIdMalformed(SignInRefused):
    code: ClassVar[str] = "chain_id_malformed"


class MessageTooLong(SignInRefused):
    code: ClassVar[str] = "message_too_long"


class MessageNotPlain(SignInRefused):
    """Characters beyond ASCII, which can look like others."""

    code: ClassVar[str] = "message_not_plain"


class MessageMalformed(SignInRefused):
    code: ClassVar[str] = "message_malformed"


class WrongVersion(SignInRefused):
    code: ClassVar[str] = "wrong_version"


class AddressNotChecksummed(SignInRefused):
    code: ClassVar[str] = "address_not_checksummed"


class WrongDomain(SignInRefused):
    code: ClassVar[str] = "wrong_domain"


class WrongScheme(SignInRefused):
    code: ClassVar[str] = "wrong_scheme"


class WrongUri(SignInRefused):
    code: ClassVar[str] = "wrong_uri"


class WrongStatement(SignInRefused):
    code: ClassVar[str] = "wrong_statement"


class UnknownExtras(SignInRefused):
    """A request id or resources, which no message of ours has."""

    code: ClassVar[str] = "unknown_extras"


class TimeMalformed(SignInRefused):
    code: ClassVar[str] = "time_malformed"


class ExpiryMissing(SignInRefused):
    code: ClassVar[str] = "expiry_missing"


class NotBeforeMissing(SignInRefused):
    code: ClassVar[str] = "not_before_missing"


class MessageExpired(SignInRefused):
    code: ClassVar[str] = "message_expired"
    retryable: ClassVar[bool] = True


class NotYetValid(SignInRefused):
    code: ClassVar[str] = "not_yet_valid"


class IssuedInFuture(SignInRefused):
    code: ClassVar[str] = "issued_in_future"


class NonceUnknown(SignInRefused):
    code: ClassVar[str] = "nonce_unknown"
    retryable: ClassVar[bool] = True


class NonceOfAnother(SignInRefused):
    code: ClassVar[str] = "nonce_of_another_browser"
    retryable: ClassVar[bool] = True


class NonceUsed(SignInRefused):
    code: ClassVar[str] = "nonce_used"
    retryable: ClassVar[bool] = True


class NonceExpired(SignInRefused):
    code: ClassVar[str] = "nonce_expired"
    retryable: ClassVar[bool] = True


class WrongAddress(SignInRefused):
    code: ClassVar[str] = "wrong_address"


class WrongChain(SignInRefused):
    code: ClassVar[str] = "wrong_chain"


class WrongTimes(SignInRefused):
    code: ClassVar[str] = "wrong_times"


class NotOurWords(SignInRefused):
    """Every field is right and the text is not, byte by byte, the one that was issued."""

    code: ClassVar[str] = "not_our_words"


class SignatureMalformed(SignInRefused):
    code: ClassVar[str] = "signature_malformed"


class SignatureTooLong(SignInRefused):
    code: ClassVar[str] = "signature_too_long"


class SignatureHigh(SignInRefused):
    """The twin of a signature, which anyone can make of it."""

    code: ClassVar[str] = "signature_high_s"


class SignatureOfAnother(SignInRefused):
    code: ClassVar[str] = "signature_of_another"


class WalletSaysNo(SignInRefused):
    code: ClassVar[str] = "wallet_says_no"


class WalletNotAsked(SignInRefused):
    """It may be a contract wallet, on a chain that no node is configured for."""

    code: ClassVar[str] = "wallet_chain_unknown"


class WalletUnreachable(SignInRefused):
    code: ClassVar[str] = "wallet_unreachable"
    status: ClassVar[HTTPStatus] = HTTPStatus.SERVICE_UNAVAILABLE
    retryable: ClassVar[bool] = True


class AccountDisabled(SignInRefused):
    code: ClassVar[str] = "account_disabled"
    status: ClassVar[HTTPStatus] = HTTPStatus.FORBIDDEN


class TooManyAttempts(SignInRefused):
    code: ClassVar[str] = "too_many_attempts"
    status: ClassVar[HTTPStatus] = HTTPStatus.TOO_MANY_REQUESTS
    retryable: ClassVar[bool] = True
