"""Estimate what deliveries cost, before the facts that they deliver are proven."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from queries.chain import BASE_GAS, BYTE_GAS, FLOOR_ZERO_BYTE_GAS, ZERO_BYTE_GAS
from queries.contracts.create2 import delivery_calldata
from queries.models import Query
from queries.planning.call_values import BlockValues
from queries.planning.dry_runs import GasEstimate
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, make_witnesses
from queries.proving import FLOOR_BYTE_GAS, AccountProof, Header
from queries.schema.checked_batch import CheckedDelivery
from queries.schema.contract_calls import read_call
from queries.schema.templates import PROOF_KINDS, WORD

# What the Courier takes beside the gas that it passes on: its reserve, and copying the calldata.
COURIER_GAS, COURIER_WORD_GAS = 8_000, 10
WORD_BYTES = 32


def delivery_estimates(
    chains: ChainReaders,
    destination: int,
    queries: Sequence[Query],
    deliveries: Sequence[CheckedDelivery],
) -> Iterator[tuple[bytes, GasEstimate]]:
    """The calldata of each delivery, of about its size, and the gas that it needs at most.

    It cannot be tried out: the contract will read facts that are not proven yet.
    """
    values = _NewestValues(chains, destination, queries)
    client = chains.client(destination)
    for delivery in deliveries:
        call = read_call(delivery.function, delivery.args)
        data = delivery_calldata(delivery.to, delivery.gas, call.encode(values))
        words = [used for used in call.placeholders if PROOF_KINDS[used.name].type is WORD]
        zeros = data.count(0) - len(words) * (WORD_BYTES - 1)  # they may have none
        nonzeros = len(data) - zeros
        passed_on = -(-64 * delivery.gas // 63)  # a call gets at most 63 / 64 (EIP-150)
        courier = COURIER_GAS + COURIER_WORD_GAS * (len(data) // WORD_BYTES)
        call_gas = ZERO_BYTE_GAS * zeros + BYTE_GAS * nonzeros + courier + passed_on
        floor = FLOOR_ZERO_BYTE_GAS * zeros + FLOOR_BYTE_GAS * nonzeros
        (data_fee,) = client.data_fees([data])
        yield data, GasEstimate(BASE_GAS + max(call_gas, floor), data_fee)


class _NewestValues(BlockValues):
    """Values of the source's newest block: proofs are as long as those of the block that will be
    proven, which may not exist yet.
    """

    @cached_property
    def _header(self) -> Header:
        return self._source.header(self._chains.head(self._queries[0].source).number)

    def block_number(self) -> int | None:
        return self._header.number

    def header(self) -> Header:
        return self._header

    def word(self, account: str, fact: str) -> bytes | None:  # noqa: ARG002
        return (1).to_bytes(WORD_BYTES)  # fits each type

    def witness(self) -> bytes | None:
        try:
            return make_witnesses(self._chains, self._destination, self._queries)[0].proof
        except NotProvableError:  # the block is not final yet: its witness has no more than these
            nodes = [self._header.rlp]
            for query in self._queries:
                account = query.name or query.account
                if account:
                    nodes += self.account_nodes(account)
                for slot in query.slots:
                    nodes += self.slot_nodes(account, bytes.fromhex(slot))
            return b"".join(nodes)

    def _address(self, account: str) -> str:
        self._chains.set_accounts(self._header, self._queries)
        return super()._address(account)

    def _read_proof(self, account: bytes, slots: Sequence[int]) -> AccountProof:
        (proof,) = self._source.account_proofs(self._header, [(account, slots)])
        return proof
