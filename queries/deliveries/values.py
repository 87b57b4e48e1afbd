"""The values that placeholders stand for, from what was stored when the batch was proven."""

from collections.abc import Sequence
from functools import cached_property

from queries.chain.client import ChainClient
from queries.database import stored_proofs
from queries.models import Batch, Fact, Query
from queries.planning.readers import ChainReaders
from queries.planning.witness import make_witnesses
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.keccak import number_word
from queries.proving.witnesses import AccountField


class BatchValues:
    """The values of a DONE batch, for a call's placeholders (`CallValues`).

    What is not stored is fetched from the source and checked: proofs of facts that others had
    proven, and all that a batch needs which proves nothing.
    """

    def __init__(self, batch: Batch, chains: ChainReaders) -> None:
        self._batch, self._chains = batch, chains

    @cached_property
    def _queries(self) -> list[Query]:
        return list(self._batch.queries.select_related("job").order_by("position"))

    @cached_property
    def _source(self) -> ChainClient:
        return self._chains.client(self._queries[0].source)

    @cached_property
    def _header(self) -> Header:
        query = self._queries[0]
        if query.job and query.job.header:
            return decode_header(query.job.header)
        return self._source.ask_quorum(ChainClient.header, query.block or 0)

    def block_number(self) -> int | None:
        return self._queries[0].block

    def header(self) -> Header | None:
        return self._header

    def registry(self) -> str | None:
        route = self._queries[0].source, self._batch.destination
        registry = self._chains.routes.registries.get(route)
        return registry.address if registry else None

    def word(self, account: str, fact: str) -> bytes | None:
        if not self._batch.proves:
            return self._checked_word(account, fact)
        facts = Fact.objects.filter(job=self._queries[0].job, account=self._address(account))
        word: bytes | None = facts.filter(name=fact).values_list("word", flat=True).first()
        return word

    def _checked_word(self, account: str, name: str) -> bytes | None:
        if not account:
            return self._header.word(HeaderField[name])
        if name in AccountField.__members__:
            return self._proof(account).state.words[AccountField[name]]
        (slot_proof,) = self._proof(account, int(name, 16)).slots
        return number_word(slot_proof.value)

    def account_nodes(self, account: str) -> Sequence[bytes] | None:
        return [node.encode() for node in self._proof(account).path.nodes]

    def slot_nodes(self, account: str, slot: bytes) -> Sequence[bytes] | None:
        (slot_proof,) = self._proof(account, int.from_bytes(slot)).slots
        return [node.encode() for node in slot_proof.path.nodes]

    def witness(self) -> bytes | None:
        witnesses = make_witnesses(self._chains, self._batch.destination, self._queries)
        return witnesses[0].proof

    def _address(self, account: str) -> str:
        """The checksummed address of an account that may be an ENS name."""
        addresses = {query.name: query.account for query in self._queries if query.name}
        return addresses.get(account, account)

    def _proof(self, account: str, *slots: int) -> AccountProof:
        requested = [(bytes.fromhex(self._address(account)[2:]), slots)]
        if job := self._queries[0].job:
            proofs, missing = stored_proofs.read_accounts(job, self._header, requested)
            if not missing:
                return proofs[0]
        (proof,) = self._source.account_proofs(self._header, requested)
        return proof
