"""A signer's word as JSON Schema, and an example of one."""

from queries.api.request_schema import Schema
from queries.attestations import SHAPES

ATTESTATION_EXAMPLE: dict[str, object] = {
    "originChainId": "11155111",
    "destinationChainId": "10",
    "registry": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "block": "5186021",
    "blockHash": "0x" + 64 * "1",
    "signature": f"0x{64 * '2'}{64 * '3'}1b",
}


def attestation_schema() -> Schema:
    return {
        "type": "object",
        "description": (
            "`signature` is the signer's, of EIP-712 typed data: the domain's name is Tacitus "
            "block hashes, its version 1, its chainId the destination's and its verifyingContract "
            "the registry; BlockHash has uint256 sourceChainId, uint256 blockNumber and bytes32 "
            "blockHash."
        ),
        "required": list(SHAPES),
        "properties": {
            name: {"type": "string", "pattern": f"^({shape})$"} for name, shape in SHAPES.items()
        },
    }
