"""The proof of a batch, to be checked without this service; see `queries/proving/bundles.py`."""

from typing import Annotated

from django.http import FileResponse, HttpRequest
from pydantic import Field

from accounts.models import ApiKey
from queries.api.answers import Answer, Id
from queries.proving.bundle_checks import KINDS
from queries.proving.bundles import FORMAT, VERSION, FactKind
from queries.reading.proofs import proof_of
from queries.routes import Routes
from queries.schema.requests import DECIMAL

Hash = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$")]
Address = Annotated[str, Field(pattern="^0x[0-9a-f]{40}$")]
Decimal = Annotated[str, Field(pattern=DECIMAL)]


class SlotProof(Answer):
    key: Hash
    proof: list[str]
    value: str


class AccountProof(Answer):
    """As eth_getProof answers."""

    account_proof: list[str]
    address: Address
    balance: str
    code_hash: Hash
    nonce: str
    storage_hash: Hash
    storage_proof: list[SlotProof]


class ProvenFact(Answer):
    account: Address | None
    kind: FactKind
    name: str
    word: Hash


class ProofRegistry(Answer):
    address: Address
    chain_id: Decimal
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]


class ProofTransaction(Answer):
    block: Decimal
    hash: Hash


class ProofBlock(Answer):
    accounts: list[AccountProof]
    block: Decimal
    block_hash: Hash
    calls: list[str]
    facts: list[ProvenFact]
    header: str
    next_header: str | None
    origin_chain_id: Decimal
    registry: ProofRegistry
    transactions: list[ProofTransaction]


class Proof(Answer):
    """A proof file; `queries/proving/bundles.py` writes it in its one canonical form."""

    batch: Id
    blocks: list[ProofBlock]
    destination_chain_id: Decimal
    digest: Hash
    format: Annotated[str, Field(json_schema_extra={"enum": [FORMAT]})]
    version: Annotated[int, Field(json_schema_extra={"enum": [VERSION]})]


PROOF_PARTS = {
    "format, version": f"{FORMAT}, {VERSION}: another version is another format.",
    "batch": "Its id.",
    "destinationChainId": "Where its facts can be read.",
    "blocks": "One for each block, by source chain and number:",
    "originChainId, block, blockHash": "Which it is.",
    "header": "Its header as RLP.",
    "nextHeader": "The header after it, where facts are of a time, or null.",
    "registry": "Where the facts are: address, chainId and kind.",
    "accounts": "Each as eth_getProof answers, with the slots that were asked for.",
    "facts": "What is proven: kind, account (or null), name, and the word that the registry holds.",
    "calls": "Calldata of prove(). Each stands alone; all of them prove the facts.",
    "transactions": "Hash and block of those that the service proved them with.",
    "digest": "Detects damage, not forgery: a forger can compute it again.",
}


def batch_proof(_request: HttpRequest, _key: ApiKey, batch: str, routes: Routes) -> FileResponse:
    """Of any batch: its id is enough to read it."""
    answer = FileResponse(proof_of(batch, routes), content_type="application/json")
    answer["Cache-Control"] = "no-store"
    return answer
