"""What is refused before any view is asked, or because something broke: the framework's own
answers, in our one shape.
"""

from http import HTTPStatus
from typing import ClassVar

from accounts.refusals import Refusal


class RequestNotUnderstood(Refusal):
    """The request is not one that HTTP knows, or has more parameters than are read."""

    code: ClassVar[str] = "bad_request"


class HostUnknown(Refusal):
    """The request names a host that is none of this service's."""

    code: ClassVar[str] = "host_unknown"


class HttpsNeeded(Refusal):
    """The request came over plain http, where a key can be read on its way."""

    code: ClassVar[str] = "https_needed"
    status: ClassVar[HTTPStatus] = HTTPStatus.FORBIDDEN


class NotAllowed(Refusal):
    """What was asked for is not for whoever asks."""

    code: ClassVar[str] = "not_allowed"
    status: ClassVar[HTTPStatus] = HTTPStatus.FORBIDDEN


class NothingHere(Refusal):
    """There is nothing at this address."""

    code: ClassVar[str] = "nothing_here"
    status: ClassVar[HTTPStatus] = HTTPStatus.NOT_FOUND


class MethodNotAllowed(Refusal):
    """There is something at this address, but not for this method."""

    code: ClassVar[str] = "method_not_allowed"
    status: ClassVar[HTTPStatus] = HTTPStatus.METHOD_NOT_ALLOWED


class BodyTooLarge(Refusal):
    """The body has more bytes than are read here."""

    code: ClassVar[str] = "body_too_large"
    status: ClassVar[HTTPStatus] = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ContentTypeUnsupported(Refusal):
    """The body says that it is something else than JSON, or compressed."""

    code: ClassVar[str] = "content_type_unsupported"
    status: ClassVar[HTTPStatus] = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class FaultOfOurs(Refusal):
    """Something broke here. It is logged under the request's id."""

    code: ClassVar[str] = "fault_of_ours"
    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    retryable: ClassVar[bool] = True


class Unavailable(Refusal):
    """The service does not reach its database at the moment."""

    code: ClassVar[str] = "unavailable"
    status: ClassVar[HTTPStatus] = HTTPStatus.SERVICE_UNAVAILABLE
    retryable: ClassVar[bool] = True
