"""Connections to the chains of the routes file, with heads that are read once for a moment."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

from queries.chain.reader import ChainHead, SourceChain
from queries.chain.registry import RegistryFacts
from queries.chain.sender import Destination
from queries.config.limits import Limits
from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Chain, Routes
from queries.planning.pricing import Pricing
from queries.proving.keccak import keccak256

Value = TypeVar("Value")

# An address without funds: nodes check no balance when a call names no gas price.
NO_SIGNER = f"0x{keccak256(b'Tacitus asks what a proof would cost')[-20:].hex()}"


@dataclass
class ChainReaders:
    """For one thread: its connections are not shared. Nothing is sent, and nothing is stored."""

    routes: Routes
    until: float = field(default=math.inf, kw_only=True)  # monotonic: nothing is asked after it
    head_age: float = field(default=0.0, kw_only=True)  # seconds; 0: the limit of that name
    _open: dict[int, Destination] = field(default_factory=dict, init=False)
    _known: dict[tuple[str, int], tuple[float, object]] = field(default_factory=dict, init=False)

    @property
    def limits(self) -> Limits:
        return self.routes.limits

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def depth(self, chain_id: int) -> int:
        """How many blocks deep a fact must be to count; its own block is the first."""
        return max(self.chain(chain_id).confirmations, 1)

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def source(self, chain_id: int) -> SourceChain:
        return self.destination(chain_id)

    def destination(self, chain_id: int) -> Destination:
        if chain_id not in self._open:
            self._open[chain_id] = Destination(self.chain(chain_id), until=self.until)
        return self._open[chain_id]

    @property
    def sender(self) -> str:
        """The `from` of dry runs."""
        return NO_SIGNER

    def facts(self, registry: Registry) -> RegistryFacts:
        return RegistryFacts(self.destination(registry.destination), registry)

    def pricing(self, registry: Registry) -> Pricing:
        return Pricing(self.destination(registry.destination), registry.address, self.sender)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, which submissions are compared with as well."""
        return self._recent(("head", chain_id), partial(self._read_head, chain_id))

    def _read_head(self, chain_id: int) -> ChainHead:
        return self.source(chain_id).head()

    def newest(self, chain_id: int) -> ChainHead:
        """The newest block. Its final number is not asked for."""
        one = self.destination(chain_id)
        return self._recent(("newest", chain_id), partial(one.head, known_final=0))

    def _recent(self, key: tuple[str, int], read: Callable[[], Value]) -> Value:
        """What `read` returns, or what it returned less than `head_age` ago."""
        since, known = self._known.get(key, (-math.inf, None))
        if known is None or time.monotonic() > since + (self.head_age or self.limits.head_age):
            known = read()
            self._known[key] = time.monotonic(), known
        return cast("Value", known)

    def ask_first(self, attempt: int, *chain_ids: int) -> None:
        """Attempt n asks the operator's n-th node of each chain first, from 0 and round robin."""
        for each in chain_ids:
            if self.destination(each).ask_first(attempt):
                self._known.pop(("head", each), None)
                self._known.pop(("newest", each), None)

    def provable_head(self, registry: Registry) -> ChainHead:
        """The head. Its final block is the newest one that may be proven to this registry."""
        head = self.head(registry.source)
        if registry.kind is not RegistryKind.NATIVE:
            return head
        return replace(head, final_number=head.number - self.chain(registry.source).native_finality)

    def close(self) -> None:
        for each in self._open.values():
            each.close()
