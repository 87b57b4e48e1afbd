"""Estimate what deliveries cost, before the facts that they deliver are proven."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from queries.chain.answers import BASE_GAS, BYTE_GAS, FLOOR_ZERO_BYTE_GAS, ZERO_BYTE_GAS
from queries.config.registries import delivery_calldata
from queries.models import Query
from queries.planning.dry_runs import GasEstimate
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, make_witnesses
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header
from queries.proving.packing import FLOOR_BYTE_GAS
from queries.schema.checked_batch import CheckedDelivery
from queries.schema.contract_calls import read_call
from queries.schema.placeholders import PlaceholderKind

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
    values, client = _NewestValues(chains, queries), chains.client(destination)
    for delivery in deliveries:
        call = read_call(delivery.function, delivery.args)
        data = delivery_calldata(delivery.to, delivery.gas, call.encode(values))
        kinds = [placeholder.kind for placeholder in call.placeholders]
        # Their words may have no zeros.
        zeros = data.count(0) - kinds.count(PlaceholderKind.VALUE) * (WORD_BYTES - 1)
        nonzeros = len(data) - zeros
        passed_on = -(-64 * delivery.gas // 63)  # a call gets at most 63 / 64 (EIP-150)
        courier = COURIER_GAS + COURIER_WORD_GAS * (len(data) // WORD_BYTES)
        call_gas = ZERO_BYTE_GAS * zeros + BYTE_GAS * nonzeros + courier + passed_on
        floor = FLOOR_ZERO_BYTE_GAS * zeros + FLOOR_BYTE_GAS * nonzeros
        (data_fee,) = client.data_fees([data])
        yield data, GasEstimate(BASE_GAS + max(call_gas, floor), data_fee)


class _NewestValues:
    """Values of the source's newest block: proofs are as long as those of the block that will be
    proven, which may not exist yet.
    """

    def __init__(self, chains: ChainReaders, queries: Sequence[Query]) -> None:
        self._chains, self._queries = chains, queries

    @cached_property
    def _header(self) -> Header:
        source = self._queries[0].source
        return self._chains.client(source).header(self._chains.head(source).number)

    def block_number(self) -> int | None:
        return self._header.number

    def header(self) -> Header | None:
        return self._header

    def registry(self) -> str | None:
        query = self._queries[0]
        destination = query.batch.destination
        return self._chains.routes.registries[query.source, destination].address

    def word(self, account: str, fact: str) -> bytes | None:  # noqa: ARG002
        return (1).to_bytes(WORD_BYTES)  # fits each type

    def account_nodes(self, account: str) -> Sequence[bytes] | None:
        return [node.encode() for node in self._proof(account).path.nodes]

    def slot_nodes(self, account: str, slot: bytes) -> Sequence[bytes] | None:
        (slot_proof,) = self._proof(account, int.from_bytes(slot)).slots
        return [node.encode() for node in slot_proof.path.nodes]

    def witness(self) -> bytes | None:
        destination = self._queries[0].batch.destination
        try:
            return make_witnesses(self._chains, destination, self._queries)[0].proof
        except NotProvableError:  # the block is not final yet: its witness has no more than these
            nodes = [self._header.rlp]
            for query in self._queries:
                account = query.name or query.account
                if account:
                    nodes += self.account_nodes(account) or ()
                for slot in query.slots:
                    nodes += self.slot_nodes(account, bytes.fromhex(slot)) or ()
            return b"".join(nodes)

    def _proof(self, account: str, *slots: int) -> AccountProof:
        self._chains.set_accounts(self._header, self._queries)
        addresses = {query.name: query.account for query in self._queries if query.name}
        requested = [(bytes.fromhex(addresses.get(account, account)[2:]), slots)]
        client = self._chains.client(self._queries[0].source)
        (proof,) = client.account_proofs(self._header, requested)
        return proof
