"""What pages call a chain, and where else what they name can be looked at."""

from collections.abc import Mapping
from dataclasses import dataclass

from queries.routes import Registry, Routes


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Of the configured routes; a chain that is no longer among them has its number alone."""

    routes: Routes

    def chain_name(self, chain_id: int) -> str:
        chain = self.routes.chains.get(chain_id)
        return chain.name if chain else f"Chain {chain_id}"

    def chains_called(self) -> Mapping[str, int]:
        """Ids by all that a chain is called, in lower case and with single spaces."""
        called = {
            " ".join(name.lower().split()): chain.id
            for chain in self.routes.chains.values()
            for name in (*chain.aliases, chain.name)
        }
        return called | {str(chain): chain for chain in self.routes.chains}

    @property
    def sources(self) -> list[int]:
        """Chains whose past is proven."""
        return sorted({source for source, _ in self.routes.registries})

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def registries_at(self, address: str, destination: int | None = None) -> tuple[Registry, ...]:
        """`address`: 40 hex digits in lower case."""
        return tuple(
            each
            for each in self.routes.registries.values()
            if each.address[2:].lower() == address and destination in {None, each.destination}
        )

    def currency(self, chain_id: int) -> str:
        """What its balances are counted in."""
        chain = self.routes.chains.get(chain_id)
        return chain.currency if chain else "ETH"

    def registry_address(self, source: int, destination: int) -> str:
        """The address of the registry that a route's facts are in; empty where it has none now."""
        registry = self.routes.registries.get((source, destination))
        return registry.address if registry else ""

    def transaction(self, chain_id: int, transaction_hash: str) -> str:
        return self._at(chain_id, f"tx/{transaction_hash}")

    def account(self, chain_id: int, address: str) -> str:
        return self._at(chain_id, f"address/{address}")

    def block(self, chain_id: int, number: int) -> str:
        return self._at(chain_id, f"block/{number}")

    def _at(self, chain_id: int, what: str) -> str:
        """Empty where the operator has named no explorer of the chain."""
        chain = self.routes.chains.get(chain_id)
        return f"{chain.explorer.rstrip('/')}/{what}" if chain and chain.explorer else ""
