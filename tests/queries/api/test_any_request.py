"""Whatever is sent to the running endpoints, each answer is one that the API describes."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queries.models import Batch, Query
from tests.queries.api.served_api import HERE, make_key
from tests.queries.schema.example_batches import LEGACY
from tests.queries.schema.test_any_batch import anything, places_in, texts

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
# The key outlives the examples of one test, and so do their rows: none looks at another's.
some = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
ADDRESSES = st.sampled_from(
    ["/submit-batch-query", "/batch-query-status", "/batch-queries", "/chain-connections",
     "/api-key", "/openapi.json", "/estimate", "/webhook-deliveries", "/webhook-secret",
     "/webhook-deliveries/01J2VM6JSA6VKKZ0ENWGYYPR18/replay", "/webhook-deliveries/%00/replay",
     "/attestations", "/attestations/wanted", "/batch-queries/", "/submit-batch-query//"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["apiKey", "batchQueryId", "details", "fromQuery", "status", "cursor", "limit", "\x00"]
)
VALUES = st.text(max_size=30) | st.sampled_from(
    ["0", "1", "-1", "DONE", "01J2VM6JSA6VKKZ0ENWGYYPR18", "\x00", 5_000 * "9", "\ud800"]
)
SEEN = st.characters(min_codepoint=32, max_codepoint=255)


@pytest.fixture
def key(settings: Any) -> str:
    settings.REQUESTS_PER_MINUTE = 1_000_000
    return make_key()


def check(answer: Any, *, empty: bool = False) -> Any:
    assert answer.status_code in {200, 204, 400, 401, 404, 405, 409, 413, 415}, answer.text
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "X-Request-ID" in answer
    if empty or answer.status_code == 204:
        return {}
    told = answer.json()
    if answer.status_code != 200:
        assert set(told) - {"detail"} == {"error", "code", "path", "retryable"}
        assert len(answer.content) < 10_000
    return told


def post(key: str, body: bytes, **headers: str) -> Any:
    return check(
        Client().post(
            "/submit-batch-query",
            body,
            content_type="application/json",
            headers={"api-key": key, **headers},
        )
    )


@some
@given(body=st.binary(max_size=200))
def test_any_body(key: str, body: bytes) -> None:
    assert "code" in post(key, body)


def changed_batch(data: st.DataObject) -> bytes:
    content = json.loads(LEGACY)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, step = data.draw(st.sampled_from(list(places_in(content))))
        if isinstance(holder, list) or data.draw(st.booleans()):
            holder[step] = data.draw(anything)  # type: ignore[index]
        else:
            holder[data.draw(texts)] = holder.pop(str(step))
    return json.dumps(content).encode()


@some
@given(data=st.data())
def test_any_change_of_a_right_batch_is_estimated_or_refused(key: str, data: st.DataObject) -> None:
    """Of no node, since none answers in no time: what is right is told just that."""
    body = changed_batch(data)
    with patch.multiple("queries.api.estimating", SECONDS=0, A_MINUTE=1_000_000):
        answer = Client().post(
            "/estimate", body, content_type="application/json", headers={"api-key": key}
        )
    if answer.status_code == 503:
        assert answer.json()["code"] == "chain_unavailable"
        assert "internalId" in post(key, body)
    else:
        assert "code" in check(answer)


@some
@given(data=st.data())
def test_any_change_of_a_right_batch(key: str, data: st.DataObject) -> None:
    body = changed_batch(data)
    before = Batch.objects.count(), Query.objects.count()
    told = post(key, body)
    after = Batch.objects.count(), Query.objects.count()
    if "internalId" in told:
        held = Query.objects.filter(batch=told["internalId"]).count()
        assert (after[0], after[1]) == (before[0] + 1, before[1] + held)
        assert held
    else:
        assert after == before


@some
@given(
    asked=st.tuples(METHODS, ADDRESSES),
    parameters=st.dictionaries(NAMES, VALUES, max_size=4),
    headers=st.dictionaries(
        st.sampled_from(
            ["Idempotency-Key", "Accept", "Content-Type", "Origin", "Content-Length",
             "Access-Control-Request-Method", "Accept-Encoding", "Cookie", "api-key"]
        ),
        st.text(SEEN, max_size=20) | st.sampled_from(["application/json", "*/*;q=x", "-1"]),
        max_size=4,
    ),
    keyed=st.booleans(),
)  # fmt: skip
def test_any_address_method_parameter_and_header(
    key: str,
    asked: tuple[str, str],
    parameters: dict[str, str],
    headers: dict[str, str],
    *,
    keyed: bool,
) -> None:
    method, address = asked
    if headers.get("Content-Length", "").isdecimal():
        del headers["Content-Length"]  # Django's client does not read beyond a body, as servers do
    parameters = {
        name.encode(errors="replace").decode(): value.encode(errors="replace").decode()
        for name, value in parameters.items()
    }
    answer = Client().generic(
        method,
        address,
        b"{}",
        content_type=headers.pop("Content-Type", "application/json"),
        query_params=parameters,
        headers=headers | ({"api-key": key} if keyed else {}),
    )
    check(answer, empty=method == "HEAD")
