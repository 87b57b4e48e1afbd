"""Fuzzed requests to all pages and forms cause no server error.

The database has a waiting batch, a proven one, and two whose block a contract names: the run of a
feed, which waits, and one that was rejected.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db.models import F
from django.test import Client
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from accounts.models import Account
from explorer.demo.local_node import LocalNode
from explorer.pages.live import STOP_POLLING
from queries.models import Feed, FeedRun, Query, SentTransaction
from queries.prover.batches import BLOCK_UNNAMED
from queries.selectors import NAMED_BLOCK
from queries.sources.routes import Routes
from queries.statuses import StepName
from queries.transitions import Failure, reject
from tests.explorer.addresses import routes
from tests.explorer.proven_facts import HOLDER, SLOT, proven_batch
from tests.queries.api.served_api import ROUTES, SEPOLIA, WALLET, made_feed, record_head, submitted
from tests.queries.feeds.running import submit_due_runs
from tests.queries.prover.service import CHAIN_ID, running_service
from tests.queries.schema.example_batches import LEGACY
from tests.queries.tries.fuzzing import CASES, SEED

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]
PARTS = st.text(max_size=20) | st.sampled_from(
    ["BATCH", "0", "1", "11155111", "5186021", "99999999999999999999", "-1", "\x00", "%2F",
     "BALANCE", WALLET, WALLET.lower(), "0x" + 64 * "1", "0x" + 40 * "0", "facts.json",
     "facts.csv", "changes", "block", "check", "replay", "new-batch", "PROVEN", "REGISTRY", "HASH",
     "proof.json"]
)  # fmt: skip
PATHS = (
    "", "explorer", "explorer/query", "explorer/query/BATCH", "explorer/query/BATCH/0",
    "explorer/query/UNNAMED", "explorer/query/UNNAMED?seen=0", "explorer/query/UNNAMED/0",
    "explorer/query/UNNAMED/card.png", "explorer/query/UNNAMED/deliveries.csv",
    "explorer/query/UNNAMED/facts.csv", "explorer/query/UNNAMED/facts.json",
    "explorer/query/REFUSED", "explorer/query/REFUSED?seen=0", "explorer/query/REFUSED/card.png",
    "explorer/batches", "explorer/feed/FEED", "explorer/feed/FEED/embed",
    "explorer/feed/FEED/values.csv", "explorer/feed/FEED/values.json", "explorer/block/11155111",
    "explorer/account", f"explorer/account/{WALLET}", "explorer/transaction/11155111",
    "explorer/registry/11155111", "explorer/routes", "explorer/newest", "explorer/chains",
    "search", "docs",
    "docs/running", "docs/first-fact", "docs/api", "docs/api.md", "llms.txt",
    "docs/monitoring/alerts.yml", "docs/recipes/rate-feed.toml", "contracts/IFactsRegistry.sol",
    "contracts/abi/native.json", "contracts/tacitus-contracts.tgz",
    "docs/monitoring/dashboard.json", "openapi.json", "tacitus.py", "tacitus.mjs",
    "tacitus.d.ts", "tacitus.tgz", "dashboard",
    "dashboard/batches", "dashboard/feeds", "dashboard/webhooks", "dashboard/keys",
    "dashboard/usage",
    "dashboard/sessions", "dashboard/new-batch", "dashboard/feeds/new", "keys", "sign-in",
    "admin", "admin/accounts/apikey", "healthz", "readyz", "metrics",
    "favicon.ico", "robots.txt", "sitemap.xml", ".well-known/security.txt", "status",
)  # fmt: skip
# Pages of proven facts; the words in capitals are replaced by values of the fixture.
PROVEN_PATHS = (
    "explorer/query/PROVEN", "explorer/query/PROVEN?seen=0",
    "explorer/query/PROVEN?from=0.1",
    "explorer/query/PROVEN/0",
    "explorer/fact/CHAIN/BLOCK/HOLDER/BALANCE", "explorer/fact/CHAIN/BLOCK/HOLDER/BALANCE/check",
    "explorer/fact/CHAIN/BLOCK/HOLDER/SLOT", "explorer/fact/CHAIN/BLOCK/header/TIMESTAMP",
    "explorer/query/PROVEN/facts.json",
    "explorer/query/PROVEN/facts.csv",
    "explorer/query/PROVEN/proof.json",
    "explorer/account/HOLDER", "explorer/account/HOLDER/facts.json",
    "explorer/account/HOLDER/facts.csv", "explorer/block/CHAIN/BLOCK",
    "explorer/block/CHAIN/BLOCK/facts.json", "explorer/block/CHAIN/BLOCK/facts.csv",
    "explorer/transaction/CHAIN/HASH", "explorer/registry/CHAIN/REGISTRY",
    "explorer/registry/CHAIN/REGISTRY/facts.json", "explorer/registry/CHAIN/REGISTRY/facts.csv",
)  # fmt: skip
# Pictures of them, and a file that only a batch with deliveries has.
FILE_PATHS = (
    "explorer/query/PROVEN/card.png", "explorer/fact/CHAIN/BLOCK/HOLDER/SLOT/card.png",
    "explorer/query/PROVEN/deliveries.csv",
)  # fmt: skip
ADDRESSES = st.tuples(st.sampled_from(PATHS), st.lists(PARTS, max_size=2)) | st.tuples(
    st.sampled_from(PROVEN_PATHS + FILE_PATHS), st.lists(PARTS, max_size=1)
)
NAMES = st.text(max_size=6) | st.sampled_from(
    ["q", "before", "after", "page", "first", "open", "rows", "status", "chain", "cursor", "next",
     "source", "block",
     "state", "done", "o", "p", "to", "seen", "query", "blocks", "from", "table", "at"]
)  # fmt: skip
# Fields of forms, of sign-in and of the admin.
FIELDS = st.text(max_size=6) | st.sampled_from(
    ["do", "json", "key", "name", "grace", "sure", "version", "destination", "fee", "filled-fee",
     "webhook", "idempotency-key", "source", "block", "account", "props", "slots",
     "header", "filled-0", "trigger", "event", "to-0", "function-0", "arg-0-0",
     "change", "until", "budget", "address", "chainId",
     "message", "signature", "username", "password", "next", "action", "_selected_action"]
)  # fmt: skip
VALUES = st.text(max_size=20) | st.sampled_from(
    ["BATCH", "UNNAMED", "REFUSED", "0", "-1", "9" * 30, "DONE", "11155111", WALLET, "\x00", "null",
     "1,2,x", "٣", "PROVEN", "CHAIN", "BLOCK", "BLOCK.1", "CHAIN-BLOCK", "HOLDER"]
)  # fmt: skip
FIELD_VALUES = VALUES | st.sampled_from(
    ["submit", "blocks", "weeks", "2027-01-31", "add-block", "remove-0", "remove-99999999999",
     "BALANCE", "0x0", "KEY", "https://example.org/", "revoke", "delete_selected",
     "0x" + 130 * "1", "\ud800"]
)  # fmt: skip
FORMS = st.dictionaries(FIELDS, FIELD_VALUES, max_size=6)
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
BODIES = (
    FORMS.map(lambda form: (FORM, urlencode({_storable(n): _storable(v) for n, v in form.items()})))
    | FORMS.map(lambda form: (JSON, json.dumps(form)))
    | st.tuples(
        st.sampled_from([FORM, JSON, "multipart/form-data; boundary=x", "text/plain", "x"]),
        st.binary(max_size=50)
        | st.text(max_size=50).map(lambda text: text.encode(errors="replace")),
    )
)
FORM_PATHS = (
    "dashboard/new-batch", "dashboard/new-batch/check", "dashboard/feeds/new",
    "dashboard/feeds/new/check", "keys", "api-key", "keys/KEY/rename",
    "keys/KEY/rotate", "keys/KEY/end-grace", "keys/KEY/revoke", "sign-in", "sign-in/message",
    "sign-out", "sign-out-everywhere", "sessions/x/end", "dashboard/batches/x/cancel",
    "dashboard/webhooks/x/replay", "dashboard/replay", "dashboard/feeds/FEED/pause",
    "dashboard/feeds/FEED/resume",
    "dashboard/feeds/FEED/end", "dashboard/feeds/FEED/run", "dashboard/feeds/FEED/budget",
    "dashboard/feeds/FEED/rename",
    "admin/", "admin/login/", "admin/logout/", "admin/password_change/",
    "admin/password_change/done/", "admin/autocomplete/", "admin/jsi18n/", "admin/r/1/1/",
    "admin/accounts/apikey/", "admin/accounts/apikey/add/", "admin/accounts/account/",
    "admin/accounts/account/add/",
    *(f"admin/accounts/account/OWNER/{page}" for page in ("", "change/", "history/", "delete/")),
    *(f"admin/accounts/apikey/KEY/{page}" for page in ("", "change/", "history/", "delete/")),
    "admin/accounts/apikey/KEY/revoke/",
)  # fmt: skip
HEADERS = st.sampled_from([{}, {"HX-Request": "true"}, {"Accept": "text/html"}])


@seed(SEED)
@settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    address=ADDRESSES,
    parameters=st.dictionaries(NAMES, VALUES, max_size=3),
    headers=HEADERS,
    method=st.sampled_from(["GET", "GET", "GET", "HEAD", "POST"]),
    is_signed_in=st.booleans(),
)
def test_any_url(
    stored: Mapping[str, str],
    address: tuple[str, list[str]],
    parameters: dict[str, str],
    headers: dict[str, str],
    method: str,
    *,
    is_signed_in: bool,
) -> None:
    client = Client(raise_request_exception=True)
    if is_signed_in:
        client.force_login(Account.objects.get())
    prefix, parts = address
    path = "/" + _filled_in("/".join([prefix, *parts]), stored)
    query = {
        _storable(name): _filled_in(_storable(value), stored) for name, value in parameters.items()
    }
    answer: Any = client.generic(method, _storable(path), query_params=query, headers=headers)
    answer.getvalue()  # runs the queries of a streamed file
    # 409: the proof does not exist yet
    allowed = {200, 204, STOP_POLLING, 301, 302, 400, 403, 404, 405, 409, 429}
    assert answer.status_code in allowed, path


def test_pages_open_before_a_contract_has_named_the_block(stored: Mapping[str, str]) -> None:
    client = Client()
    client.force_login(Account.objects.get())
    form = "dashboard/new-batch?batch="
    search = "search?q="
    ids = stored["UNNAMED"], stored["REFUSED"]
    for path in (*PATHS, *(page + key for page in (form, search) for key in ids)):
        answer: Any = client.get("/" + _filled_in(path, stored), follow=True)
        answer.getvalue()
        assert answer.status_code < 500, path


def test_every_route_is_fuzzed() -> None:
    """The API's routes are fuzzed from its description."""
    described = [path[1:] for path in Client().get("/openapi.json").json()["paths"]]
    paths = *PATHS, *PROVEN_PATHS, *FILE_PATHS, *FORM_PATHS, *described
    fuzzed = [path.partition("?")[0] for path in paths]
    missing = [
        route
        for route in routes()
        if not any(re.fullmatch(re.sub("<[^>]+>", "[^/]+", route), path) for path in fuzzed)
    ]
    assert missing == []


