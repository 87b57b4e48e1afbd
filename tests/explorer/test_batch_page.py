"""The batch page, and what it asks for while something moves."""

import re
from typing import Any

import pytest
from django.test import Client

from queries import transitions
from queries.models import BlockJob, Query
from queries.statuses import BatchStatus, StepName
from queries.transitions import Failure
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, record_head, submitted
from tests.queries.api.worked_batches import run_steps, set_status

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _submitted(blocks: int = 1, accounts: int = 2) -> str:
    people = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(accounts)}
    data = {f"block:{5186021 - number}": {"accounts": people} for number in range(blocks)}
    content = {
        "destinationChainId": str(SEPOLIA),
        "fee": "0",
        "data": {str(SEPOLIA): data},
        "webhook": {"url": "https://example.org/hook", "headers": {"X-Mine": "hunter2"}},
    }
    return submitted(make_key(), content)


def _page(batch_id: str, **parameters: str) -> Any:
    return Client().get(f"/explorer/query/{batch_id}", parameters)


def _changes(batch_id: str, seen: str, opened: str = "", rows: str = "") -> Any:
    told = {"seen": seen, "open": opened, "rows": rows}
    return Client().get(f"/explorer/query/{batch_id}/changes", told)


def _seen(text: str) -> str:
    return ".".join(re.findall(r'data-mark="([^"]+)"', text))


def test_a_large_batch_is_opened_on_demand() -> None:
    batch_id = _submitted(blocks=3, accounts=60)
    text = _page(batch_id).text
    assert text.count('id="marks-') == 0
    opened = Client().get(f"/explorer/query/{batch_id}/block", {"open": f"{SEPOLIA}-5186020"}).text
    assert opened.count('id="marks-') == 50
    (more,) = re.findall(r'hx-get="([^"]+/block[^"]+)"', opened)
    assert Client().get(more).text.count('id="marks-') == 10
    assert Client().get(f"/explorer/query/{batch_id}/block", {"open": "5-5"}).status_code == 404


def test_only_what_has_changed_comes_back_and_the_last_answer_stops_it() -> None:
    batch_id = _submitted(blocks=2)
    first = _page(batch_id).text
    opened = f"{SEPOLIA}-5186021:0,{SEPOLIA}-5186020:2"
    same = _changes(batch_id, _seen(first), opened)
    assert (same.status_code, same.content) == (204, b"")
    run_steps(batch_id, StepName.INITIAL_STATE)
    changed = _changes(batch_id, _seen(first), opened, rows="0,3")
    assert changed.status_code == 200
    assert 'id="state" data-mark="' in changed.text
    # The state, two blocks, each query's marks, and those two that are open.
    assert changed.text.count('hx-swap-oob="true"') == 1 + 2 + 4 + 2
    seen = _seen(changed.text)
    assert _changes(batch_id, seen, opened).status_code == 204
    failure = Failure("fee_too_low", "More.", StepName.HEADER_ACCUMULATED, retryable=False)
    set_status(batch_id, BatchStatus.ACCEPTED)
    transitions.reject([batch_id], failure)
    last = _changes(batch_id, seen, opened)
    assert last.status_code == 286
    assert "More." in last.text
    assert _changes(batch_id, _seen(last.text), opened).status_code == 286
    assert 'id="live"' not in _page(batch_id).text


def _waiting(batch_id: str, *sentences: str, code: str = "confirming") -> None:
    """A job for each block, which waits for this."""
    for number, sentence in enumerate(sentences):
        block = 5186021 - number
        job = BlockJob.objects.create(
            source=SEPOLIA, destination=SEPOLIA, block=block, waits_for=sentence, wait_code=code
        )
        Query.objects.filter(batch=batch_id, block=block).update(job=job)
    set_status(batch_id, BatchStatus.IN_PROGRESS)
    record_head(SEPOLIA, number=5186021, timestamp=1)


def test_a_block_says_what_the_batch_as_a_whole_does_not() -> None:
    batch_id = _submitted(blocks=3)
    _waiting(batch_id, "It is sent.", "Block 5 is not final yet.", "It is sent.")
    text = _page(batch_id).text
    assert text.count("It is sent.") == 1
    assert text.count("Block 5 is not final yet.") == 1
    # As soon as another block speaks for the whole, the first one's head is sent again.
    BlockJob.objects.filter(block=5186021).update(waits_for="Block 5 is not final yet.")
    changed = _changes(batch_id, _seen(text))
    assert changed.text.count("Block 5 is not final yet.") == 1
    assert changed.text.count("It is sent.") == 1
    assert changed.text.count('<span class="block-head"') == 3
