"""Estimates, submits a batch, polls and lists, with a client that openapi-python-client made.

Run by `test_generated_clients.py` in the folder in which `tacitus_api` was generated.
"""

import json
import sys
import time

from tacitus_api import AuthenticatedClient
from tacitus_api.api.default import (
    batch_queries,
    batch_query_status,
    estimate,
    submit_batch_query,
    witness,
)
from tacitus_api.models import BatchRequest, Error, EstimateRequest

url, key, chain, block, account = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="api-key")
wanted = {"header": ["PROPOSER"], "accounts": {account: {"props": ["BALANCE"]}}}
body = BatchRequest.from_dict(
    {"destinationChainId": chain, "fee": "0", "data": {chain: {f"block:{block}": wanted}}}
)
assert body.data[chain][f"block:{block}"].accounts[account].props == ["BALANCE"]
asked = EstimateRequest.from_dict({"destinationChainId": chain, "data": body.to_dict()["data"]})
assert "fee" not in asked.to_dict()
(proof,) = witness.sync(client=client, body=asked).witnesses
submitted = submit_batch_query.sync(client=client, body=body)
while True:
    status = batch_query_status.sync(client=client, batch_query_id=submitted.internal_id)
    if status.query_status != "IN_PROGRESS":
        break
    time.sleep(0.2)
refused = batch_query_status.sync(client=client, batch_query_id="x")
assert isinstance(refused, Error)
told = {
    "status": status.query_status,
    "values": [query.values.to_dict() for query in status.queries],
    "listed": [batch.internal_id for batch in batch_queries.sync(client=client).batches],
    "submitted": submitted.internal_id,
    "refused": refused.code,
    "free": estimate.sync(client=client, body=asked).free,
    "verified": {fact.name: fact.value for fact in proof.facts},
}
print(json.dumps(told))  # noqa: T201
