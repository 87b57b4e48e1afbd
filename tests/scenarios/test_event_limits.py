"""Requests for events that exceed what a witness can count, or name another request's job."""

from typing import Any

import pytest

from tests.rigs.service import HOLDER, Service, accounts, request
from tests.scenarios.test_events import Transfer, prove, transfer

pytestmark = pytest.mark.either_database


@pytest.fixture
def sent(shared_service: Service) -> Transfer:
    return transfer(shared_service.chain)


def test_256_absent_logs_of_a_receipt_are_estimated(
    shared_service: Service, sent: Transfer
) -> None:
    """A witness counts a receipt's absent logs in a byte, so they are split into several calls."""
    absent = [{"transaction": 0, "address": f"0x{index + 1:040x}"} for index in range(256)]
    body = request({31337: {sent.block: {"absent": absent}}})
    assert shared_service.post("/estimate", body).status_code == 200


def test_only_queries_of_logs_are_jobs(shared_service: Service, sent: Transfer) -> None:
    """The queries of all batches are numbered together."""
    chain = shared_service.chain.id

    def call(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        response = shared_service.post(f"/event-proofs/{chain}", body)
        assert response.status_code == 200, params
        return response.json()

    log = {"srcChainId": chain, "srcBlockNumber": sent.block, "globalLogIndex": 0}
    job = call("proof_request", log)["result"]
    shared_service.wait(shared_service.submit({31337: {sent.block: accounts(HOLDER)}}))
    prove(shared_service, sent.block, receipts=[0])
    for other in (job + 1, job + 2, "1" * 5_000):
        assert call("proof_query", other)["error"]["code"] == -32602
