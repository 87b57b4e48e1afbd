"""The page of a batch, and its refreshes."""

import re
from typing import Any

import pytest
from django.test import Client

from queries import transitions
from queries.models import BlockJob, Query
from queries.statuses import BatchStatus, StepName
from queries.transitions import Failure
from tests.explorer.stored_batches import BLOCK, submit_accounts
from tests.queries.api.batch_states import run_steps, set_status
from tests.queries.api.served_api import HERE, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _submit(blocks: int, accounts: int = 2) -> str:
    """The first block is the newest one."""
    entries = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(accounts)}
    return submit_accounts(entries, *(BLOCK - number for number in range(blocks)))


def _page(batch_id: str, **parameters: str) -> Any:
    return Client().get(f"/explorer/query/{batch_id}", parameters)


def _changes(batch_id: str, seen: str, open_blocks: str = "", rows: str = "") -> Any:
    parameters = {"seen": seen, "open": open_blocks, "rows": rows}
    return Client().get(f"/explorer/query/{batch_id}/changes", parameters)


def _marks(text: str) -> str:
    return ".".join(re.findall(r'data-mark="([^"]+)"', text))


def test_blocks_of_a_large_batch_load_on_demand() -> None:
    batch_id = _submit(blocks=3, accounts=60)
    text = _page(batch_id).text
    assert text.count('id="marks-') == 0
    address = f"/explorer/query/{batch_id}/block"
    block = Client().get(address, {"open": f"{SEPOLIA}-{BLOCK - 1}"}).text
    assert block.count('id="marks-') == 50
    (more,) = re.findall(r'hx-get="([^"]+/block[^"]+)"', block)
    assert Client().get(more).text.count('id="marks-') == 10
    assert Client().get(address, {"open": "5-5"}).status_code == 404


def test_a_refresh_returns_changed_parts_and_stops_when_the_batch_has_ended() -> None:
    batch_id = _submit(blocks=2)
    first = _page(batch_id).text
    open_blocks = f"{SEPOLIA}-{BLOCK}:0,{SEPOLIA}-{BLOCK - 1}:2"
    same = _changes(batch_id, _marks(first), open_blocks)
    assert (same.status_code, same.content) == (204, b"")
    run_steps(batch_id, StepName.INITIAL_STATE)
    changed = _changes(batch_id, _marks(first), open_blocks, rows="0,3")
    assert changed.status_code == 200
    assert 'id="state" data-mark="' in changed.text
    # The state, two blocks, the marks of four queries, and two open queries.
    assert changed.text.count('hx-swap-oob="true"') == 1 + 2 + 4 + 2
    seen = _marks(changed.text)
    assert _changes(batch_id, seen, open_blocks).status_code == 204
    failure = Failure("fee_too_low", "More.", StepName.HEADER_ACCUMULATED, retryable=False)
    set_status(batch_id, BatchStatus.ACCEPTED)
    transitions.reject([batch_id], failure)
    last = _changes(batch_id, seen, open_blocks)
    assert last.status_code == 286
    assert "More." in last.text
    assert _changes(batch_id, _marks(last.text), open_blocks).status_code == 286
    assert 'id="live"' not in _page(batch_id).text


def _make_jobs_wait(batch_id: str, *sentences: str, code: str = "confirming") -> None:
    """One job per block, each with its wait reason."""
    for number, sentence in enumerate(sentences):
        block = BLOCK - number
        job = BlockJob.objects.create(
            source=SEPOLIA, destination=SEPOLIA, block=block, waits_for=sentence, wait_code=code
        )
        Query.objects.filter(batch=batch_id, block=block).update(job=job)
    set_status(batch_id, BatchStatus.IN_PROGRESS)
    record_head(SEPOLIA, number=BLOCK, timestamp=1)


def test_a_block_shows_its_wait_reason_only_if_the_batch_has_another() -> None:
    batch_id = _submit(blocks=3)
    _make_jobs_wait(batch_id, "It is sent.", "Block 5 is not final yet.", "It is sent.")
    text = _page(batch_id).text
    assert text.count("It is sent.") == 1
    assert text.count("Block 5 is not final yet.") == 1
    # Another common reason changes the heads of all three blocks.
    BlockJob.objects.filter(block=BLOCK).update(waits_for="Block 5 is not final yet.")
    changed = _changes(batch_id, _marks(text))
    assert changed.text.count("Block 5 is not final yet.") == 1
    assert changed.text.count("It is sent.") == 1
    assert changed.text.count('<span class="block-head"') == 3
