"""A batch's facts as files, against the chain that they were proven on."""

import csv
import io
import json

import pytest
from django.test import Client

from tests.explorer.proven import FACTS, HOLDER, proven_batch
from tests.queries.pipeline.service import CHAIN_ID, Service

pytestmark = pytest.mark.django_db(transaction=True)


def _file(batch: str, form: str) -> str:
    answer = Client().get(f"/explorer/query/{batch}/facts.{form}")
    return b"".join(answer).decode()


def test_they_name_the_block_and_the_transaction_of_the_chain(service: Service) -> None:
    batch = proven_batch(service)
    rows = list(csv.DictReader(io.StringIO(_file(batch, "csv"), newline="")))
    assert rows == json.loads(_file(batch, "json"))
    assert {row["field_or_slot"] for row in rows} == FACTS
    for row in rows:
        assert row["block_hash"] == service.header(int(row["block"]))["hash"]
        assert (row["source_chain"], row["destination_chain"]) == (str(CHAIN_ID), str(CHAIN_ID))
        assert row["registry"] == service.registry.address
        receipt = service.node.rpc.ask("eth_getTransactionReceipt", row["transaction"])
        assert receipt["to"] == service.registry.address.lower()
    balance, code, slot, at_time, timestamp = rows
    assert (balance["account"], balance["decoded"]) == (HOLDER, "123 ETH")
    assert code["decoded"] == "empty code"
    assert slot["decoded"] == "77"
    assert at_time["decoded"] == f"block {balance['block']}"
    assert timestamp["account"] == ""
