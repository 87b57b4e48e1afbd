"""A signer of an attested registry, with nodes of his own.

He speaks of final blocks alone: the registry keeps the first word for ever. Which registry he signs
for is his own routes' word, and which hash a block has is that of his nodes.
"""

from collections.abc import Iterable

from queries.attestations import SignedWord
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.errors import BlockBeyondHead
from queries.proving.attestations import Attested
from queries.routes import Registry, Routes


class Speaker:
    """For one registry and one thread."""

    def __init__(self, routes: Routes, registry: Registry, signer: Signer) -> None:
        self.routes = routes
        self.registry = registry
        self.signer = signer
        self._source = SourceChain(routes.chains[registry.source])

    def word_on(self, block: int) -> SignedWord:
        head = self._source.head()
        if not 0 <= block <= head.final_number:
            raise BlockBeyondHead(
                f"Block {block:,} is not final: the last final one is {head.final_number:,}."
            )
        return self._word_on(block)

    def words_on(self, blocks: Iterable[int]) -> list[SignedWord]:
        """Of those that are final by now."""
        final = self._source.head().final_number
        return [self._word_on(block) for block in sorted(blocks) if block <= final]

    def _word_on(self, block: int) -> SignedWord:
        told = Attested(
            self.registry.source,
            self.registry.destination,
            bytes.fromhex(self.registry.address[2:]),
            block,
            self._source.header(block).hash,
        )
        return SignedWord(told, self.signer.sign_digest(told.digest))
