"""Measure what a chain charges for storage and for calldata, by a node's estimates.

Forks change these prices, and no node states them. Two estimates that differ in one thing show its
price, on every chain and after every fork.
"""

from random import Random

from queries.chain.answers import read_int64
from queries.chain.errors import ChainError, InvalidAnswersError
from queries.chain.node_pool import NodePool
from queries.proving import AnswerMalformedError, GasRules, encode_hex, keccak256, read_object

# An address without funds: nodes do not check the balance if a call names no gas price.
DRY_RUN_SENDER = f"0x{keccak256(b'Tacitus asks what a proof would cost')[-20:].hex()}"

# Nodes overestimate by up to 1.5 %: with so many bytes, by less than the price of one.
SLOTS, BYTES = 20, 20_000
POP_GAS = 2
MAX_TIME = 2**40

# PUSH1 1, PUSH1 slot, and SSTORE or POP: the code of a constructor that deploys nothing.
_STORE = b"".join(bytes([0x60, 1, 0x60, slot, 0x55]) for slot in range(SLOTS))
_DISCARD = b"".join(bytes([0x60, 1, 0x60, slot, 0x50]) for slot in range(SLOTS))
# Not zero; and random, because rollups charge for compressed bytes and proofs hardly compress.
_CALLDATA = bytes(Random(0).choices(range(1, 256), k=BYTES))  # noqa: S311


def measure_gas_rules(nodes: NodePool) -> GasRules:
    """Measure the price of a new storage slot and of a byte of calldata. Raises `ChainError`."""
    deployments = [{"data": encode_hex(code)} for code in (_STORE, _DISCARD)]
    transfers = [{"to": DRY_RUN_SENDER, "data": encode_hex(data)} for data in (_CALLDATA, b"")]
    stored, discarded, with_data, empty = nodes.fetch_many(
        "eth_estimateGas",
        [({"from": DRY_RUN_SENDER, **call},) for call in (*deployments, *transfers)],
        [read_int64] * 4,
    )
    new_slot = (stored - discarded) // SLOTS + POP_GAS
    floor_byte = (with_data - empty) // BYTES
    if stored <= discarded or floor_byte <= 0:
        detail = " It estimates that storage or calldata costs nothing."
        raise InvalidAnswersError.create(nodes.chain.name, "eth_estimateGas", detail)
    return GasRules(new_slot=new_slot, floor_byte=floor_byte)


def next_fork_time(nodes: NodePool) -> int | None:
    """The Unix time of the chain's next fork (EIP-7910); None if none is known to a node."""

    def read_time(answer: object) -> int | None:
        following = read_object(answer, "the configuration").get("next")
        if following is None:
            return None
        time = read_object(following, "next").get("activationTime")
        if not isinstance(time, int) or not 0 < time < MAX_TIME:
            raise AnswerMalformedError("activationTime must be a Unix time")
        return time

    try:
        return nodes.fetch("eth_config", (), read_time)
    except ChainError:  # few nodes have the method
        return None
