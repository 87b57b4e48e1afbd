"""A service with a DONE batch, its webhook, a block that waits for attestations, and a chain whose
node is of another chain.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.test import override_settings
from eth_abi.abi import encode
from schemathesis import Case

from explorer.demo.local_node import LocalNode
from queries.api.lookup_questions import ARGUMENT_TYPES, SELECTOR
from queries.config.chains import NodeAddress
from queries.engines import POST
from queries.models import Query, WebhookPost
from queries.prover.handlers import work_once
from queries.selectors import DUE_TIME
from queries.sources.routes import Routes
from tests.queries.api.example_attestations import BLOCK, attestation, make_waiting_queries
from tests.queries.api.served_api import LIMITS, OTHER_WALLET, ROUTES, SEPOLIA, made_feed, submitted
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, ended_batch, running_service
from tests.queries.schema.example_batches import without

NO_RECEIVER = "http://127.0.0.1:9/"


@dataclass(frozen=True)
class ExistingObjects:
    """Objects that requests can be about."""

    prover: Service  # knows only the local chain
    bodies: Mapping[str, Mapping[str, Any]]  # by path
    ids: dict[str, str]  # by parameter
    waiting: str  # a batch without a signed transaction

    def ids_for(self, path: str) -> Mapping[str, str]:
        """Ids for this path; only the waiting batch can be cancelled."""
        return self.ids | {"batch": self.waiting} if path.endswith("/cancel") else self.ids

    def with_existing_ids(self, case: Case[Any]) -> Case[Any] | None:
        """The same request with existing ids, if it has any ids."""
        same, path = case.derive(keep_auth=True), case.operation.path
        if path in self.bodies:
            same.body = self.existing_body(path, same.body)
            return same
        has_ids = False
        for parameters in (same.path_parameters, same.query):
            for name in set(parameters) & set(self.ids):
                parameters[name] = self.ids_for(path)[name]
                has_ids = True
        return same if has_ids else None

    def existing_body(self, path: str, body: Any) -> Any:
        """The body with existing chains and blocks."""
        return {**body, **self.bodies.get(path, {})} if isinstance(body, dict) else body


@contextmanager
def existing_objects(node: LocalNode) -> Iterator[ExistingObjects]:
    wrong_node = replace(ROUTES.chains[SEPOLIA], nodes=(NodeAddress(node.url),))
    routes = replace(ROUTES, chains={**ROUTES.chains, SEPOLIA: wrong_node})
    with (
        override_settings(ALLOW_PRIVATE_WEBHOOKS=True),
        running_service(node, other_routes=routes, limits=LIMITS) as service,
    ):
        chain, route = service.routes.chains[CHAIN_ID], (CHAIN_ID, CHAIN_ID)
        local_routes = Routes({CHAIN_ID: chain}, {route: service.routes.registries[route]})
        prover = replace(service, routes=local_routes)
        batch = ended_batch(prover, NO_RECEIVER)
        assert work_once(POST, prover.context())
        make_waiting_queries(BLOCK)
        block = Query.objects.filter(batch=batch).values_list("block", flat=True).get()
        # The batch has proven the first account.
        accounts = {account: {"props": ["BALANCE"]} for account in (HOLDER, OTHER_WALLET)}
        body = {
            "destinationChainId": str(CHAIN_ID),
            "fee": "0",
            "data": {str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}},
        }
        without_fee = without(body, "fee")
        words = CHAIN_ID, service.routes.registries[route].address, (1, HOLDER, block, 1, 0)
        lookup = f"0x{(SELECTOR + encode(ARGUMENT_TYPES, words)).hex()}"
        feed = {
            "every": "1 hour",
            "batch": body | {"data": {str(CHAIN_ID): {DUE_TIME: {"accounts": accounts}}}},
        }
        event = WebhookPost.objects.values_list("pk", flat=True).get()
        yield ExistingObjects(
            prover,
            {
                "/submit-batch-query": body,
                "/estimate": without_fee,
                "/witness": without_fee,
                "/submit-request": {"destination_chain_id": str(CHAIN_ID), "data": body["data"]},
                "/attestations": attestation(),
                "/ccip": {"data": lookup},
                "/feeds": feed,
            },
            {
                "batch": batch,
                "call_data": lookup,
                "batchQueryId": batch,
                "event": event,
                "feed": made_feed(prover.key, feed),
                "request_id": batch,
                "destination": str(CHAIN_ID),
                "query_id": f"{batch}-0",
            },
            submitted(prover.key, body),
        )
