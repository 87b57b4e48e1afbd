"""The status page: one sentence, and details as far as the operator makes them public."""

import re
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.database import statistics
from queries.models import Batch, ChainRecord, NodeRecord, Query
from tests.explorer.page_text import page_text
from tests.explorer.stored_batches import submit_balances
from tests.queries.api.served_api import HERE, LONELY, OPTIMISM, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


@pytest.fixture(autouse=True)
def _healthy() -> None:
    for chain in (SEPOLIA, OPTIMISM, LONELY):
        record_head(chain, number=5_186_021, timestamp=int(timezone.now().timestamp()))
        NodeRecord.objects.create(
            chain=chain, position=1, recorded_at=timezone.now(), number=5_186_021
        )


def _text(client: Client | None = None, path: str = "/status") -> str:
    return page_text(path, client)


def test_the_page_says_in_a_sentence_that_everything_works() -> None:
    submit_balances()
    text = _text()
    assert "All systems work." in text
    assert "1 batch waits." in text
    assert re.search("Sepolia works 5,186,021 (now|[0-9]+ seconds? ago) 5,186,021 ", text)


def test_a_chain_whose_nodes_are_silent_is_named() -> None:
    ago = timezone.now() - timedelta(minutes=5, seconds=10)
    ChainRecord.objects.filter(chain=OPTIMISM).update(recorded_at=ago)
    problem = "Proving with OP Mainnet is delayed: none of its nodes has answered for 5 minutes."
    assert problem in _text()
    ChainRecord.objects.filter(chain=OPTIMISM).update(recorded_at=timezone.now())
    assert "All systems work." in _text()
    NodeRecord.objects.filter(chain=OPTIMISM).update(fault="nodes_unreachable")
    assert "OP Mainnet is delayed: none of its nodes has answered for" in _text()
    ChainRecord.objects.filter(chain=OPTIMISM).update(recorded_at=None)
    assert "OP Mainnet is delayed: none of its nodes has answered yet." in _text()


def test_a_chain_that_makes_no_blocks_is_named() -> None:
    now = timezone.now()
    records = ChainRecord.objects.filter(chain=OPTIMISM)
    records.update(block_seconds=12, new_block_at=now - timedelta(minutes=3))
    assert "All systems work." in _text()
    records.update(new_block_at=now - timedelta(minutes=10, seconds=5))
    problem = "it has had no new block for 10 minutes, although its nodes answer."
    for path in ("/status", "/"):
        assert f"Proving with OP Mainnet is delayed: {problem}" in _text(path=path)
    assert "OP Mainnet no new block for 10 min 5 s" in _text()
    records.update(block_seconds=3_600)
    assert "All systems work." in _text()


def test_a_service_without_a_prover_says_so() -> None:
    ChainRecord.objects.update(polled_at=timezone.now() - timedelta(hours=3))
    assert "Nothing is proven at the moment: no prover has been seen for 3 hours." in _text()
    ChainRecord.objects.all().delete()
    assert "Nothing is proven: no prover has been seen yet." in _text()


def test_batches_that_wait_too_long_are_counted() -> None:
    statistics.add_counts(timezone.now(), {"batches_done": 9, "done_within_30": 9})
    new = submit_balances()
    assert "All systems work." in _text()
    submitted = timezone.now() - timedelta(seconds=91)
    old = Batch.objects.get()
    old.pk = str(ULID.from_datetime(submitted))
    old.idempotency_key, old.submitted_at = "another", submitted
    old.save(force_insert=True)
    text = _text()
    assert "Half of the batches are DONE within 30 seconds." in text
    assert "you need not send them again" in text
    assert "1 batch has waited more than 3 times as long as usual." in text
    assert "2 batches wait." in text
    reason = {"wait_code": "node_behind", "waits_for": "Node 2 of Sepolia is 9 blocks behind."}
    Batch.objects.update(**reason)
    text = _text()
    assert "On Sepolia → Sepolia: Node 2 of Sepolia is 9 blocks behind. node_behind" in text
    assert 'href="/explorer/batches?status=LATE"' in Client().get("/status").text
    late = Client().get("/explorer/batches", {"status": "LATE"}).text
    assert "1 batch, newest first" in page_text("/explorer/batches?status=LATE")
    assert f'href="/explorer/query/{old.pk}"' in late
    query = Query.objects.get(batch=new)
    query.pk, query.batch, query.initial_state_completed_at = None, old, timezone.now()
    query.save(force_insert=True)  # its block has just become final
    assert "All systems work." in _text()
    Query.objects.filter(batch=old).update(initial_state_completed_at=submitted)
    assert "1 batch has waited" in _text()
    Batch.objects.filter(pk=old.pk).update(wait_code="time_not_reached")
    assert "All systems work." in _text()


def test_the_page_has_a_history_of_30_days() -> None:
    assert "DONE" not in _text()
    now = timezone.now()
    statistics.add_counts(now, {"batches_done": 1})
    assert "1 batch was DONE today." in _text()
    statistics.add_counts(now - timedelta(days=5), {"batches_done": 3, "batches_rejected": 2})
    assert "4 batches were DONE in the last 6 days; 2 were rejected." in _text()
    assert 'class="chart"' not in Client().get("/status").text

    statistics.add_counts(now - timedelta(days=6), {"gas": 90_000})
    day = now - timedelta(days=5)
    text = _text()
    assert f"4 batches DONE in 7 days, most on {day.day} {day:%B}; 2 rejected" in text
    assert f"{day.day} {day:%B %Y} 3 2" in text
    assert f"{now.day} {now:%B %Y} 1 0" in text
    assert "were DONE in the last" not in text

    statistics.add_counts(now - timedelta(days=29), {"batches_done": 10})
    statistics.add_counts(now - timedelta(days=30), {"batches_done": 1_000})
    assert "14 batches DONE in 30 days, most on " in _text()


def test_the_history_counts_rejected_batches_if_none_was_done() -> None:
    now = timezone.now()
    statistics.add_counts(now - timedelta(days=40), {"batches_done": 1})
    assert 'class="chart"' not in Client().get("/status").text
    statistics.add_counts(now, {"batches_rejected": 1_200})
    assert "0 batches DONE in 30 days; 1,200 rejected" in _text()


def test_the_start_page_says_whether_all_works() -> None:
    text = _text(path="/")
    assert "All systems work" in text
    NodeRecord.objects.filter(chain=OPTIMISM).update(fault="nodes_unreachable")
    sentence = "Proving with OP Mainnet is delayed: none of its nodes has answered for"
    assert sentence in _text(path="/")
    changes = Client().get("/explorer/chains")
    assert sentence in changes.text
    assert 'id="standing"' in changes.text


def test_nodes_are_shown_to_operators_or_by_a_setting(settings: LazySettings) -> None:
    NodeRecord.objects.filter(chain=SEPOLIA).update(fault="node_timeout", number=None)
    operator = Client()
    account, _ = Account.objects.get_or_create_for_wallet(Wallet(f"0x{40 * 'a'}"))
    account.is_operator = True
    account.save()
    operator.force_login(account)
    assert "node_timeout" not in _text()
    assert "Sepolia, node 1 failed node_timeout" in _text(operator)
    settings.STATUS_PAGE = "FULL"
    text = _text()
    assert "Sepolia, node 1 failed node_timeout" in text
    assert "OP Mainnet works 1 of 1 node answers" in text
    assert "127.0.0.1" not in text
