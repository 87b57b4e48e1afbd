"""The proof of a batch, to be checked without this service; see `queries/proving/bundles.py`."""

from typing import Annotated

from django.http import FileResponse, HttpRequest
from pydantic import Field

from accounts.models import ApiKey
from queries.api.responses import (
    CONSTRUCTOR_ARGUMENTS,
    Address,
    ApiModel,
    BlockNumber,
    ChainId,
    Id,
    Registry,
)
from queries.config.routes import Routes
from queries.proving.bundle_checks import REGISTRY_KINDS
from queries.proving.bundles import FORMAT, VERSION
from queries.proving.facts import FactKind
from queries.reading.proof_file import build_proof_file

Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$", examples=[f"0x{64 * '1'}"])]
Hex = Annotated[str, Field(examples=["0xf90211a0…"])]
Quantity = Annotated[str, Field(examples=["0xde0b6b3a7640000"])]


class SlotProofResponse(ApiModel):
    key: Hash
    proof: list[Hex]
    value: Quantity


class AccountProofResponse(ApiModel):
    """The response of eth_getProof, with the requested slots."""

    account_proof: list[Hex]
    address: Address
    balance: Quantity
    code_hash: Hash
    nonce: Quantity
    storage_hash: Hash
    storage_proof: list[SlotProofResponse]


class ProvenFactResponse(ApiModel):
    account: Address | None
    kind: FactKind
    name: str = Field(examples=["NONCE"])
    word: Hash = Field(description="The value that the registry or its events verifier holds.")


class ProofRegistryResponse(ApiModel):
    address: Registry
    arguments: str = Field(
        description="The constructor's, as Solidity encodes them: the address follows from these "
        "and the bytecode of the kind.",
        examples=[CONSTRUCTOR_ARGUMENTS],
    )
    chain_id: ChainId
    kind: Annotated[str, Field(json_schema_extra={"enum": list(REGISTRY_KINDS)})]


class ProofTransactionResponse(ApiModel):
    block: BlockNumber
    hash: Hash


class ProofBlockResponse(ApiModel):
    accounts: list[AccountProofResponse]
    block: BlockNumber
    block_hash: Hash
    calls: list[Hex] = Field(
        description="Calldata of prove(). Each stands alone; all of them prove the facts."
    )
    event_calls: list[Hex] = Field(
        default=[],
        description="Calldata of the events verifier's prove(), in a block with facts of events.",
    )
    events: list[Hex] = Field(default=[], description="The witnesses in these calls.")
    facts: list[ProvenFactResponse]
    header: Hex = Field(description="RLP.")
    next_header: str | None = Field(
        description="The next block's header, if a fact is about a time."
    )
    origin_chain_id: ChainId
    registry: ProofRegistryResponse = Field(description="Where the facts are.")
    transactions: list[ProofTransactionResponse] = Field(
        description="The transactions with which the service proved the facts."
    )


class ProofResponse(ApiModel):
    """A proof file; `queries/proving/bundles.py` writes it in its one canonical form."""

    batch: Id
    blocks: list[ProofBlockResponse] = Field(description="By source chain and number.")
    destination_chain_id: ChainId
    digest: Hash = Field(description="Detects damage, not forgery: a forger can compute it again.")
    format: Annotated[str, Field(json_schema_extra={"enum": [FORMAT]})]
    version: Annotated[int, Field(json_schema_extra={"enum": [VERSION]})] = Field(
        description="Another version is another format."
    )


def batch_proof(_request: HttpRequest, _key: ApiKey, batch: str, routes: Routes) -> FileResponse:
    """The proof file of any batch: its id is enough to read it."""
    response = FileResponse(build_proof_file(batch, routes), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
