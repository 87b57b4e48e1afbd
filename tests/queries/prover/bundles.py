"""Proofs as a client of the service gets them."""

from typing import Any

from queries.proving.bundle_checks import check_bundle
from queries.proving.bundles import Bundle, FactKind
from tests.queries.prover.service import Service


def asked_proof(service: Service, batch: str) -> Any:
    """The answer, which may be a refusal."""
    return service.client.get(f"/batch-queries/{batch}/proof", headers={"api-key": service.key})


def proof_file(service: Service, batch: str) -> bytes:
    answer = asked_proof(service, batch)
    assert answer.status_code == 200, answer.content
    content = answer.getvalue()
    assert int(answer["Content-Length"]) == len(content)
    return bytes(content)


def whole_proof(service: Service, batch: str) -> Bundle:
    """Checked, and holding every value that the batch's status tells, and no other."""
    bundle = check_bundle(proof_file(service, batch))
    told = service.status(batch)
    assert (bundle.batch, str(bundle.destination)) == (batch, told["destinationChainId"])
    held = {
        (str(block.chain), str(block.header.number), fact.account, fact.name): fact.word
        for block in bundle.blocks
        for fact in block.facts
        if fact.kind is not FactKind.BLOCK_AT_TIME
    }
    wanted = {
        (
            query["originChainId"],
            query["block"],
            bytes.fromhex(query["account"][2:]) if query["account"] else None,
            name,
        ): bytes.fromhex(word[2:])
        for query in told["queries"]
        for name, word in query["values"].items()
    }
    assert held == wanted
    return bundle
