"""What is answered where Django cannot: without a thread, and with the headers of its answers.

Of the request it looks only at whether it came over TLS.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.middleware.clickjacking import XFrameOptionsMiddleware

from accounts.http_refusals import FaultOfOurs, RequestNotUnderstood, Unavailable
from accounts.refusals import Refusal, answer_of
from explorer.answer_headers import AnswerHeaders
from explorer.any_origin import ANY_ORIGIN
from explorer.wsgi_call import Answer

Environ = Mapping[str, Any]


def busy(request: Environ) -> Answer:
    sentence = "More ask than can be answered at the moment. Try again in a few seconds."
    return _answer(request, Unavailable(sentence, headers={"Retry-After": "5"}))


def cut_short(request: Environ) -> Answer:
    """To who sends no more of a body, and may still read."""
    sentence = "The body ends before its Content-Length says. Nothing was done."
    return _answer(request, RequestNotUnderstood(sentence))


def broken(request: Environ) -> Answer:
    sentence = "Something broke on our side while the answer was made."
    return _answer(request, FaultOfOurs(sentence))


def _answer(environ: Environ, refusal: Refusal) -> Answer:
    refusal.headers |= ANY_ORIGIN if settings.API_CORS else {}
    request = HttpRequest()
    request.META = dict(environ)
    answer = answer_of(refusal)
    for middleware in (AnswerHeaders, XFrameOptionsMiddleware):
        middleware(lambda _request: answer).process_response(request, answer)
    return Answer.of(answer)
