"""Signers, and their EIP-712 signatures."""

from collections.abc import Iterable
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from queries.contracts.abi import call_data
from tests.rigs.deployed_contracts import DeployedContract

SOURCE_CHAIN = 5
DESTINATION_CHAIN = 31_337
# Other values that a signature may be about.
OTHER_SOURCE, OTHER_DESTINATION = 6, 1
OTHER_REGISTRY = "0x00000000000000000000000000000000000000C3"

SIGNERS: list[LocalAccount] = sorted(
    (Account.from_key(bytes([number]) * 32) for number in range(1, 5)),
    key=lambda signer: int(signer.address, 16),
)
OTHER_SIGNER: LocalAccount = Account.from_key(bytes([99]) * 32)
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def sign(
    signer: LocalAccount, registry: DeployedContract, number: int, block_hash: bytes, **other: Any
) -> bytes:
    """`other` are members of the domain or message that differ from what the registry expects."""
    domain = {
        "name": "Tacitus block hashes",
        "version": "1",
        "chainId": DESTINATION_CHAIN,
        "verifyingContract": registry.address,
    }
    message = {"sourceChainId": SOURCE_CHAIN, "blockNumber": number, "blockHash": block_hash}
    types = {
        "BlockHash": [
            {"name": "sourceChainId", "type": "uint256"},
            {"name": "blockNumber", "type": "uint256"},
            {"name": "blockHash", "type": "bytes32"},
        ]
    }
    for member, value in other.items():
        (domain if member in domain else message)[member] = value
    return bytes(signer.sign_message(encode_typed_data(domain, types, message)).signature)


def signed_by(
    signers: Iterable[LocalAccount], registry: DeployedContract, number: int, block_hash: bytes
) -> list[bytes]:
    return [sign(signer, registry, number, block_hash) for signer in signers]


def attest(number: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    return call_data("attest(uint256,bytes32,bytes[])", number, block_hash, signatures)


def high_s_signature(signature: bytes) -> bytes:
    """The equivalent signature with s in the upper half of the order."""
    s, v = int.from_bytes(signature[32:64], "big"), signature[64]
    return signature[:32] + (_ORDER - s).to_bytes(32, "big") + bytes((55 - v,))
