"""Whatever the description allows or forbids to be sent, what is answered is described there.

schemathesis reads the description as a client would. `make fuzz` goes on for longer.
"""

from collections.abc import Iterator
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
from queries.api import attestations, estimates
from queries.api.endpoints import ENDPOINTS
from queries.api.openapi import document
from queries.refusals import CHAIN_UNAVAILABLE
from queries.webhooks import deliver
from tests.queries.api.served_api import LIMITS
from tests.queries.api.things_to_ask_for import Things, things_to_ask_for
from tests.queries.tries.fuzzing import CASES, SEED

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]
SITE = "http://testserver"
# 503 is what those answer that ask nodes, of the chain whose node is another chain's; of all others
# it would be a fault, as 500 is.
ASKS_NODES = {each.name for each in ENDPOINTS if CHAIN_UNAVAILABLE in each.errors}
NO_FAULT = {
    "checks": {
        "not_a_server_error": {"expected-statuses": ["2XX", "4XX", "503"]},
        # 413 too refuses what is wrong: a body is measured before it is read.
        "negative_data_rejection": {"expected-statuses": ["4XX", "503"]},
    }
}
FAR = 10**9
SERVICE = WSGIHandler()


def _answered_whole(environ: Any, start: Any) -> list[bytes]:
    """As a server does: what an answer holds open is closed when it is sent."""
    answer = SERVICE(environ, start)
    try:
        return [b"".join(answer)]
    finally:
        answer.close()


def described(**configuration: object) -> Any:
    config = SchemathesisConfig.from_dict(NO_FAULT | configuration)
    schema = schemathesis.openapi.from_dict(document(ENDPOINTS, LIMITS, SITE), config=config)
    schema.app = _answered_whole
    return schema


SCHEMA = described()
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations()}
some = settings(
    max_examples=max(CASES // 30, 5),
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def things(
    shared_node: LocalNode, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Things]:
    """Limits are far, and the test's transaction outlives each request."""
    settings.REQUESTS_PER_MINUTE = FAR
    monkeypatch.setattr(estimates, "A_MINUTE", FAR)
    monkeypatch.setattr(attestations, "A_MINUTE", FAR)
    monkeypatch.setattr(deliver, "REPLAYS_AN_HOUR", FAR)
    with things_to_ask_for(shared_node) as there:
        around = (signals.request_started, signals.request_finished)
        for signal in around:
            signal.disconnect(close_old_connections)
        yield there
        for signal in around:
            signal.connect(close_old_connections)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_described(name: str, things: Things) -> None:
    """Examples, each value at its bounds, and random ones, right and wrong; and each right one once
    more for what is there.
    """
    operation = OPERATIONS[name]
    # A body can have the right shape and ask for a chain that is not there.
    left_out: list[Any] = [positive_data_acceptance] if operation.body else []
    answered = set()

    def ask(case: Case[Any]) -> None:
        key = {"api-key": things.prover.key}
        response = case.call_and_validate(SITE, headers=key, excluded_checks=left_out)
        _is_no_fault(case, response)
        answered.add(response.status_code)

    def check(case: Case[Any]) -> None:
        ask(case)
        if case.meta and case.meta.generation.mode.is_positive:
            there = things.instead_of(case)
            if there:
                ask(there)

    config = HypothesisTestConfig(
        project=SCHEMA.config, modes=list(HypothesisTestMode), settings=some, seed=SEED
    )
    create_test(operation=operation, test_func=check, config=config)()
    assert {200} < answered, f"{name} was answered with {answered} alone"


def test_what_links_lead_to_is_described(things: Things, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks, and goes on with what was answered, as far as the description's links lead; what is
    submitted is proven meanwhile.
    """
    # It guesses that nobody could submit, because nothing makes the chains that are named there.
    monkeypatch.setattr(
        stateful, "is_likely_root_transition", lambda operation, *_: not operation.path_parameters
    )
    schema = described(generation={"mode": "positive"})
    schema.hook("map_body")(lambda context, body: things.body_for(context.operation.path, body))
    followed, chains = set(), things.prover.chains()

    class Client(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, _case: Case[Any]) -> dict[str, Any]:
            return {"headers": {"api-key": things.prover.key}, "base_url": SITE}

        def after_call(self, response: Response, case: Case[Any]) -> None:
            super().after_call(response, case)
            if _name_of(case) == "submitBatchQuery" and response.status_code == 200:
                things.prover.work(response.json()["internalId"], chains=chains)

        def validate_response(self, response: Response, case: Case[Any], **options: Any) -> None:
            # Of whom a key lets in, the test above asks with wrong keys as well.
            left_out: list[Any] = [positive_data_acceptance, ignored_auth]
            case.validate_response(response, excluded_checks=left_out, transport_kwargs=options)
            _is_no_fault(case, response)
            name, told = _name_of(case), response.json()
            followed.add((name, response.status_code, told.get("queryStatus", "")))

    few = settings(some, stateful_step_count=15)
    run_state_machine_as_test(seed(SEED)(Client), settings=few)
    chains.close()
    assert {
        ("submitBatchQuery", 200, ""),
        ("batchQueryStatus", 200, "DONE"),
        ("batchProof", 200, ""),
        ("replayWebhook", 200, ""),
    } <= followed


def _name_of(case: Case[Any]) -> str:
    return str(case.operation.definition.raw["operationId"])


def _is_no_fault(case: Case[Any], response: Response) -> None:
    assert response.status_code != 503 or _name_of(case) in ASKS_NODES, response.text
