"""The client's errors."""

from typing import Any


class TacitusError(Exception):
    """Base of all errors: a sentence for people; a code and `retryable` for programs."""

    code = "failed"
    retryable = False

    def __init__(self, sentence: str, **details: Any) -> None:
        self.sentence = printable(sentence)
        super().__init__(self.sentence)
        self.code = printable(details.get("code", self.code))
        self.path = printable(details.get("path", ""))  # of the invalid value in the request
        self.retryable = details.get("retryable", self.retryable)
        self.http_status: int | None = details.get("http_status")
        self.retry_after: float | None = details.get("retry_after")  # seconds
        self.batch_id = printable(details.get("batch_id", ""))
        self.step = printable(details.get("step", ""))  # in which a batch was rejected


class RequestRefusedError(TacitusError):
    """The server refused the request; `code` is listed in its /docs/status."""


class BatchRejectedError(TacitusError):
    """The batch ended without being proven. If `retryable`, submit it again."""


class DeliveryFailedError(TacitusError):
    """The batch is DONE, but one of its deliveries has FAILED; `code` says why."""


class BatchNotDoneError(TacitusError):
    """The batch has no facts yet."""

    code, retryable = "not_done", True


class FactsLostError(TacitusError):
    """A reorg removed facts of the DONE batch, and they could not be proven again."""

    code = "facts_lost"


class ServerUnreachableError(TacitusError):
    """The server did not send a complete response."""

    code, retryable = "unreachable", True


class ResponseLostError(TacitusError):
    """The server did not answer, or a proxy did, and may have carried out the request; it is one
    that is not repeated.
    """

    code = "response_lost"


class WaitTimeoutError(TacitusError):
    """The batch did not end within the timeout; the server continues to work on it."""

    code, retryable = "timed_out", True


class UnreadableResponseError(TacitusError):
    """The response is not one of a Tacitus server."""

    code = "unreadable_response"


class NotProvenError(TacitusError):
    """The proof file proves nothing, or not without another block hash."""

    code = "not_proven"


class WebhookNotGenuineError(TacitusError):
    """The webhook call is not one of the server, or it is too old."""

    code = "webhook_not_genuine"


class UsageError(TacitusError, ValueError):
    """An argument or option is invalid; nothing was sent."""

    code = "invalid_usage"


MAX_SENTENCE_LENGTH = 2_000


def printable(text: str) -> str:
    """Replace control characters, which could move a terminal's cursor or colour its output."""
    safe = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return f"{safe[:MAX_SENTENCE_LENGTH]}…" if len(safe) > MAX_SENTENCE_LENGTH else safe
