"""Estimate the gas that deliveries need: now, and before the facts that they deliver are proven."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from queries.chain import (
    BASE_GAS,
    BYTE_GAS,
    FLOOR_ZERO_BYTE_GAS,
    ZERO_BYTE_GAS,
    CallRevertedError,
    ChainClient,
    TooMuchGasError,
    TransactionRefusedError,
)
from queries.contracts.create2 import courier_address, delivery_calldata
from queries.models import Query
from queries.planning.call_values import BlockValues
from queries.planning.dry_runs import GasEstimate
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, make_witnesses
from queries.proving import FLOOR_BYTE_GAS, AccountProof, Header
from queries.schema.bodies import MAX_DELIVERY_GAS, MIN_DELIVERY_GAS
from queries.schema.checked_batch import CheckedDelivery
from queries.schema.contract_calls import read_call
from queries.schema.templates import PROOF_KINDS, WORD

# What the Courier takes beside the gas that it passes on: its reserve, and copying the calldata.
COURIER_GAS, COURIER_WORD_GAS = 8_000, 10
WORD_BYTES = 32
# What a contract is assumed to need that cannot be tried out yet: two new slots beside these.
ASSUMED_GAS, ASSUMED_BYTE_GAS, ASSUMED_SLOTS = 100_000, 100, 2
# The least that a transaction takes before its call, by Amsterdam (EIP-2780); by Osaka 21,000.
MIN_BASE_GAS = 12_000


def needed_gas(node: ChainClient, to: str, call: bytes) -> int:
    """The gas that the contract would need now for this call from the Courier, or by Osaka's rules
    9,000 more. More, too, if the calldata floor is above what the transaction uses.

    Raises as `estimate_gas`, and `TooMuchGasError` if it is more than a delivery may use.
    """
    with suppress(TooMuchGasError):
        gas, zeros = node.estimate_gas(courier_address(), to, call), call.count(0)
        needed = gas - MIN_BASE_GAS - ZERO_BYTE_GAS * zeros - BYTE_GAS * (len(call) - zeros)
        if needed <= MAX_DELIVERY_GAS:
            return needed
    raise TooMuchGasError(
        f"The contract needs more than {MAX_DELIVERY_GAS:,} gas, and a delivery may use no more."
    )


def gas_with_reserve(needed: int) -> int:
    """The gas for a call that needs so much: half as much on top, because the state may change."""
    return min(max(needed * 3 // 2, MIN_DELIVERY_GAS), MAX_DELIVERY_GAS)


class DeliveryEstimate(NamedTuple):
    """What a delivery would send, and the gas that its transaction needs at most."""

    calldata: bytes  # of about its size
    contract_gas: int  # that the contract gets
    is_assumed: bool  # the contract cannot be tried out yet
    estimate: GasEstimate


def delivery_estimates(
    chains: ChainReaders,
    destination: int,
    queries: Sequence[Query],
    deliveries: Sequence[CheckedDelivery],
) -> Iterator[DeliveryEstimate]:
    """An estimate of each delivery. The Courier's call cannot be tried out if the contract reads
    facts that are not proven yet.
    """
    values = _NewestValues(chains, destination, queries)
    client = chains.client(destination)
    for delivery in deliveries:
        call = read_call(delivery.function, delivery.args)
        encoded = call.encode(values)
        gas, is_assumed = delivery.gas, False
        if gas is None:
            gas, is_assumed = _contract_gas(client, delivery.to, encoded)
        data = delivery_calldata(delivery.to, gas, encoded)
        words = [used for used in call.placeholders if PROOF_KINDS[used.name].type is WORD]
        zeros = data.count(0) - len(words) * (WORD_BYTES - 1)  # they may have none
        nonzeros = len(data) - zeros
        passed_on = -(-64 * gas // 63)  # a call gets at most 63 / 64 (EIP-150)
        courier = COURIER_GAS + COURIER_WORD_GAS * (len(data) // WORD_BYTES)
        call_gas = ZERO_BYTE_GAS * zeros + BYTE_GAS * nonzeros + courier + passed_on
        floor = FLOOR_ZERO_BYTE_GAS * zeros + FLOOR_BYTE_GAS * nonzeros
        (data_fee,) = client.data_fees([data])
        estimate = GasEstimate(BASE_GAS + max(call_gas, floor), data_fee)
        yield DeliveryEstimate(data, gas, is_assumed, estimate)


def _contract_gas(client: ChainClient, to: str, call: bytes) -> tuple[int, bool]:
    """The gas that the contract would get now, and whether it is an assumption."""
    try:
        return gas_with_reserve(needed_gas(client, to, call)), False
    except (CallRevertedError, TransactionRefusedError):
        slots_gas = ASSUMED_SLOTS * client.gas_rules.new_slot
        needed = ASSUMED_GAS + ASSUMED_BYTE_GAS * len(call) + slots_gas
        return gas_with_reserve(needed), True


class _NewestValues(BlockValues):
    """Values of the source's newest block: proofs are as long as those of the block that will be
    proven, which may not exist yet.
    """

    @cached_property
    def _header(self) -> Header:
        return self._source.header(self._chains.head(self._queries[0].source).number)

    def block_number(self) -> int | None:
        requested = self._queries[0].block
        return self._header.number if requested is None else requested

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
