"""Proof files as a client of the service gets them."""

from typing import Any

from queries.proving.bundle_checks import check_bundle
from queries.proving.bundles import Bundle
from queries.proving.facts.headers import BlockAtTimeFact
from tests.queries.prover.service import Service


def request_proof(service: Service, batch: str) -> Any:
    """The response, which may be an error."""
    return service.client.get(f"/batch-queries/{batch}/proof", headers={"api-key": service.key})


def proof_file(service: Service, batch: str) -> bytes:
    answer = request_proof(service, batch)
    assert answer.status_code == 200, answer.content
    content = answer.getvalue()
    assert int(answer["Content-Length"]) == len(content)
    return bytes(content)


def checked_proof(service: Service, batch: str) -> Bundle:
    """The checked proof file. It has exactly the values of the batch's status."""
    bundle = check_bundle(proof_file(service, batch))
    status = service.status(batch)
    assert (bundle.batch, str(bundle.destination)) == (batch, status["destinationChainId"])
    proven = {
        (str(block.chain), str(block.header.number), fact.account, fact.name): word
        for block in bundle.blocks
        for fact, word in block.words.items()
        if fact.kind != BlockAtTimeFact.kind
    }
    expected = {
        (
            query["originChainId"],
            query["block"],
            bytes.fromhex(query["account"][2:]) if query["account"] else b"",
            name,
        ): bytes.fromhex(word[2:])
        for query in status["queries"]
        for name, word in query["values"].items()
    }
    assert proven == expected
    return bundle
