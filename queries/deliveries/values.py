"""The values that placeholders stand for, from what was stored when the batch was proven."""

from collections.abc import Sequence
from functools import cached_property

from queries.chain import ChainClient
from queries.database import stored_proofs
from queries.models import Batch, Fact
from queries.planning.call_values import BlockValues
from queries.planning.readers import ChainReaders
from queries.planning.witness import make_witnesses
from queries.proving import (
    AccountField,
    AccountProof,
    Header,
    HeaderField,
    decode_header,
    number_word,
)


class BatchValues(BlockValues):
    """The values of a DONE batch.

    What is not stored is fetched from the source and checked: proofs of facts that others had
    proven, and all that a batch needs which proves nothing.
    """

    def __init__(self, batch: Batch, chains: ChainReaders) -> None:
        queries = list(batch.queries.select_related("job").order_by("position"))
        super().__init__(chains, batch.destination, queries)
        self._batch = batch

    @cached_property
    def _header(self) -> Header:
        query = self._queries[0]
        if query.job and query.job.header:
            return decode_header(query.job.header)
        return self._source.ask_quorum(ChainClient.header, query.block or 0)

    def block_number(self) -> int | None:
        return self._queries[0].block

    def header(self) -> Header:
        return self._header

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

    def witness(self) -> bytes | None:
        return make_witnesses(self._chains, self._destination, self._queries)[0].proof

    def _read_proof(self, account: bytes, slots: Sequence[int]) -> AccountProof:
        if job := self._queries[0].job:
            proofs, missing = stored_proofs.read_accounts(job, self._header, [(account, slots)])
            if not missing:
                return proofs[0]
        (proof,) = self._source.account_proofs(self._header, [(account, slots)])
        return proof
