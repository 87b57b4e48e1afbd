"""The chains as a worker knows them: connections that it keeps, and what it last saw of them."""

import logging
import time
from dataclasses import dataclass, field

from queries.chain.destination import Destination
from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead
from queries.chain.registry_facts import RegistryFacts
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.pipeline import heads
from queries.pipeline.lane import Lane
from queries.routes import Chain, Registry, Routes

log = logging.getLogger("tacitus.prover")

HEAD_IS_FRESH = 0.25  # seconds


@dataclass
class Chains:
    """For one thread: its connections are not shared."""

    routes: Routes
    signer: Signer
    _sources: dict[int, SourceChain] = field(default_factory=dict)
    _destinations: dict[int, Destination] = field(default_factory=dict)
    _heads: dict[int, tuple[float, ChainHead]] = field(default_factory=dict)

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def source(self, chain_id: int) -> SourceChain:
        if chain_id not in self._sources:
            self._sources[chain_id] = SourceChain(self.chain(chain_id))
        return self._sources[chain_id]

    def destination(self, chain_id: int) -> Destination:
        if chain_id not in self._destinations:
            self._destinations[chain_id] = Destination(self.chain(chain_id))
        return self._destinations[chain_id]

    def lane(self, chain_id: int) -> Lane:
        return Lane(self.destination(chain_id), chain_id, self.signer)

    def facts(self, registry: Registry) -> RegistryFacts:
        return RegistryFacts(self.destination(registry.destination), registry)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, not older than a moment; what submitting compares with is kept."""
        known = self._heads.get(chain_id)
        if known and time.monotonic() < known[0] + HEAD_IS_FRESH:
            return known[1]
        head = self.source(chain_id).head()
        self._heads[chain_id] = (time.monotonic(), head)
        heads.record(chain_id, head)
        return head

    def look_at_heads(self) -> None:
        """Those of all source chains, where no worker has for a second."""
        for source in {source for source, _ in self.routes.registries}:
            if heads.claim(source):
                try:
                    self.head(source)
                except ChainError as fault:
                    log.warning("%s", fault)
