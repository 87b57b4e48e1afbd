"""Addresses: those of pages and of public explorers, and the parts that an address is made of."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls.converters import IntConverter, StringConverter

from queries.config.registries import Registry
from queries.config.routes import Routes
from queries.reading.pagination import GREATEST
from queries.schema.bodies import ADDRESS


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

    def registries_at(self, address: str) -> list[Registry]:
        """`address`: 40 hex digits in lower case."""
        registries = self.routes.registries.values()
        return [each for each in registries if each.address[2:].lower() == address]

    def currency(self, chain_id: int) -> str:
        """What its balances are counted in."""
        chain = self.routes.chains.get(chain_id)
        return chain.currency if chain else "ETH"

    def registry_address(self, source: int, destination: int) -> str:
        """The address of the registry that a route's facts are in; empty where it has none now."""
        registry = self.registry(source, destination)
        return registry.address if registry else ""

    def transaction_link(self, chain_id: int, transaction_hash: str) -> str:
        return self._at(chain_id, f"tx/{transaction_hash}")

    def account_link(self, chain_id: int, address: str) -> str:
        return self._at(chain_id, f"address/{address}")

    def block_link(self, chain_id: int, number: int) -> str:
        return self._at(chain_id, f"block/{number}")

    def _at(self, chain_id: int, what: str) -> str:
        """Empty where the operator has named no explorer of the chain."""
        chain = self.routes.chains.get(chain_id)
        return f"{chain.explorer.rstrip('/')}/{what}" if chain and chain.explorer else ""


class WholeNumber(IntConverter):
    """A chain's id or a block's number, in the one way to write it."""

    regex = "0|[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        if int(value) > GREATEST:
            raise ValueError(value)  # Django's way to say that nothing is there
        return int(value)


class HexDigits(StringConverter):
    """`0x` and so many digits, in any letter case; without the 0x it is another address.

    A link spells them as they are, so that a checksum's capitals stay.
    """

    def to_python(self, value: str) -> str:
        return value[2:].lower()


class AccountAddress(HexDigits):
    regex = ADDRESS


class TransactionHash(HexDigits):
    regex = "0x[0-9a-fA-F]{64}"
