"""A service with a DONE batch, its webhook, a block that waits for attestations, and a chain whose
node is of another chain.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.test import override_settings
from schemathesis import Case

from explorer.demo.local_node import LocalNode
from queries.config.limits import Limits
from queries.config.routes import NodeAddress, Routes
from queries.models import Query, WebhookDelivery
from queries.prover.worker import deliver_once
from tests.queries.api.served_api import LIMITS, OTHER_WALLET, ROUTES, SEPOLIA, submitted
from tests.queries.api.signed_words import BLOCK, wait_for, word
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, ended_batch, running_service
from tests.queries.schema.example_batches import without

NO_SIGNER = "http://127.0.0.1:9/"  # listens there


@dataclass(frozen=True)
class Things:
    """The existing objects, and the requests for them."""

    prover: Service  # knows only the local chain
    bodies: Mapping[str, Mapping[str, Any]]  # by path
    named: dict[str, str]  # by parameter
    waiting: str  # a batch without a signed transaction

    def named_at(self, path: str) -> Mapping[str, str]:
        """Only a batch that waits can be cancelled."""
        return self.named | {"batch": self.waiting} if path.endswith("/cancel") else self.named

    def instead_of(self, case: Case[Any]) -> Case[Any] | None:
        """The same request with existing ids, if it has any ids."""
        same, path = case.derive(keep_auth=True), case.operation.path
        if path in self.bodies:
            same.body = self.body_for(path, same.body)
            return same
        known = False
        for held in (same.path_parameters, same.query):
            for name in set(held) & set(self.named):
                held[name] = self.named_at(path)[name]
                known = True
        return same if known else None

    def body_for(self, path: str, body: Any) -> Any:
        """The body with existing chains and blocks."""
        return {**body, **self.bodies.get(path, {})} if isinstance(body, dict) else body


@contextmanager
def things_to_ask_for(node: LocalNode) -> Iterator[Things]:
    elsewhere = replace(ROUTES.chains[SEPOLIA], nodes=(NodeAddress(node.url),))
    beside = replace(ROUTES, chains={**ROUTES.chains, SEPOLIA: elsewhere})
    with (
        override_settings(WEBHOOKS_TO_PRIVATE=True),
        running_service(node, beside=beside, limits=LIMITS) as service,
    ):
        of_here, route = service.routes.chains[CHAIN_ID], (CHAIN_ID, CHAIN_ID)
        alone = Routes({CHAIN_ID: of_here}, {route: service.routes.registries[route]})
        prover = replace(service, routes=alone)
        batch = ended_batch(prover, NO_SIGNER)
        assert deliver_once(Limits())
        wait_for(BLOCK)
        block = Query.objects.filter(batch=batch).values_list("block", flat=True).get()
        # One of them is proven.
        wanted = {account: {"props": ["BALANCE"]} for account in (HOLDER, OTHER_WALLET)}
        asked = {
            "destinationChainId": str(CHAIN_ID),
            "fee": "0",
            "data": {str(CHAIN_ID): {f"block:{block}": {"accounts": wanted}}},
        }
        without_fee = without(asked, "fee")
        event = WebhookDelivery.objects.values_list("pk", flat=True).get()
        yield Things(
            prover,
            {
                "/submit-batch-query": asked,
                "/estimate": without_fee,
                "/witness": without_fee,
                "/submit-request": {"destination_chain_id": str(CHAIN_ID), "data": asked["data"]},
                "/attestations": word(),
            },
            {
                "batch": batch,
                "batchQueryId": batch,
                "event": event,
                "request_id": batch,
                "query_id": f"{batch}-0",
            },
            submitted(prover.key, asked),
        )
