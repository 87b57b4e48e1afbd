"""A refusal: what is said to whoever asked for something that is not given.

All of them, of sign-in and of the API, come in one shape, so that a program can tell by `code`
and `retryable` what a person reads in `error`. They stand here because this is the lowest layer
that answers anyone; `queries/errors.py` adds those of the work.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar

from django.http import JsonResponse


class Refusal(Exception):  # noqa: N818
    """Raised where something is refused; who catches it answers with it, or shows its sentence."""

    code: ClassVar[str]
    status: ClassVar[HTTPStatus] = HTTPStatus.BAD_REQUEST
    retryable: ClassVar[bool] = False

    def __init__(
        self, sentence: str, *, path: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.path = path  # of the value in the request that is at fault
        self.headers = dict(headers or {})


def answer_of(refusal: Refusal) -> JsonResponse:
    content = {
        "error": refusal.sentence,
        "code": refusal.code,
        "path": refusal.path,
        "retryable": refusal.retryable,
    }
    headers = {"Cache-Control": "no-store", **refusal.headers}
    return JsonResponse(content, status=refusal.status, headers=headers)