def test_the_fuzzed_pages_have_proven_facts(stored: Mapping[str, str]) -> None:
    for path in PROVEN_PATHS:
        answer: Any = Client().get("/" + _filled_in(path, stored), follow=True)
        content = answer.getvalue()
        assert answer.status_code in {200, STOP_POLLING}, path
        assert HOLDER.lower().encode() in content.lower() or stored["BLOCK"].encode() in content, (
            path
        )


@seed(SEED)
@settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.sampled_from(FORM_PATHS),
    body=BODIES,
    headers=HEADERS,
    role=st.sampled_from(["", "user", "operator"]),
)
def test_any_form(
    stored: Mapping[str, str],
    path: str,
    body: tuple[str, str | bytes],
    headers: dict[str, str],
    role: str,
) -> None:
    owner = Account.objects.get()
    client = Client(raise_request_exception=True)
    if role:
        Account.objects.update(is_operator=role == "operator", is_active=True)
        client.force_login(owner)
    key = str(owner.keys.values_list("pk", flat=True)[0])
    kind, content = body
    content = content if isinstance(content, bytes) else content.encode()
    content = content.replace(b"KEY", key.encode()).replace(b"BATCH", stored["BATCH"].encode())
    path = path.replace("KEY", key).replace("OWNER", str(owner.pk)).replace("FEED", stored["FEED"])
    path = f"/{path}"
    answer: Any = client.post(path, content, content_type=kind, headers=headers)
    assert answer.status_code in {200, 204, 301, 302, 400, 401, 403, 404, 405, 409, 415, 429}, path


