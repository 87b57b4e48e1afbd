"""Facts that a reorg removed after their batch was DONE, and that cannot be proven again."""

import json
import re

import pytest
from django.test import Client

from queries import transitions
from queries.facts import facts_of
from queries.models import BlockJob, Query, SentTransaction
from queries.proving.keccak import number_word
from queries.statuses import StepName
from queries.transactions.destination_reorgs import reopen
from queries.transitions import Failure
from tests.explorer.stored_batches import ADDRESS, prove, submit_balances
from tests.queries.api.served_api import HERE, SEPOLIA, ask, make_key

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
FAILURE = Failure(
    "block_out_of_reach",
    "The block is out of reach now.",
    StepName.BLOCKHASH_AVAILABLE,
    retryable=False,
)


@pytest.fixture
def batch_id() -> str:
    """A DONE batch of two accounts; the facts of the second one are lost."""
    batch_id = submit_balances(2)
    prove(batch_id, nonce=0)
    SentTransaction.objects.update(confirmed=True)
    reopen(SentTransaction.objects.get())
    first, second = Query.objects.filter(batch=batch_id).order_by("position")
    words = {fact: number_word(1) for fact in facts_of(first).values()}
    job = BlockJob.objects.get()
    transitions.finish(job, [first.pk], words)
    assert "They are proven again at no charge" in _page(batch_id)
    transitions.reject([batch_id], FAILURE, [second])
    return batch_id


def _page(batch_id: str, suffix: str = "") -> str:
    response = Client().get(f"/explorer/query/{batch_id}{suffix}")
    assert response.status_code == 200
    return b"".join(response).decode()


def test_the_page_says_which_facts_are_lost_and_why(batch_id: str) -> None:
    page = _page(batch_id)
    assert "removed facts of 1 query after the batch was DONE" in page
    assert FAILURE.sentence in page
    assert "They are proven again" not in page
    assert re.findall(r'<tr id="query-(\d)" class="failed"', page) == ["1"]
    assert page.count("removed by a reorganisation") == 1


def test_the_api_has_no_value_of_a_lost_fact(batch_id: str) -> None:
    key = make_key()
    status = ask(key, f"/batch-queries/{batch_id}").json()
    assert status["queryStatus"] == "DONE"
    assert "rejection" not in status
    kept, lost = status["queries"]
    assert kept["values"]
    assert kept["registry"]
    assert (lost["values"], lost["registry"]) == (None, None)
    error = {"error": FAILURE.sentence, "code": FAILURE.code, "retryable": False}
    assert [step["error"] for step in lost["steps"]] == [None, None, None, error]
    (results,) = (blocks["accounts"] for blocks in status["results"][str(SEPOLIA)].values())
    assert [bool(values) for values in results.values()] == [True, False]
    queries = ask(key, f"/get_queries/{batch_id}").json()["queries"]
    assert [query["status"] for query in queries] == ["COMPLETED", "FAILED"]


def test_no_file_has_a_lost_fact(batch_id: str) -> None:
    accounts = [fact["account"] for fact in json.loads(_page(batch_id, "/facts.json"))]
    assert accounts == 3 * [ADDRESS]
    assert _page(batch_id, "/facts.csv").count("\n") == 1 + 3
    proof = Client().get(f"/explorer/query/{batch_id}/proof.json")
    assert (proof.status_code, proof.json()["code"]) == (409, "proof_unavailable")
    assert FAILURE.sentence in proof.json()["error"]
