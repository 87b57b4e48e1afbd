"""What a signed transaction of ours says, read from its bytes."""

from dataclasses import dataclass

from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from queries.chain.destination import Fees


@dataclass(frozen=True, slots=True)
class SignedParts:
    """All but the fees and the signature."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas_limit: int


def parts_of(raw: bytes) -> SignedParts:
    parts = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    return SignedParts(
        int(parts["chainId"]),
        int(parts["nonce"]),
        f"0x{bytes(parts['to']).hex()}",
        bytes(parts["data"]),
        int(parts["gas"]),
    )


def fees_of(raw: bytes) -> Fees:
    """What it offers for its gas."""
    parts = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    return Fees(int(parts["maxFeePerGas"]), int(parts["maxPriorityFeePerGas"]))
