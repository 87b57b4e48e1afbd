"""What a node's receipt says of a transaction of ours, and what none can say."""

from dataclasses import dataclass

from queries.proving.errors import AnswerMalformed
from queries.proving.json_values import read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES

# What no chain comes to, and a database keeps: of blocks, nonces and gas, and of wei.
MOST_COUNTED, MOST_WEI = 2**63, 2**128


@dataclass(frozen=True, slots=True)
class Mined:
    """What became of a transaction."""

    block: int
    block_hash: bytes
    succeeded: bool
    gas_used: int
    gas_price: int  # wei
    data_fee: int = 0  # wei that an OP-stack chain takes on top, for its L1


@dataclass(frozen=True, slots=True)
class InItsBlock:
    """What became of it, and what gas cost at least in its block: None where headers of the chain
    do not hash as Ethereum's do, and so show nothing.
    """

    mined: Mined
    base_fee: int | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a transaction has by its own signed words, which no receipt can go beyond."""

    gas: int
    gas_price: int  # wei


def read_receipt(transaction_hash: str, within: Bounds | None, answer: object) -> Mined | None:
    if answer is None:
        return None
    receipt = read_object(answer, "a receipt")
    stated = read_fixed_bytes(receipt.get("transactionHash"), "transactionHash", HASH_BYTES)
    if f"0x{stated.hex()}" != transaction_hash.lower():
        raise AnswerMalformed("the receipt is another transaction's")
    status = below(MOST_COUNTED, receipt.get("status"), "status")
    if status > 1:
        raise AnswerMalformed(f"a receipt's status is 0 or 1, not {status}")
    mined = Mined(
        block=below(MOST_COUNTED, receipt.get("blockNumber"), "blockNumber"),
        block_hash=read_fixed_bytes(receipt.get("blockHash"), "blockHash", HASH_BYTES),
        succeeded=status == 1,
        gas_used=below(MOST_COUNTED, receipt.get("gasUsed"), "gasUsed"),
        gas_price=below(MOST_WEI, receipt.get("effectiveGasPrice"), "effectiveGasPrice"),
        data_fee=below(MOST_WEI, receipt.get("l1Fee") or "0x0", "l1Fee"),
    )
    if within and (mined.gas_used > within.gas or mined.gas_price > within.gas_price):
        raise AnswerMalformed("the receipt tells of more than the transaction has")
    return mined


def below(bound: int, value: object, name: str) -> int:
    number = read_quantity(value, name)
    if number >= bound:
        raise AnswerMalformed(f"{name} is larger than any that there is")
    return number
