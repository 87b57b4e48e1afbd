"""What the placeholders of a call stand for, whatever block their proofs are from."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from queries.chain import ChainClient
from queries.models import Query
from queries.planning.readers import ChainReaders
from queries.proving import AccountProof, Header


class BlockValues(ABC):
    """The values of queries of one block (`CallValues`). Subclasses say where proofs come from."""

    def __init__(self, chains: ChainReaders, destination: int, queries: Sequence[Query]) -> None:
        self._chains, self._destination, self._queries = chains, destination, queries

    @cached_property
    def _source(self) -> ChainClient:
        return self._chains.client(self._queries[0].source)

    @abstractmethod
    def block_number(self) -> int | None: ...

    @abstractmethod
    def header(self) -> Header: ...

    @abstractmethod
    def word(self, account: str, fact: str) -> bytes | None: ...

    @abstractmethod
    def witness(self) -> bytes | None: ...

    @abstractmethod
    def _read_proof(self, account: bytes, slots: Sequence[int]) -> AccountProof:
        """A checked proof of the account and these slots."""

    def registry(self) -> str | None:
        registry = self._chains.registry(self._queries[0].source, self._destination)
        return registry.address if registry else None

    def account_nodes(self, account: str) -> Sequence[bytes]:
        return [node.encode() for node in self._proof(account).path.nodes]

    def slot_nodes(self, account: str, slot: bytes) -> Sequence[bytes]:
        (slot_proof,) = self._proof(account, int.from_bytes(slot)).slots
        return [node.encode() for node in slot_proof.path.nodes]

    def _address(self, account: str) -> str:
        """The checksummed address of an account that may be an ENS name."""
        addresses = {query.name: query.account for query in self._queries if query.name}
        return addresses.get(account, account)

    def _proof(self, account: str, *slots: int) -> AccountProof:
        return self._read_proof(bytes.fromhex(self._address(account)[2:]), slots)
