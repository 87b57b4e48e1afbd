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
from django.utils import timezone
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
from ulid import ULID

from queries import deliveries
from queries.api import attestation_views, estimating
from queries.api.openapi import document
from queries.api.request_schema import SPECIFICATION_EXAMPLE
from queries.models import Batch, WebhookDelivery
from tests.queries.api.served_api import HERE, LIMITS, make_key, submitted
from tests.queries.tries.fuzzing import CASES, SEED

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
SITE = "http://testserver"
# No node answers an estimate here, which is told with 503; a fault of ours is 500.
NO_FAULT = {"checks": {"not_a_server_error": {"expected-statuses": ["2XX", "4XX", "503"]}}}
FAR = 10**9


def described(**configuration: object) -> Any:
    config = SchemathesisConfig.from_dict(NO_FAULT | configuration)
    schema = schemathesis.openapi.from_dict(document(LIMITS, SITE), config=config)
    schema.app = WSGIHandler()
    return schema


SCHEMA = described()
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations()}
some = settings(
    max_examples=CASES // 10,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def key(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Its limits are far, and the test's transaction outlives each request."""
    settings.REQUESTS_PER_MINUTE = FAR
    monkeypatch.setattr(estimating, "A_MINUTE", FAR)
    monkeypatch.setattr(estimating, "SECONDS", 0)
    monkeypatch.setattr(attestation_views, "A_MINUTE", FAR)
    monkeypatch.setattr(deliveries, "REPLAYS_AN_HOUR", FAR)
    key = make_key()
    _one_webhook_was_sent(key)
    around = (signals.request_started, signals.request_finished)
    for signal in around:
        signal.disconnect(close_old_connections)
    yield key
    for signal in around:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_is_described(name: str, key: str) -> None:
    """Examples, each value at its bounds, and random ones, right and wrong."""
    operation = OPERATIONS[name]
    # A body can have the right shape and ask for a chain that is not there.
    left_out: list[Any] = [positive_data_acceptance] if operation.body else []
    answered = set()

    def check(case: Case[Any]) -> None:
        response = case.call_and_validate(SITE, headers={"api-key": key}, excluded_checks=left_out)
        answered.add(response.status_code)

    config = HypothesisTestConfig(
        project=SCHEMA.config, modes=list(HypothesisTestMode), settings=some, seed=SEED
    )
    create_test(operation=operation, test_func=check, config=config)()
    assert len(answered) > 1


def test_what_links_lead_to_is_described(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One asks, and goes on with what was answered, as far as the description's links lead."""
    # It guesses that nobody could submit, because nothing makes the chains that are named there.
    monkeypatch.setattr(
        stateful,
        "is_likely_root_transition",
        lambda operation, *_: not operation.path_parameters,
    )
    schema = described(generation={"mode": "positive"})
    schema.hook("map_body")(_of_a_known_chain)
    followed = set()

    class Client(schema.as_state_machine()):  # type: ignore[misc]
        def get_call_kwargs(self, _case: Case[Any]) -> dict[str, Any]:
            return {"headers": {"api-key": key}, "base_url": SITE}

        def validate_response(self, response: Response, case: Case[Any], **options: Any) -> None:
            # Of whom a key lets in, the test above asks with wrong keys as well.
            left_out: list[Any] = [positive_data_acceptance, ignored_auth]
            case.validate_response(response, excluded_checks=left_out, transport_kwargs=options)
            followed.add((case.operation.definition.raw["operationId"], response.status_code))

    few = settings(some, max_examples=max(CASES // 30, 5), stateful_step_count=10)
    run_state_machine_as_test(seed(SEED)(Client), settings=few)
    assert {
        (name, 200) for name in ("submitBatchQuery", "batchQueryStatus", "replayWebhook")
    } <= followed


def _of_a_known_chain(_context: object, body: Any) -> Any:
    """What is right by its shape alone seldom asks for a block of a chain that is there."""
    return body | SPECIFICATION_EXAMPLE if isinstance(body, dict) else body


def _one_webhook_was_sent(key: str) -> None:
    webhook = {"url": "https://example.org/hook"}
    batch = Batch.objects.get(pk=submitted(key, SPECIFICATION_EXAMPLE | {"webhook": webhook}))
    WebhookDelivery.objects.create(
        id=str(ULID()), batch=batch, owner=batch.owner, created=timezone.now()
    )
