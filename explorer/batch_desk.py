"""What the page of a new batch has done for it, by the same functions as the API."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from accounts import api_keys
from accounts.key_check import count_request
from accounts.sessions import account_of
from queries.api.estimating import estimated
from queries.api.views import submitted
from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from queries.routes import Chain, Routes
from queries.schema.batch_rules import BatchLimits, rules_from
from queries.schema.batch_schema import read_batch
from queries.schema.places import Place
from queries.schema.strict_json import read_json

PROPS = tuple(each.name for each in AccountField)
HEADER_FIELDS = tuple(each.name for each in HeaderField)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch that was taken in, and what was said to it."""

    batch: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchDesk:
    """Of the configured routes and limits."""

    routes: Routes
    limits: BatchLimits

    def destinations(self) -> tuple[Chain, ...]:
        reached = {destination for _, destination in self.routes.registries}
        return tuple(chain for chain in self.routes.chains.values() if chain.id in reached)

    def sources_of(self, destination: str) -> tuple[Chain, ...]:
        """The chains whose facts can be read there."""
        return tuple(
            chain
            for chain in self.routes.chains.values()
            if any(
                str(to) == destination and source == chain.id
                for source, to in self.routes.registries
            )
        )

    def is_free(self, destination: str) -> bool:
        return any(chain.free for chain in self.destinations() if str(chain.id) == destination)

    def currency(self, destination: str) -> str:
        """What a fee is counted in there."""
        named = (chain for chain in self.destinations() if str(chain.id) == destination)
        return next((chain.currency for chain in named), "ETH")

    def read(self, content: dict[str, object]) -> None:
        """Refuse what submitting would refuse whoever asks."""
        read_batch(self._as_sent(content), rules_from(self.routes, self.limits))

    def estimate(
        self, request: HttpRequest, key_id: str, content: dict[str, object]
    ) -> Mapping[str, Any]:
        """What POST /estimate answers with this key, or its refusal."""
        key = count_request(account_of(request), key_id)
        return estimated(key, self._as_sent(content), self.routes, self.limits).content()

    def submit(
        self, request: HttpRequest, key_id: str, content: dict[str, object], idempotency_key: str
    ) -> Submitted:
        """What POST /submit-batch-query does with this key, or its refusal."""
        key = count_request(account_of(request), key_id)
        batch = submitted(key, self._as_sent(content), idempotency_key, self.routes, self.limits)
        return Submitted(batch.id, tuple(each["sentence"] for each in batch.warnings))

    def make_key(self, request: HttpRequest) -> str:
        """As the dashboard's form does; its id."""
        owner = account_of(request)
        api_keys.count_change(owner)
        return api_keys.add_key(owner, api_keys.FIRST_NAME).id

    def _as_sent(self, content: dict[str, object]) -> object:
        """Read like the body of a request, so that it is bounded and storable like one."""
        return read_json(json.dumps(content).encode(), self.limits.body_bytes)


def path_of(steps: tuple[str | int, ...]) -> str:
    """How a refusal calls this place of a request."""
    return Place(steps).path
