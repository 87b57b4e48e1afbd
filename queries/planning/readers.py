"""Connections to the chains of the routes file, with briefly cached heads."""

import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

from queries.chain.answers import ChainHead
from queries.chain.client import ChainClient
from queries.chain.registry import RegistryFacts
from queries.config.limits import Limits
from queries.config.registries import Registry
from queries.config.routes import Chain, Routes
from queries.planning.dry_runs import CallEstimator
from queries.proving.keccak import keccak256

Value = TypeVar("Value")

# An address without funds: nodes do not check the balance if a call names no gas price.
NO_SIGNER = f"0x{keccak256(b'Tacitus asks what a proof would cost')[-20:].hex()}"


@dataclass
class ChainReaders:
    """Reads chains, for one thread. Sends and stores nothing."""

    routes: Routes
    _: KW_ONLY
    deadline: float = math.inf  # monotonic time after which no node is asked
    head_cache_seconds: float = 0.0  # 0: the limit of this name
    _clients: dict[int, ChainClient] = field(default_factory=dict, init=False)
    _cache: dict[tuple[str, int], tuple[float, object]] = field(default_factory=dict, init=False)

    @property
    def limits(self) -> Limits:
        return self.routes.limits

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def client(self, chain_id: int) -> ChainClient:
        if chain_id not in self._clients:
            self._clients[chain_id] = ChainClient(self.chain(chain_id), deadline=self.deadline)
        return self._clients[chain_id]

    @property
    def sender(self) -> str:
        """The `from` of dry runs."""
        return NO_SIGNER

    def facts(self, registry: Registry) -> RegistryFacts:
        return RegistryFacts(self.client(registry.destination), registry)

    def estimator(self, registry: Registry) -> CallEstimator:
        return CallEstimator(self.client(registry.destination), registry.address, self.sender)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, cached."""
        return self._read_cached(("head", chain_id), partial(self._read_head, chain_id))

    def _read_head(self, chain_id: int) -> ChainHead:
        return self.client(chain_id).head()

    def latest(self, chain_id: int) -> ChainHead:
        """The latest block, cached. The final number may be left out, which saves a request."""
        client = self.client(chain_id)
        if client.chain.finality is not None:
            return self.head(chain_id)
        return self._read_cached(("latest", chain_id), partial(client.head, known_final=0))

    def last_seen(self, chain_id: int) -> ChainHead:
        """The latest block that was read, whatever its age."""
        entries = [self._cache.get((name, chain_id)) for name in ("head", "latest")]
        _, head = max(filter(None, entries))
        return cast("ChainHead", head)

    def _read_cached(self, key: tuple[str, int], read: Callable[[], Value]) -> Value:
        """The result of `read`, cached for `head_cache_seconds`."""
        read_at, value = self._cache.get(key, (-math.inf, None))
        max_age = self.head_cache_seconds or self.limits.head_cache_seconds
        if value is None or time.monotonic() > read_at + max_age:
            value = read()
            self._cache[key] = time.monotonic(), value
        return cast("Value", value)

    def rotate(self, attempt: int, *chain_ids: int) -> None:
        """Attempt n asks each chain's n-th node first, counted from 0 and round robin."""
        for chain_id in chain_ids:
            if self.client(chain_id).rotate(attempt):
                self._cache.pop(("head", chain_id), None)
                self._cache.pop(("latest", chain_id), None)

    def provable_head(self, registry: Registry) -> ChainHead:
        """The head. Its final number is the newest block that may be proven to this registry."""
        head = self.head(registry.source)
        finality = self.chain(registry.source).finality_for(registry.destination)
        if finality is None:
            return head
        return replace(head, final_number=max(head.number - finality, 0))

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
