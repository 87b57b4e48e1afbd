"""The responses to valid and invalid requests match the API's description.

schemathesis makes the requests from the description. `make fuzz` runs longer.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import schemathesis
from django.conf import LazySettings
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import Case, Response
from schemathesis.config import SchemathesisConfig
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from schemathesis.specs.openapi import stateful
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from explorer.demo.local_node import LocalNode
from explorer.endpoints import ENDPOINTS
from queries.api import attestations, lookups
from queries.api.openapi import document
from queries.error_codes import EstimateCode, LookupCode
from queries.planning import on_request
from queries.webhooks import posts
from tests.environment import IS_THOROUGH
from tests.queries.api.existing_objects import ExistingObjects, existing_objects
from tests.queries.api.served_api import LIMITS
from tests.queries.tries.fuzzing import CASES, IS_FUZZ_RUN, SEED

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]
SITE = "http://testserver"
# Only endpoints that ask nodes may answer 503, for the chain with another chain's node.
ASKS_NODES = {
    endpoint.name
    for endpoint in ENDPOINTS
    if {EstimateCode.CHAIN_UNAVAILABLE, LookupCode.LOOKUP_UNAVAILABLE} & {*endpoint.errors}
}
CHECKS = {
    "checks": {
        "not_a_server_error": {"expected-statuses": ["2XX", "4XX", "503"]},
        # 413 is fine too, because a body's size is checked first.
        "negative_data_rejection": {"expected-statuses": ["4XX", "503"]},
    }
}
UNLIMITED = 10**9
ASKED_WITH_WRONG_KEYS = 10  # of the requests to an endpoint
SERVICE = WSGIHandler()


def _serve(environ: Any, start: Any) -> list[bytes]:
    """Close the response after it is sent, as a server does; schemathesis decompresses nothing."""
    environ.pop("HTTP_ACCEPT_ENCODING", None)
    response = SERVICE(environ, start)
    try:
        return [b"".join(response)]
    finally:
        response.close()


def described(**configuration: object) -> Any:
    config = SchemathesisConfig.from_dict(CHECKS | configuration)
    schema = schemathesis.openapi.from_dict(document(ENDPOINTS, LIMITS, SITE), config=config)
    schema.app = _serve
    return schema


EXAMPLES = CASES // 30 if IS_THOROUGH or IS_FUZZ_RUN else 3  # of each request
fuzzing = settings(
    max_examples=max(EXAMPLES, 3),
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def existing(
    shared_node: LocalNode, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ExistingObjects]:
    """No rate limit is reached, and the test's transaction outlives each request."""
    settings.REQUESTS_PER_MINUTE = UNLIMITED
    monkeypatch.setattr(on_request, "ESTIMATES_PER_MINUTE", UNLIMITED)
    monkeypatch.setattr(attestations, "ATTESTATION_REQUESTS_PER_MINUTE", UNLIMITED)
    monkeypatch.setattr(lookups, "LOOKUPS_PER_MINUTE", UNLIMITED)
    monkeypatch.setattr(posts, "REPLAYS_PER_HOUR", UNLIMITED)
    with existing_objects(shared_node) as objects:
        around = (signals.request_started, signals.request_finished)
        for signal in around:
            signal.disconnect(close_old_connections)
        yield objects
        for signal in around:
            signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def schema() -> Any:
    return described()


@pytest.mark.parametrize("name", [endpoint.name for endpoint in ENDPOINTS])
def test_every_response_matches_the_description(
    name: str, schema: Any, existing: ExistingObjects
) -> None:
    """Send examples, values at bounds, and random ones; send valid ones also with existing ids."""
    operation = schema.find_operation_by_id(name)
    # A valid body may ask for a chain that is not configured.
    excluded: list[Any] = [positive_data_acceptance] if operation.body else []
    answered, asked = set(), count()

    def ask(case: Case[Any]) -> None:
        # Keys are checked before all else, so a few requests are repeated with wrong ones.
        skipped = [] if next(asked) < ASKED_WITH_WRONG_KEYS else [ignored_auth]
        key = {"api-key": existing.prover.key}
        response = case.call_and_validate(SITE, headers=key, excluded_checks=excluded + skipped)
        _check_unavailable(case, response)
        answered.add(response.status_code)

    def check(case: Case[Any]) -> None:
        ask(case)
        if case.meta and case.meta.generation.mode.is_positive:
            replaced = existing.with_existing_ids(case)
            if replaced:
                ask(replaced)

    config = HypothesisTestConfig(
        project=schema.config, modes=list(HypothesisTestMode), settings=fuzzing, seed=SEED
    )
    create_test(operation=operation, test_func=check, config=config)()
    assert {200} < answered, f"{name} was answered with {answered} alone"


def test_responses_along_links_match_the_description(
    existing: ExistingObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow the description's links from response to response; submitted batches are proven."""
    # schemathesis would not start with a submission, because no link leads to its chains.
    monkeypatch.setattr(
        stateful, "is_likely_root_transition", lambda operation, *_: not operation.path_parameters
    )
    # Feeds link to feeds alone, and would take most of the steps.
    schema = described(generation={"mode": "positive"}).exclude(path_regex="^/feeds")
    schema.hook("map_body")(
        lambda context, body: existing.existing_body(context.operation.path, body)
    )
    followed, prover_context = set(), existing.prover.context()

    class Client(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, _case: Case[Any]) -> dict[str, Any]:
            return {"headers": {"api-key": existing.prover.key}, "base_url": SITE}

        def after_call(self, response: Response, case: Case[Any]) -> None:
            super().after_call(response, case)
            if _name_of(case) == "submitBatchQuery" and response.status_code == 200:
                existing.prover.work(response.json()["internalId"], context=prover_context)

        def validate_response(self, response: Response, case: Case[Any], **options: Any) -> None:
            # The test above sends wrong keys too.
            excluded: list[Any] = [positive_data_acceptance, ignored_auth]
            case.validate_response(response, excluded_checks=excluded, transport_kwargs=options)
            _check_unavailable(case, response)
            name, result = _name_of(case), response.json()
            followed.add((name, response.status_code, result.get("queryStatus", "")))

    many = settings(fuzzing, max_examples=max(3 * EXAMPLES, 15), stateful_step_count=15)
    expected = {
        ("submitBatchQuery", 200, ""),
        ("batchQueryStatus", 200, "DONE"),
        ("batchProof", 200, ""),
        ("replayWebhook", 200, ""),
    }
    for walk in range(3):  # ids are random, so a walk with the same seed may miss a link
        run_state_machine_as_test(seed(SEED + walk)(Client), settings=many)
        if expected <= followed:
            break
    prover_context.close()
    assert expected <= followed


def _name_of(case: Case[Any]) -> str:
    return str(case.operation.definition.raw["operationId"])


def _check_unavailable(case: Case[Any], response: Response) -> None:
    assert response.status_code != 503 or _name_of(case) in ASKS_NODES, response.text
