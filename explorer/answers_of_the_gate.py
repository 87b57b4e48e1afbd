"""What is answered where Django cannot: without looking at the request, and without a thread."""

from django.conf import settings

from accounts.http_refusals import FaultOfOurs, RequestNotUnderstood, Unavailable
from accounts.refusals import Refusal, answer_of
from explorer.any_origin import ANY_ORIGIN
from explorer.wsgi_call import Answer


def busy() -> Answer:
    sentence = "More ask than can be answered at the moment. Try again in a few seconds."
    return _answer(Unavailable(sentence, headers={"Retry-After": "5"}))


def cut_short() -> Answer:
    """To who sends no more of a body, and may still read."""
    sentence = "The body ends before its Content-Length says. Nothing was done."
    return _answer(RequestNotUnderstood(sentence))


def broken() -> Answer:
    return _answer(FaultOfOurs("Something broke on our side while the answer was made."))


def _answer(refusal: Refusal) -> Answer:
    refusal.headers |= ANY_ORIGIN if settings.API_CORS else {}
    return Answer.of(answer_of(refusal))