def _filled_in(text: str, stored: Mapping[str, str]) -> str:
    return re.sub("|".join(stored), lambda match: stored[match[0]], text)


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()


NAMED_BLOCK_BATCH = {
    "destinationChainId": "11155111",
    "fee": "0",
    "data": {"11155111": {NAMED_BLOCK: {"accounts": {WALLET: {"props": ["BALANCE"]}}}}},
    "block": {"from": WALLET, "function": "lastBlock()"},
    "deliver": [{"to": WALLET, "function": "update(uint256)", "args": ["$block"], "gas": "50000"}],
}


def _rejected_batch(key: str) -> str:
    batch_id = submitted(key, NAMED_BLOCK_BATCH)
    sentence = "The contract names no block."
    failure = Failure(BLOCK_UNNAMED, sentence, StepName.INITIAL_STATE, retryable=True)
    reject([batch_id], failure)
    return batch_id


def _feed_with_a_run(key: str) -> str:
    record_head(SEPOLIA, number=5_186_021, timestamp=int(time.time()))
    feed = made_feed(key, {"every": "1 hour", "batch": NAMED_BLOCK_BATCH})
    Feed.objects.update(due=F("due") - 3_600)
    submit_due_runs()
    assert FeedRun.objects.exists()
    return feed


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Password hashes are slow on purpose, and the fuzzer tries many."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1_000)


@pytest.fixture
def stored(node: LocalNode) -> Iterator[Mapping[str, str]]:
    with running_service(node, other_routes=ROUTES) as service:
        chain, route = service.routes.chains[CHAIN_ID], (CHAIN_ID, CHAIN_ID)
        routes = Routes({CHAIN_ID: chain}, {route: service.registry})  # the others have no nodes
        proven = proven_batch(replace(service, routes=routes))
        yield {
            "BATCH": submitted(service.key, LEGACY),
            "FEED": _feed_with_a_run(service.key),
            "UNNAMED": str(FeedRun.objects.values_list("batch", flat=True).get()),
            "REFUSED": _rejected_batch(service.key),
            "PROVEN": proven,
            "HOLDER": HOLDER,
            "SLOT": f"0x{SLOT:064x}",
            "CHAIN": str(CHAIN_ID),
            "BLOCK": str(Query.objects.filter(batch=proven).values_list("block", flat=True)[0]),
            "HASH": SentTransaction.objects.values_list("mined_hash", flat=True)[0],
            "REGISTRY": service.registry.address,
        }
