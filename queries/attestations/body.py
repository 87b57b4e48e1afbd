"""The JSON form of an attestation: the body of a request, or a line."""

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as BodyError
from pydantic.alias_generators import to_camel

from accounts.http.errors import RefusalError
from queries.error_codes import AttestationCode
from queries.proving import BlockAttestation
from queries.schema.bodies import ADDRESS

_NUMBER = "^([1-9][0-9]{0,17}|0)$"

_Number = Annotated[str, Field(pattern=_NUMBER, examples=["5186021"])]
_ChainId = Annotated[str, Field(pattern=_NUMBER, examples=["11155111"])]
_DestinationId = Annotated[str, Field(pattern=_NUMBER, examples=["11155420"])]


class AttestationBody(BaseModel):
    """A signer's attestation of a block's hash.

    `signature` is the signer's, of EIP-712 typed data: the domain's name is Tacitus block hashes,
    its version 1, its chainId the destination's and its verifyingContract the registry; BlockHash
    has uint256 sourceChainId, uint256 blockNumber and bytes32 blockHash.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, alias_generator=to_camel, validate_by_alias=True
    )

    origin_chain_id: _ChainId
    destination_chain_id: _DestinationId
    registry: str = Field(
        pattern=f"^{ADDRESS}$", examples=["0x5FbDB2315678afecb367f032d93F642f64180aa3"]
    )
    block: _Number
    block_hash: str = Field(pattern="^0x[0-9a-fA-F]{64}$", examples=[f"0x{64 * '1'}"])
    signature: str = Field(pattern="^0x[0-9a-fA-F]{130}$", examples=[f"0x{128 * '2'}1b"])


_MEMBERS = f"An attestation has {', '.join(map(to_camel, AttestationBody.model_fields))}."


@dataclass(frozen=True, slots=True)
class SignedAttestation:
    """An attestation with its signature."""

    attestation: BlockAttestation
    signature: bytes

    def content(self) -> dict[str, str]:
        return {
            "originChainId": str(self.attestation.source),
            "destinationChainId": str(self.attestation.destination),
            "registry": f"0x{self.attestation.registry.hex()}",
            "block": str(self.attestation.block),
            "blockHash": f"0x{self.attestation.block_hash.hex()}",
            "signature": f"0x{self.signature.hex()}",
        }

    def line(self) -> str:
        return json.dumps(self.content())


def read_line(line: str) -> SignedAttestation:
    try:
        return read_attestation(json.loads(line))
    except (ValueError, RecursionError):
        raise RefusalError(
            AttestationCode.ATTESTATION_MALFORMED, f"The line is not JSON. {_MEMBERS}"
        ) from None


def read_attestation(content: object) -> SignedAttestation:
    try:
        body = AttestationBody.model_validate(content)
    except BodyError as error:
        path = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        wrong = f"Its {path} is missing or malformed." if path else "It is not a JSON object."
        raise RefusalError(
            AttestationCode.ATTESTATION_MALFORMED, f"{wrong} {_MEMBERS}", path=path
        ) from None
    attestation = BlockAttestation(
        int(body.origin_chain_id),
        int(body.destination_chain_id),
        bytes.fromhex(body.registry[2:]),
        int(body.block),
        bytes.fromhex(body.block_hash[2:]),
    )
    return SignedAttestation(attestation, bytes.fromhex(body.signature[2:]))
