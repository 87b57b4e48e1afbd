"""A body is complete, and is not read if it is too large."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client

from tests.queries.api.served_api import HERE, LIMITS, make_key

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


class Unread(BytesIO):
    """A body that must not be read."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("the body was read")


class CutOff(BytesIO):
    """A body whose sender disconnects."""

    def read(self, *_: object) -> bytes:
        raise OSError("the connection is gone")


def submit_stream(stream: BytesIO, length: int, address: str = "/submit-batch-query") -> Any:
    environment: dict[str, Any] = {"CONTENT_LENGTH": str(length), "wsgi.input": stream}
    return Client().generic(
        "POST",
        address,
        "{}",
        content_type="application/json",
        headers={"api-key": make_key()},
        **environment,
    )


def test_a_body_that_is_too_large_is_not_read() -> None:
    response = submit_stream(Unread(), LIMITS.body_bytes + 1)
    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
    with pytest.raises(AssertionError, match="the body was read"):
        submit_stream(Unread(), LIMITS.body_bytes)


def test_a_body_that_ends_early_is_refused() -> None:
    response = submit_stream(CutOff(), 100)
    assert (response.status_code, response.json()["code"]) == (400, "not_json")
