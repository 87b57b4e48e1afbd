"""What every batch's page has without a click, whatever became of the batch."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.wording import format_utc
from queries import transitions
from queries.intake.cancel import cancel
from queries.models import Attestation, Batch, BlockJob, Query
from queries.statuses import BatchStatus, DeliveryState, StepName
from queries.transitions import Failure
from tests.accessibility import serious_problems
from tests.browser import Pictures, assert_fits
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    attach,
    prove,
    send_delivery,
    set_delivery,
    set_word,
    submit_accounts,
)
from tests.queries.api.batch_states import send_transaction, set_status
from tests.queries.api.served_api import ATTESTED, HERE, OPTIMISM, SEPOLIA, SIGNERS, record_head

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]
BALANCE = {"props": ["BALANCE"]}
FAILURE = Failure(
    "block_out_of_reach",
    "Block 5,186,021 is out of reach: it is 9,000 blocks before the nearest one.",
    StepName.BLOCKHASH_AVAILABLE,
    retryable=False,
)
CALL = {"to": ADDRESS, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
COMPLETED, RUNNING, TO_COME = "COMPLETED", "IN_PROGRESS", "not started"


def _begin(batch_id: str, *completed: StepName) -> None:
    """Have a prover work on the batch, and complete these steps."""
    attach(batch_id)
    set_status(batch_id, BatchStatus.ACCEPTED)
    start, columns = timezone.now(), dict[str, object]()
    for number, step in enumerate(StepName):
        moment = start + timedelta(seconds=number)
        if step in completed or number == len(completed):
            columns[step.began_column] = moment
        if step in completed:
            columns[step.completed_column] = moment + timedelta(seconds=1)
    Query.objects.filter(batch=batch_id).update(**columns)
    if len(completed) > 1:
        set_status(batch_id, BatchStatus.IN_PROGRESS)


def _wait(batch_id: str, code: str, sentence: str) -> None:
    BlockJob.objects.filter(queries__batch=batch_id).update(waits_for=sentence, wait_code=code)


def _received() -> str:
    return submit_accounts({ADDRESS: BALANCE})


def _in_progress() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    _begin(batch_id, StepName.INITIAL_STATE, StepName.BLOCKHASH_AVAILABLE)
    send_transaction(batch_id, nonce=1, mined=False)
    _wait(batch_id, "transaction_pending", "Its transaction is not mined yet.")
    return batch_id


def _not_final() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    _begin(batch_id)
    set_status(batch_id, BatchStatus.ACCEPTED, not_final_since=timezone.now())
    _wait(batch_id, "block_not_final", f"Block {BLOCK:,} is not final yet.")
    return batch_id


def _not_attested() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE}, source=OPTIMISM)
    _begin(batch_id, StepName.INITIAL_STATE)
    _wait(batch_id, "not_attested", "Too few signers have attested the block.")
    Attestation.objects.create(
        source=OPTIMISM, destination=SEPOLIA, registry=ATTESTED.address, block=BLOCK,
        block_hash="", signer=SIGNERS[0].address, signature="", received_at=timezone.now(),
    )  # fmt: skip
    return batch_id


def _done() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    prove(batch_id, nonce=2)
    set_word(batch_id, "BALANCE", 1_234_567_123456789012345678)
    return batch_id


def _mostly_done() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE}, *range(BLOCK, BLOCK + 3))
    prove(batch_id)
    last_job = BlockJob.objects.get(block=BLOCK + 2, queries__batch=batch_id)
    columns = [name for step in StepName for name in (step.began_column, step.completed_column)]
    waiting = Query.objects.filter(batch=batch_id, job=last_job)
    waiting.update(has_ended=False, **dict.fromkeys(columns[1:]))
    set_status(batch_id, BatchStatus.IN_PROGRESS, ended_at=None, not_final_since=timezone.now())
    last_job.facts.update(proven_at=None)
    BlockJob.objects.filter(pk=last_job.pk).update(
        waits_for=f"Block {BLOCK + 2:,} is not final yet.", wait_code="block_not_final"
    )
    return batch_id


def _rejected() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    _begin(batch_id, StepName.INITIAL_STATE)
    transitions.reject([batch_id], FAILURE)
    return batch_id


def _cancelled() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    cancel(Batch.objects.get(pk=batch_id).owner, batch_id)
    return batch_id


def _not_delivered() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE}, deliver=[CALL])
    prove(batch_id)
    send_delivery(batch_id, 0, nonce=3, succeeded=False)
    error = {"error_code": "contract_refuses", "error_sentence": "The contract reverts: too late."}
    set_delivery(batch_id, 0, DeliveryState.FAILED, ended_at=timezone.now(), **error)
    return batch_id


def _only_delivered() -> str:
    batch_id = submit_accounts({ADDRESS: BALANCE}, deliver=[CALL])
    Batch.objects.filter(pk=batch_id).update(proves=False)
    transitions.deliver_only(batch_id)
    send_delivery(batch_id, 0, nonce=4)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=timezone.now())
    return batch_id


# Parts of the large value, between groups and at the decimal point, that take two lines.
BROKEN_DIGITS = """() => {
  const value = document.querySelector(".headline .decoded-value bdi");
  return [...(value?.childNodes ?? [])].filter((text) => text.data).map((text) => {
    const range = document.createRange();
    range.setStart(text, 0);
    range.setEnd(text, text.data.search(/ |$/));
    return [text.data, new Set([...range.getClientRects()].map((box) => box.top)).size];
  }).filter(([, lines]) => lines > 1);
}"""
STATES: dict[str, tuple[Callable[[], str], str, list[str]]] = {
    "received": (_received, "RECEIVED", [RUNNING, TO_COME, TO_COME, TO_COME]),
    "in-progress": (_in_progress, "IN_PROGRESS", [COMPLETED, COMPLETED, RUNNING, TO_COME]),
    "not-final": (_not_final, "ACCEPTED", [RUNNING, TO_COME, TO_COME, TO_COME]),
    "not-attested": (_not_attested, "ACCEPTED", [COMPLETED, RUNNING, TO_COME, TO_COME]),
    "done": (_done, "DONE", 4 * [COMPLETED]),
    "mostly-done": (_mostly_done, "IN_PROGRESS", 4 * [COMPLETED]),
    "rejected": (_rejected, "REJECTED", [COMPLETED, "not completed", TO_COME, TO_COME]),
    "cancelled": (_cancelled, "REJECTED", ["not completed", TO_COME, TO_COME, TO_COME]),
    "not-delivered": (_not_delivered, "DONE", 4 * [COMPLETED]),
    "only-delivered": (_only_delivered, "DONE", [COMPLETED]),
}


def test_every_batch_page_shows_what_the_specification_lists_without_a_click(
    page: Page, plain_page: Page, live_server: LiveServer, pictures: Pictures
) -> None:
    """Its identifier, when it was submitted, destination, fee, status, and each step with status,
    start and completion; without scripts.
    """
    record_head(SEPOLIA, number=BLOCK - 245, timestamp=1)
    record_head(OPTIMISM, number=BLOCK, timestamp=1)
    for name, (make, status, steps) in STATES.items():
        batch = Batch.objects.get(pk=make())
        url = f"{live_server.url}/explorer/query/{batch.pk}"
        plain_page.set_viewport_size({"width": 1280, "height": 900})
        plain_page.goto(url)
        rows = {
            "batch": batch.pk,
            "status": status,
            "submitted": format_utc(batch.submitted_at),
            "fee": "0 offered",
        }
        for term, text in rows.items():
            row = plain_page.locator(
                ".key-values > div", has=plain_page.get_by_text(term, exact=True)
            )
            expect(row.locator("dd").first).to_contain_text(text)
            expect(row.locator("dd").first).to_be_visible()
        line = plain_page.locator(".proof-line")
        expect(line.locator(".end").last).to_have_text("Sepolia")
        expect(line.locator("li:has(code) > .state .mark")).to_have_text(steps)
        for step, state in zip(line.locator("li:has(code)").all(), steps, strict=True):
            expect(step.locator("code").first).to_be_visible()
            expect(step.locator(".mark")).to_be_visible()
            times = step.locator(".when time")
            expect(times).to_have_count({COMPLETED: 2, TO_COME: 0}.get(state, 1))
            assert all(moment.is_visible() for moment in times.all())
        plain_page.emulate_media(media="print")
        assert_fits(plain_page, 700)
        plain_page.emulate_media(media="screen")
        page.goto(url)
        assert_fits(page, 1280, 390, 320)
        assert page.evaluate(BROKEN_DIGITS) == []
        assert serious_problems(page) == [], name
        pictures.check_fit(page, f"batch-{name}", (320, 390, 1280))
        if pictures.enabled:
            plain_page.emulate_media(media="print")
            pictures.take(plain_page, f"batch-{name}-print")
            plain_page.emulate_media(media="screen")
