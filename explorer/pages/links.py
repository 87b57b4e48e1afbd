"""Names, links and trust of chains and registries, and the converters of URL parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls.converters import IntConverter, StringConverter

from queries.reading import MAX_BIGINT
from queries.schema.bodies import ADDRESS
from queries.sources import Registry, Routes


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Names and URLs by the configured routes; other chains have a number, but no name."""

    routes: Routes

    def chain_name(self, chain_id: int) -> str:
        chain = self.routes.chains.get(chain_id)
        return chain.name if chain else f"Chain {chain_id}"

    def chains_by_name(self) -> Mapping[str, int]:
        """Ids by names, aliases and ids, in lower case and with single spaces."""
        names = {
            " ".join(name.lower().split()): chain.id
            for chain in self.routes.chains.values()
            for name in (*chain.aliases, chain.name)
        }
        return names | {str(chain): chain for chain in self.routes.chains}

    @property
    def sources(self) -> list[int]:
        return sorted({source for source, _ in self.routes.registries})

    def target(self, source: int) -> int:
        """A destination of this source: itself, if it can be."""
        targets = [target for route, target in self.routes.registries if route == source]
        return source if source in targets else targets[0]

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def registries_at(self, address: str) -> list[Registry]:
        """`address`: 40 hex digits in lower case."""
        registries = self.routes.registries.values()
        return [registry for registry in registries if registry.address[2:].lower() == address]

    def currency(self, chain_id: int) -> str:
        chain = self.routes.chains.get(chain_id)
        return chain.currency if chain else "ETH"

    def registry_address(self, source: int, destination: int) -> str:
        """The address of the route's registry; empty if the route is not configured any more."""
        registry = self.registry(source, destination)
        return registry.address if registry else ""

    def transaction_link(self, chain_id: int, transaction_hash: str) -> str:
        return self._explorer_link(chain_id, f"tx/{transaction_hash}")

    def account_link(self, chain_id: int, address: str) -> str:
        return self._explorer_link(chain_id, f"address/{address}")

    def block_link(self, chain_id: int, number: int) -> str:
        return self._explorer_link(chain_id, f"block/{number}")

    def _explorer_link(self, chain_id: int, path: str) -> str:
        """Empty if the operator has configured no explorer for the chain."""
        chain = self.routes.chains.get(chain_id)
        return f"{chain.explorer.rstrip('/')}/{path}" if chain and chain.explorer else ""


# Not by `reverse`, which took a tenth of the time of a page with many facts.


def account_url(address: str, source: int) -> str:
    return f"/explorer/account/{address}?chain={source}"


def query_url(batch_id: str, position: int) -> str:
    return f"/explorer/query/{batch_id}?query={position}#query-{position}"


def block_url(chain: int, number: int) -> str:
    return f"/explorer/block/{chain}/{number}"


def page_links(request: HttpRequest) -> dict[str, object]:
    """A context processor: the `links` of the page's URL."""
    match = request.resolver_match
    return {"links": match.kwargs["links"]} if match and "links" in match.kwargs else {}


class WholeNumber(IntConverter):
    """A chain id or a block number, without leading zeros."""

    regex = "0|[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        if int(value) > MAX_BIGINT:
            raise ValueError(value)  # Django answers 404
        return int(value)


class HexDigits(StringConverter):
    """Strips the 0x and lowers the digits; links keep the case of a checksum."""

    def to_python(self, value: str) -> str:
        return value[2:].lower()


class AccountAddress(HexDigits):
    regex = ADDRESS


class TransactionHash(HexDigits):
    regex = "0x[0-9a-fA-F]{64}"
