"""The values that placeholders stand for, from what was stored when the batch was proven."""

from collections.abc import Sequence
from functools import cached_property

from queries.database import stored_proofs
from queries.models import Batch, Fact, Query
from queries.planning.readers import ChainReaders
from queries.planning.witness import make_witnesses
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, decode_header


class BatchValues:
    """The values of a DONE batch, for a call's placeholders (`CallValues`).

    Proofs that are not stored, because others had proven the facts, are fetched from the source.
    """

    def __init__(self, batch: Batch, chains: ChainReaders) -> None:
        self._batch, self._chains = batch, chains

    @cached_property
    def _queries(self) -> list[Query]:
        return list(self._batch.queries.select_related("job").order_by("position"))

    def block_number(self) -> int | None:
        return self._queries[0].block

    def header(self) -> Header | None:
        job = self._queries[0].job
        return decode_header(job.header) if job and job.header else None

    def registry(self) -> str | None:
        route = self._queries[0].source, self._batch.destination
        registry = self._chains.routes.registries.get(route)
        return registry.address if registry else None

    def word(self, account: str, fact: str) -> bytes | None:
        facts = Fact.objects.filter(job=self._queries[0].job, account=self._address(account))
        word: bytes | None = facts.filter(name=fact).values_list("word", flat=True).first()
        return word

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
        query, header = self._queries[0], self.header()
        if query.job is None or header is None:
            raise ValueError(f"batch {self._batch.pk} is DONE, but its block is not stored")
        requested = [(bytes.fromhex(self._address(account)[2:]), slots)]
        proofs, missing = stored_proofs.read_accounts(query.job, header, requested)
        if missing:
            proofs = list(self._chains.client(query.source).account_proofs(header, missing))
        return proofs[0]
