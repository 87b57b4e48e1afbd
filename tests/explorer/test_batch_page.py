"""The page of a batch, and its refreshes."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from accounts.wallets import short_hash
from accounts.wording import format_timestamp
from queries import transitions
from queries.database import statistics, stored_facts
from queries.facts import facts_of
from queries.models import Attestation, Batch, BlockJob, ChainRecord, Query, SentTransaction, Share
from queries.proving.keccak import number_word
from queries.statuses import BatchStatus, StepName
from queries.transitions import Failure
from tests.explorer.batch_form import signed_in
from tests.explorer.page_text import visible_text
from tests.explorer.stored_batches import ADDRESS, BLOCK, prove, submit_accounts
from tests.queries.api.batch_states import HASHES, run_steps, send_transaction, set_status
from tests.queries.api.served_api import (
    ATTESTED,
    HERE,
    OPTIMISM,
    OTHER_WALLET,
    SEPOLIA,
    SIGNERS,
    WALLET,
    make_key,
    record_head,
    submitted,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
FAILURE = Failure("fee_too_low", "More.", StepName.HEADER_ACCUMULATED, retryable=False)
BALANCE = {"props": ["BALANCE"]}


def _submit(blocks: int = 1, accounts: int = 1) -> str:
    """The first block is the newest one."""
    entries = {f"0x{number + 1:040x}": BALANCE for number in range(accounts)}
    return submit_accounts(entries, *(BLOCK - number for number in range(blocks)))


def _submit_own(source: int = SEPOLIA) -> str:
    """A batch of the account that `signed_in()` signs in."""
    return submit_accounts({ADDRESS: BALANCE}, source=source, owner=WALLET)


def _get(batch_id: str, page: str = "", client: Client | None = None, **parameters: str) -> Any:
    parameters = {name.rstrip("_"): value for name, value in parameters.items()}
    return (client or Client()).get(f"/explorer/query/{batch_id}{page}", parameters)


def _words(answer: Any) -> str:
    assert answer.status_code in {200, 286}
    return visible_text(answer.text)


def _seen(answer: Any) -> str:
    return str(re.findall(r'data-seen="(\w+)"', answer.text)[0])


def test_the_sentence_and_the_value_of_a_single_fact_come_first() -> None:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    prove(batch_id)
    answer = _get(batch_id)
    sentence = f"balance of 0xd8dA…6045 · Sepolia, block {BLOCK:,}"
    heading, _, rest = answer.text.partition("</h1>")
    assert sentence in " ".join(re.sub("<[^>]*>", "", heading.partition("<h1>")[2]).split())
    assert f"<title>DONE · {sentence} → 21 ETH · Tacitus</title>" in answer.text
    assert "21 ETH" in visible_text(rest.partition("</header>")[0])
    assert "<table" not in rest.partition('class="time-line"')[0]
    time = format_timestamp(1_700_000_000 + 12 * BLOCK)
    assert f"block {BLOCK:,} · {time}" in _words(answer)
    assert "Read it in your contract" in _words(answer)
    assert f"accountField({ADDRESS}, {BLOCK}, 1)" in _words(answer)


def test_facts_are_in_one_table_in_pages() -> None:
    """A row for each query if its facts fit, or else for each fact."""
    many_accounts = _submit(accounts=60)
    first = _get(many_accounts)
    assert first.text.count('id="query-') == 50
    (following,) = re.findall(r'href="\?from=(\w+)#facts"', first.text)
    second = _get(many_accounts, from_=following)
    assert second.text.count('id="query-') == 10
    assert 'id="query-59"' in _get(many_accounts, query="57").text
    redirect = _get(many_accounts, "/57")
    assert redirect["Location"] == f"/explorer/query/{many_accounts}?query=57#query-57"
    assert _get(many_accounts, "/60").status_code == 404
    assert _get(many_accounts, from_="60").status_code == 404

    many_slots = submit_accounts({ADDRESS: {"slots": [hex(n) for n in range(70)]}}, BLOCK)
    prove(many_slots)
    first = _get(many_slots)
    assert first.text.count('<th scope="row">') == 50
    second = _get(many_slots, from_="0.50")
    assert second.text.count('<th scope="row">') == 20
    assert "slot 69" in second.text
    assert "Next facts" not in second.text

    many_blocks = submit_accounts({ADDRESS: {"props": ["BALANCE", "NONCE"]}}, *range(1, 32))
    prove(many_blocks)
    text = _get(many_blocks).text
    table = text.partition("<table")[2]
    assert len(re.findall(r"<bdi>\d+ <span class=\"unit\">ETH</span></bdi>", table)) == 31
    assert len(text) < 150_000


def test_a_fact_of_many_blocks_is_answered_in_a_line() -> None:
    balances = submit_accounts({ADDRESS: BALANCE}, *range(1, 32))
    assert "different values" not in _words(_get(balances))
    prove(balances)
    assert "1 ETH to 31 ETH 31 different values in 31 proven blocks, 1 to 31" in _words(
        _get(balances)
    )
    two = submit_accounts({ADDRESS: {"props": ["BALANCE", "NONCE"]}}, *range(1, 32))
    prove(two)
    lines = (
        "balance 1 ETH to 31 ETH 31 different values",
        "nonce 1 the same in all 31 proven blocks",
    )
    assert [line for line in lines if line not in _words(_get(two))] == []
    slots = submit_accounts({ADDRESS: {"slots": ["0x0"]}}, *range(1, 32))
    prove(slots)
    words = _words(_get(slots))
    assert "1 the same in all 31 proven blocks, 1 to 31" in words
    assert words.index("ACCOUNT_ACCUMULATED") < words.index("31 facts")  # both above the fold


def test_the_stages_add_up_to_the_duration() -> None:
    batch_id = submit_accounts({ADDRESS: BALANCE})
    prove(batch_id)
    Batch.objects.update(ended_at=F("submitted_at") + timedelta(seconds=7.3))
    for step, seconds in ((StepName.INITIAL_STATE, 1.24), (StepName.BLOCKHASH_AVAILABLE, 1.25)):
        Query.objects.update(
            **{step.completed_column: Batch.objects.get().submitted_at + timedelta(seconds=seconds)}
        )
    answer = _get(batch_id)
    assert "DONE in 7.3 s" in _words(answer)
    durations = re.findall('class="seconds">([^<]*)', _line(answer))
    assert durations == ["1.2 s", "&lt;0.1 s", "6.1 s"]


def test_a_batch_by_time_is_named_by_it_and_its_panel_has_the_block() -> None:
    data = {"timestamp:1763624463": {"header": ["TIMESTAMP"], "accounts": {ADDRESS: BALANCE}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": {str(SEPOLIA): data}}
    batch_id = submitted(make_key(WALLET), content)
    asked = "timestamp, and balance of 0xd8dA…6045 · Sepolia, 2025-11-20 07:41:03 UTC"
    assert asked in _words(_get(batch_id))
    Query.objects.update(block=BLOCK)
    prove(batch_id)
    answer = _get(batch_id)
    words = _words(answer)
    assert asked in words
    assert "2 facts all proven" in words
    assert answer.text.count('<th scope="row">') == 2
    assert f"block {BLOCK:,} · " in words
    assert "proven to be the last one at 2025-11-20 07:41:03 UTC" in words


def _line(answer: Any) -> str:
    return str(answer.text.partition('class="proof-line"')[2].partition("</ol>")[0])


def _segments(batch_id: str, query: str = "") -> list[str]:
    """The words of each segment, behind how it is drawn."""
    html = _line(_get(batch_id, query=query))
    parts = re.findall(r'<li class="segment (\w*)"[^>]*>(.*?)</li>', html, re.DOTALL)
    return [f"{rest or 'to come'}: {visible_text(words)}" for rest, words in parts]


def test_a_batch_is_queued_until_a_prover_looks_and_only_then_waits_for_finality() -> None:
    batch_id = _submit()
    first, *later = _segments(batch_id)
    assert first.startswith("moving: block INITIAL_STATE IN_PROGRESS started")
    assert re.search(r"queued <?0.\d s so far$", first)
    assert [words.partition(":")[0] for words in later] == 3 * ["to come"]
    assert all("not started" in words for words in later)
    Batch.objects.update(not_final_since=timezone.now())
    assert re.search(r"queued \S+ s final \S+ s so far$", _segments(batch_id)[0])


def test_most_queries_decide_what_the_line_shows_and_the_other_row_says_why_it_waits() -> None:
    batch_id = _submit(blocks=3)
    _make_jobs_wait(batch_id, "Too early.", code="block_not_final")
    record_head(SEPOLIA, number=BLOCK - 1, timestamp=1)
    rows = Query.objects.filter(batch=batch_id)
    BlockJob.objects.filter(block__lt=BLOCK).update(waits_for="", wait_code="")
    stored_facts.add(rows)
    for query in rows.exclude(block=BLOCK):
        assert query.job
        fact_words = {fact: number_word(7) for fact in facts_of(query).values()}
        transitions.finish(query.job, [query.pk], fact_words)
    segments = _segments(batch_id)
    assert [words.partition(":")[0] for words in segments] == ["moving", *(3 * ["to come"])]
    assert all("COMPLETED 2 of 3 started" in words for words in segments)
    assert _line(_get(batch_id)).count('<rect width="66.67%" height="66.67%"/>') == 4
    page = _get(batch_id)
    table = visible_text(page.text.partition("<table")[2])
    assert table.count("7 wei") == 2
    assert table.count("waits until its block is final Too early.") == 1
    assert "2 of 3 queries are proven." in _words(page)


def test_the_page_shows_the_steps_of_all_queries_and_of_each() -> None:
    batch_id = _submit(blocks=3)
    assert "INITIAL_STATE IN_PROGRESS 0 of 3 started" in _words(_get(batch_id))
    query = Query.objects.get(position=1)
    now = timezone.now()
    Query.objects.filter(pk=query.pk).update(
        initial_state_completed_at=now, blockhash_available_began_at=now
    )
    text = _get(batch_id).text
    words = visible_text(text)
    assert "INITIAL_STATE IN_PROGRESS 1 of 3 started" in words
    assert "BLOCKHASH_AVAILABLE IN_PROGRESS 0 of 3 started" in words
    assert "HEADER_ACCUMULATED not started 0 of 3 state trie → value ACCOUNT_ACC" in words
    assert text.count("#steps") == 3  # a link in each row
    assert "Steps of query 2 · all 3 queries" in _words(_get(batch_id, query="1"))
    first, second, *_ = _segments(batch_id, query="1")
    assert "INITIAL_STATE COMPLETED started" in first
    assert f"completed {now:%H:%M:%S}" in first
    assert "BLOCKHASH_AVAILABLE IN_PROGRESS started" in second
    assert "INITIAL_STATE IN_PROGRESS started" in _segments(batch_id, query="2")[0]
    transitions.reject([batch_id], FAILURE)
    assert "INITIAL_STATE not completed" in _words(_get(batch_id, query="2"))


def test_a_refresh_returns_changes_and_stops_when_the_batch_has_ended() -> None:
    batch_id = _submit(blocks=2)
    seen = _seen(_get(batch_id))
    same = _get(batch_id, seen=seen)
    assert (same.status_code, same.content) == (204, b"")
    run_steps(batch_id, StepName.INITIAL_STATE)
    changed = _get(batch_id, seen=seen)
    assert changed.status_code == 200
    assert changed.text.count("waits for its block") == 2
    assert changed.text.lstrip().startswith('<article class="batch"')
    seen = _seen(changed)
    assert _get(batch_id, seen=seen).status_code == 204
    set_status(batch_id, BatchStatus.ACCEPTED)
    transitions.reject([batch_id], FAILURE)
    last = _get(batch_id, seen=seen)
    assert last.status_code == 286
    assert "More." in last.text
    assert _get(batch_id, seen="REJECTED").status_code == 286
    assert 'id="live"' not in _get(batch_id).text


def _make_jobs_wait(batch_id: str, *sentences: str, code: str = "confirming") -> None:
    """One job per block, each with its wait reason."""
    for source, block in set(Query.objects.filter(batch=batch_id).values_list("source", "block")):
        assert block is not None
        job = BlockJob.objects.create(
            source=source,
            destination=SEPOLIA,
            block=block,
            waits_for=sentences[(BLOCK - block) % len(sentences)],
            wait_code=code,
        )
        Query.objects.filter(batch=batch_id, block=block).update(job=job)
    set_status(batch_id, BatchStatus.IN_PROGRESS)


def test_a_row_shows_its_wait_reason_only_if_the_batch_has_another() -> None:
    batch_id = _submit(blocks=3)
    _make_jobs_wait(batch_id, "It is sent.", "Block 5 is not final yet.", "It is sent.")
    record_head(SEPOLIA, number=BLOCK, timestamp=1)
    text = _get(batch_id).text
    assert text.count("It is sent.") == 1
    assert text.count("Block 5 is not final yet.") == 1


def test_a_wait_for_finality_says_how_much_is_left() -> None:
    batch_id = _submit()
    _make_jobs_wait(batch_id, "Not final yet.", code="block_not_final")
    record_head(SEPOLIA, number=BLOCK - 245, timestamp=1)
    ChainRecord.objects.update(block_seconds=12)
    for page in (_get(batch_id), Client().get("/explorer/batches"), Client().get("/")):
        assert "Not final yet. 245 blocks left, about 49 minutes" in _words(page)


def test_what_is_left_is_that_of_the_query_for_which_the_batch_waits() -> None:
    """Before it is ACCEPTED, this is the one at a time that is to come."""
    now = int(timezone.now().timestamp())
    record_head(SEPOLIA, number=BLOCK, timestamp=now)
    block, time = f"block:{BLOCK + 9}", f"timestamp:{now + 3_000}"
    data = {str(SEPOLIA): {key: {"accounts": {ADDRESS: BALANCE}} for key in (block, time)}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    batch_id = submitted(make_key(), content)
    set_status(
        batch_id, BatchStatus.RECEIVED, waits_for="No such time.", wait_code="time_not_reached"
    )
    assert "No such time. about 50 minutes left" in _words(_get(batch_id))


def test_facts_can_be_sorted_by_block() -> None:
    batch_id = _submit(blocks=3)
    prove(batch_id)
    assert 'href="?sort=descending#facts"' in _get(batch_id).text
    link, blocks = f"/explorer/query/{batch_id}?sort=", dict[str, list[int]]()
    for order in ("ascending", "descending"):
        text = Client().get(link + order).text
        assert f'aria-sort="{order}"' in text
        link_in_row = rf'<th scope="rowgroup"[^>]*>\s*<a href="/explorer/block/{SEPOLIA}/(\d+)"'
        found = re.findall(link_in_row, text)
        blocks[order] = list(map(int, found))
    assert len(blocks["ascending"]) == 3
    assert blocks["ascending"] == sorted(blocks["ascending"]) == blocks["descending"][::-1]


def test_the_signers_whose_attestations_were_used_are_named() -> None:
    """Not those who could have signed, or who signed another block."""
    batch_id = _submit_own(OPTIMISM)
    first, second = (signer.address for signer in SIGNERS)
    waiting = f"vouched by not yet: 2 of these must sign {first} not yet {second} not yet"
    assert waiting in _words(_get(batch_id))
    for block, signers in ((BLOCK - 1, [second]), (BLOCK + 3, [first]), (BLOCK + 9, [second])):
        voucher = {"signers": signers, "period": None, "signed": None, "game": ""}
        row = send_transaction(batch_id, nonce=block)
        SentTransaction.objects.filter(pk=row.pk).update(
            to=ATTESTED.address, recorded_block=block, voucher=voucher, is_preparation=True
        )
    prove(batch_id)
    words = _words(_get(batch_id))
    assert f"vouched by {first} signed block {BLOCK + 3:,}, in {short_hash(HASHES[0])}" in words
    assert second not in words
    by_itself = "vouched by No one: the contract reads block hashes from Sepolia itself."
    assert by_itself in _words(_get(_submit()))


def test_a_wait_for_signatures_names_the_missing_signers() -> None:
    batch_id = _submit_own(OPTIMISM)
    _make_jobs_wait(batch_id, "Too few.", code="not_attested")
    record_head(SEPOLIA, number=BLOCK, timestamp=1)
    first, second = (f"{signer.address[:6]}…{signer.address[-4:]}" for signer in SIGNERS)
    assert f"Too few. 0 of 2 signatures, waiting for {first} , {second}" in _words(_get(batch_id))
    Attestation.objects.create(
        source=OPTIMISM, destination=SEPOLIA, registry=ATTESTED.address, block=BLOCK,
        block_hash="", signer=SIGNERS[0].address, signature="", received_at=timezone.now(),
    )  # fmt: skip
    assert f"1 of 2 signatures, waiting for {second}" in _words(_get(batch_id))


def test_a_price_is_expected_from_batches_of_about_this_size() -> None:
    """Accounts of a block share its cost, so one alone costs more than one of twenty."""
    for accounts, wei in ((20, 40 * 10**15), (20, 60 * 10**15), (1, 5 * 10**15)):
        paid = _submit(accounts=accounts)
        prove(paid)
        Batch.objects.filter(pk=paid).update(spent=f"{wei:064x}")
    expected = "ETH expected, as batches of this size cost lately"
    costs = {1: "about 0.005000", 2: "about 0.010000", 15: "0.030000 to 0.045000"}
    for accounts, cost in costs.items():
        assert f"{cost} {expected}" in _words(_get(_submit(accounts=accounts)))
    assert expected not in _words(_get(_submit(accounts=5)))


@pytest.mark.parametrize(("minutes", "is_long"), [(2, False), (4, True)])
def test_a_wait_of_three_times_the_usual_says_who_can_act(minutes: int, is_long: bool) -> None:
    statistics.add_counts(timezone.now(), {"done_within_60": 10})
    batch_id = _submit()
    _make_jobs_wait(batch_id, "Too expensive.", code="daily_budget_spent")
    record_head(SEPOLIA, number=BLOCK, timestamp=1)
    Batch.objects.update(submitted_at=timezone.now() - timedelta(minutes=minutes))
    sentence = "half of the batches here are DONE within 1 minute. The operator can"
    assert (sentence in _words(_get(batch_id))) is is_long
    # Its block has become final a minute ago.
    completed = {StepName.INITIAL_STATE.completed_column: timezone.now() - timedelta(minutes=1)}
    Query.objects.update(**completed)
    assert sentence not in _words(_get(batch_id))


def _share(transaction: SentTransaction, costs: Mapping[str, int]) -> None:
    for batch_id, wei in costs.items():
        Share.objects.create(
            transaction=transaction, batch_id=batch_id, max_cost=f"{wei:064x}", paid=f"{wei:064x}"
        )


def test_the_cost_of_a_batch_is_its_share_shown_once() -> None:
    small, large, third = (_submit() for _ in range(3))
    prove(small)
    _share(send_transaction(small), {small: 2 * 10**12, large: 97 * 10**12, third: 10**12})
    words = _words(_get(small))
    cost = f"3,409 gas · 2,000 gwei its 2 % of {short_hash(HASHES[0])}"
    assert words.count(cost) == 1, words
    assert "170,480" not in words
    assert words.count("shared with 2 other batches") == 1
    assert "fee ceiling" not in words  # it is free here
    _share(send_transaction(small, nonce=1), {small: 10**12})
    words = _words(_get(small))
    assert "173,889 gas · 3,000 gwei 3,409 gas · 2,000 gwei, its 2 % of" in words
    assert f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}" in _get(small).text


def test_a_batch_can_be_cancelled_by_its_owner_until_a_transaction_is_signed() -> None:
    batch_id = _submit_own()
    action = f'action="/dashboard/batches/{batch_id}/cancel"'
    owner = signed_in()
    assert action in _get(batch_id, client=owner).text
    for client in (Client(), signed_in(OTHER_WALLET)):
        assert "Cancel" not in _get(batch_id, client=client).text
    seen = _seen(_get(batch_id, client=owner))
    _share(send_transaction(batch_id, mined=False), {batch_id: 1})
    assert action not in _get(batch_id, client=owner).text
    refreshed = _get(batch_id, client=owner, seen=seen)
    assert refreshed.status_code == 200
    assert "Cancel" not in refreshed.text


def test_a_rejected_batch_says_the_cause_and_lets_its_owner_submit_it_again() -> None:
    batch_id = _submit_own()
    transitions.reject([batch_id], FAILURE)
    again = f'href="/dashboard/new-batch?batch={batch_id}"'
    answer = _get(batch_id, client=signed_in())
    assert again in answer.text
    assert answer.text.index("More.") < answer.text.index("registry")
    assert again not in _get(batch_id).text


def test_the_query_that_failed_is_marked() -> None:
    batch_id = _submit(accounts=3)
    failing = Query.objects.filter(batch=batch_id, position=1)
    run_steps(batch_id, StepName.INITIAL_STATE, completed=False)
    transitions.reject([batch_id], FAILURE, failing)
    answer = _get(batch_id)
    assert re.findall(r'<tr id="query-(\d)" class="failed"', answer.text) == ["1"]
    assert "1 query failed" in _words(answer)
    assert _words(answer).count("not proven") == 2
