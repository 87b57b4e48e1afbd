"""The proof of a batch, to be checked without this service; see `queries/proving/bundles.py`."""

from typing import Annotated

from django.http import FileResponse, HttpRequest
from pydantic import ConfigDict, Field

from accounts.models import ApiKey
from queries.api.responses import ApiModel, BlockNumber, ChainId, Id
from queries.config.routes import Routes
from queries.proving.bundles import FORMAT, VERSION
from queries.reading.proof_file import build_proof_file

Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$", examples=[f"0x{64 * '1'}"])]


class ProofBlockResponse(ApiModel):
    """A block, what is proven of it, and the proofs; the guide *Proofs* lists all members."""

    model_config = ConfigDict(extra="allow")
    block: BlockNumber
    block_hash: Hash
    origin_chain_id: ChainId
    header: str = Field(description="RLP.", examples=["0xf90211a0…"])
    calls: list[str] = Field(
        description="Calldata of prove(). Each stands alone; all of them prove the facts.",
        examples=[["0xf90211a0…"]],
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
