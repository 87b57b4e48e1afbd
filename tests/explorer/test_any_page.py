"""No address of a page, whatever stands in it, is a fault of ours."""

from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.wallets import Wallet
from tests.queries.api.served_api import HERE, WALLET, make_key, submitted
from tests.queries.schema.example_batches import LEGACY
from tests.queries.tries.fuzzing import CASES, SEED

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
PARTS = st.text(max_size=20) | st.sampled_from(
    ["BATCH", "0", "1", "11155111", "5186021", "99999999999999999999", "-1", "\x00", "%2F",
     "BALANCE", WALLET, WALLET.lower(), "0x" + 64 * "1", "0x" + 40 * "0", "facts.json",
     "facts.csv", "changes", "block", "check", "replay", "new-batch"]
)  # fmt: skip
PLACES = st.sampled_from(
    ["", "explorer", "explorer/query", "explorer/query/BATCH", "explorer/query/BATCH/0",
     "explorer/query/BATCH/0/BALANCE", "explorer/batches", "explorer/block/11155111",
     "explorer/account", f"explorer/account/{WALLET}", "explorer/transaction/11155111",
     "explorer/registry/11155111", "explorer/routes", "search", "docs", "dashboard",
     "dashboard/batches", "dashboard/webhooks", "dashboard/new-batch", "keys", "sign-in",
     "how-it-works", "admin", "admin/accounts/apikey", "healthz"]
)  # fmt: skip
NAMES = st.text(max_size=6) | st.sampled_from(
    ["q", "before", "after", "page", "first", "open", "rows", "status", "chain", "cursor", "next",
     "state", "done", "o", "p"]
)  # fmt: skip
VALUES = st.text(max_size=20) | st.sampled_from(
    ["BATCH", "0", "-1", "9" * 30, "DONE", "11155111", WALLET, "\x00", "null", "1,2,x", "٣"]
)
HEADERS = st.sampled_from([{}, {"HX-Request": "true"}, {"Accept": "text/html"}])


@seed(SEED)
@settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    place=PLACES,
    parts=st.lists(PARTS, max_size=2),
    parameters=st.dictionaries(NAMES, VALUES, max_size=3),
    headers=HEADERS,
    method=st.sampled_from(["GET", "GET", "GET", "HEAD", "POST"]),
    person=st.booleans(),
)
def test_any_address(  # noqa: PLR0913, PLR0917  (a request's own parts)
    batch: str,
    place: str,
    parts: list[str],
    parameters: dict[str, str],
    headers: dict[str, str],
    method: str,
    *,
    person: bool,
) -> None:
    client = Client(raise_request_exception=True)
    if person:
        client.force_login(Account.objects.get())
    path = "/" + "/".join([place, *parts]).replace("BATCH", batch)
    asked = {
        _sendable(name): _sendable(value).replace("BATCH", batch)
        for name, value in parameters.items()
    }
    answer: Any = client.generic(method, _sendable(path), query_params=asked, headers=headers)
    assert answer.status_code in {200, 204, 301, 302, 400, 403, 404, 405, 429}, path


def _sendable(text: str) -> str:
    return text.encode(errors="replace").decode()


@pytest.fixture
def batch() -> str:
    Account.objects.of_wallet(Wallet(WALLET))
    return submitted(make_key(), LEGACY)
