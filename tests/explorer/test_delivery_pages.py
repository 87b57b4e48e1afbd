"""Deliveries on the pages of batches and transactions."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from accounts.wording import format_utc
from queries.database.clock import shared_now
from queries.models import Batch, ChainRecord, Delivery, SentTransaction
from queries.statuses import DeliveryState
from tests.explorer.batch_form import FORM_URL, send, signed_in
from tests.explorer.page_text import textarea, visible_text
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    ETHER,
    prove,
    send_delivery,
    set_delivery,
    submit_accounts,
)
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    SEPOLIA,
    WALLET,
    ask,
    make_key,
    submitted,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
BALANCE = {"props": ["BALANCE"]}
CONTRACT = "0x1111111111111111111111111111111111111111"
UPDATE = {"to": CONTRACT, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
IS_DONE = "isDone(uint256) view returns (bool)"
VOTES = {
    "to": CONTRACT,
    "function": "count((address voter,uint256 weight)[] votes,bool isLast)",
    "args": [[[WALLET, "7"], [OTHER_WALLET, f"$value({ADDRESS}.BALANCE)"]], True],
    "gas": "250000",
    "unless": {"function": IS_DONE, "args": ["$block"]},
    "errors": ["Stale(uint256 block)"],
}
REASON = {"error_code": "contract_refuses", "error_sentence": "The contract reverts: too late."}


def submit_deliveries(*calls: object, owner: str = "") -> str:
    return submit_accounts({ADDRESS: BALANCE}, owner=owner, deliver=calls)


def _page(batch_id: str, client: Client | None = None) -> Any:
    return (client or Client()).get(f"/explorer/query/{batch_id}")


def _deliveries(batch_id: str) -> list[str]:
    """The words of each delivery."""
    section = _page(batch_id).text.partition('<ol class="rows calls"')[2].partition("</ol>")[0]
    return [visible_text(item) for item in section.split("<li>")[1:]]


def _list_words() -> str:
    return visible_text(Client().get("/explorer/batches").text)


def test_a_delivery_is_shown_with_its_arguments_before_and_after_it_is_sent() -> None:
    batch_id = submit_deliveries(UPDATE, VOTES)
    first, second = _deliveries(batch_id)
    assert "WAITING update(uint256) It is sent once the batch is DONE." in first
    assert f"uint256 {BLOCK:,} Copy {BLOCK} for $block" in first
    assert f"votes[0].voter address {WALLET} Copy" in second
    assert "votes[0].weight uint256 7 votes[1].voter" in second
    unknown = f"votes[1].weight uint256 $value({ADDRESS}.BALANCE) filled in before it is sent"
    assert f"{unknown} isLast bool true" in second
    assert f"Not sent if {IS_DONE} is true, with uint256 {BLOCK:,}" in second
    prove(batch_id)
    value = f"21 ETH Copy votes[1].weight {21 * ETHER:,} wei for $value({ADDRESS}.BALANCE)"
    assert f"votes[1].weight uint256 {value}" in _deliveries(batch_id)[1]
    hash_ = send_delivery(batch_id, 0, nonce=7)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=shared_now())
    first, second = _deliveries(batch_id)
    assert first.startswith(f"1 DELIVERED update(uint256) Contract {CONTRACT} ")
    gas = "in block 6,000,001 Gas 45,210 used, 100,000 for the contract, set by the request"
    assert f"{gas} Ended now" in re.sub("[0-9]+ seconds? ago", "now", first)
    assert f'href="/explorer/transaction/{SEPOLIA}/{hash_}"' in _page(batch_id).text
    set_delivery(batch_id, 1, DeliveryState.SKIPPED)
    assert "There was nothing to do: its condition was true." in _deliveries(batch_id)[1]


def test_many_arguments_fold_and_long_bytes_too() -> None:
    calls = [
        {"to": CONTRACT, "function": "add(uint256[])", "args": [[f"{n}" for n in range(400)]]},
        {"to": CONTRACT, "function": "put(bytes)", "args": [f"0x{'ab' * 5_000}"]},
        {"to": CONTRACT, "function": "until(uint64 deadline)", "args": ["1800000000"]},
    ]
    text = _page(submit_deliveries(*calls)).text
    words = visible_text(text)
    assert "[11] uint256 11 288 more values [12] uint256 12" in words
    assert "[299] uint256 299 The CSV file has the rest." in words
    assert "bytes 5,000 bytes 0xabab" in words
    assert "deadline uint64 2027-01-15 08:00:00 UTC" in words
    assert len(text) < 200_000


def test_a_reason_of_several_deliveries_stands_once() -> None:
    """Those behind a delivery that is tried again say when, on the page and in the API."""
    batch_id = submit_deliveries(*[UPDATE] * 4)
    prove(batch_id)
    send_delivery(batch_id, 0, nonce=7)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=shared_now())
    retry_at = shared_now() + timedelta(minutes=5)
    Delivery.objects.filter(position=1).update(
        refusals=2, due_at=retry_at, wait_code="contract_refuses", waits_for="Too early."
    )
    text = _page(batch_id).text
    sentence = f"Sent after delivery 2, which is tried again at {format_utc(retry_at)}."
    assert text.count(sentence) == 1
    words = visible_text(text)
    assert f"Deliveries 3 and 4: {sentence} earlier_delivery" in words
    answer = ask(make_key(), "/batch-query-status", batchQueryId=batch_id)
    entries = answer.json()["deliveries"]
    assert [entry["waitCode"] for entry in entries] == [
        None, "contract_refuses", "earlier_delivery", "earlier_delivery",
    ]  # fmt: skip
    assert entries[3]["waitsFor"] == sentence
    for position in range(4):
        set_delivery(batch_id, position, DeliveryState.FAILED, wait_code="", **REASON)
    text = _page(batch_id).text
    assert "4 deliveries: The contract reverts: too late. contract_refuses" in visible_text(text)
    assert text.count("too late") == 1


def test_usage_shows_the_gas_of_an_accounts_deliveries() -> None:
    """Those of one day, on each chain, by what the present signer has sent."""
    for nonce, (days, owner) in enumerate(((0, WALLET), (0, WALLET), (2, WALLET), (0, ""))):
        hash_ = send_delivery(submit_deliveries(UPDATE, owner=owner), 0, nonce=nonce)
        sent = SentTransaction.objects.filter(mined_hash=hash_)
        sent.update(signed_at=shared_now() - timedelta(days=days))
    ChainRecord.objects.create(chain=SEPOLIA, signer=sent.get().sender)
    usage = visible_text(signed_in().get("/dashboard/usage").text)
    assert "Sepolia gas of deliveries in 24 hours 90,420 of 100,000,000" in usage


def test_a_failed_delivery_says_why_and_links_to_the_code() -> None:
    batch_id = submit_deliveries(UPDATE)
    prove(batch_id)
    reason = {"wait_code": "contract_refuses", "waits_for": "The contract reverts: too early."}
    set_delivery(batch_id, 0, DeliveryState.WAITING, **reason)
    Delivery.objects.update(refusals=2, due_at=shared_now() + timedelta(minutes=5))
    (delivery,) = _deliveries(batch_id)
    assert "WAITING update(uint256) The contract reverts: too early." in delivery
    assert "Attempts 2 of at most 8, refused Next try in 4 minutes" in delivery
    set_delivery(batch_id, 0, DeliveryState.FAILED, wait_code="", ended_at=shared_now(), **REASON)
    assert "FAILED update(uint256) The contract reverts: too late." in _deliveries(batch_id)[0]
    assert 'href="/docs/status#codes-of-a-delivery"' in _page(batch_id).text


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ("SENT", "being delivered"),
        ("DELIVERED", "delivered"),
        ("FAILED", "delivery failed"),
        ("SKIPPED", "nothing to deliver"),
        ("DELIVERED SKIPPED WAITING", "2 of 3 delivered"),
        ("DELIVERED FAILED WAITING", "1 of 3 deliveries failed"),
        ("DELIVERED DELIVERED", "2 delivered"),
        ("DELIVERED SKIPPED", "1 delivered, 1 skipped"),
    ],
)
def test_lists_say_what_became_of_deliveries(states: str, words: str) -> None:
    calls = states.split()
    batch_id = submit_deliveries(*[UPDATE] * len(calls))
    assert words not in _list_words()
    prove(batch_id)
    for position, state in enumerate(calls):
        set_delivery(batch_id, position, DeliveryState(state))
    assert f" {words} " in _list_words()
    assert f" {words} " in visible_text(Client().get("/").text)
    standing = _page(batch_id).text.partition('<p class="standing">')[2].partition("</p>")[0]
    assert visible_text(standing).endswith(f" {words}")


def test_delivering_is_a_stage_of_its_own_and_a_cost_of_its_own() -> None:
    batch_id = submit_deliveries(UPDATE)
    assert "1 delivery not started" in visible_text(_page(batch_id).text)
    prove(batch_id)
    Batch.objects.filter(pk=batch_id).update(submitted_at=F("ended_at") - timedelta(seconds=12))
    ended_at = Batch.objects.values_list("ended_at", flat=True).get(pk=batch_id)
    assert ended_at
    send_delivery(batch_id, 0, nonce=7)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=ended_at + timedelta(seconds=31))
    words = visible_text(_page(batch_id).text)
    # The delivery's transaction proved nothing: the facts were read back.
    stages = re.findall(r"(?:queued|hash known|read back|delivered) <?\d+ s", words)
    assert stages == ["queued 12 s", "hash known <1 s", "read back <1 s", "delivered 31 s"]
    assert "DONE in 12 s" in words
    cost = "45,210 gas · 0.00004521 gwei"
    assert f"cost {cost} {cost} of it for deliveries in 0x0000…0007" in words


def test_the_page_of_a_delivery_s_transaction_says_what_it_called() -> None:
    batch_id = submit_deliveries(UPDATE)
    prove(batch_id)
    hash_ = send_delivery(batch_id, 0, nonce=7)
    url = f"/explorer/transaction/{SEPOLIA}/{hash_}"
    words = visible_text(Client().get(url).text)
    assert "on Sepolia called update of 0x1111…1111 for 1 batch" in words
    assert f"Calls update(uint256) of {CONTRACT}" in words
    SentTransaction.objects.filter(mined_hash=hash_).update(succeeded=False)
    assert "on Sepolia failed and delivered nothing" in visible_text(Client().get(url).text)


def test_a_batch_is_submitted_again_with_its_deliveries() -> None:
    trial = {name: value for name, value in UPDATE.items() if name != "gas"}
    batch_id = submit_deliveries(UPDATE, trial, VOTES, owner=WALLET)
    assert "Gas set by a trial run" in _deliveries(batch_id)[1]
    client = signed_in()
    answer = client.get(FORM_URL, {"batch": batch_id})
    response = send(client, json=textarea(answer, "json"))
    assert response.status_code == 302, visible_text(response.text)
    copy = Batch.objects.exclude(pk=batch_id).get()
    fields = ("to", "function", "arguments", "gas", "gas_source", "unless", "errors")
    old, new = (
        list(batch.deliveries.order_by("position").values_list(*fields))
        for batch in (Batch.objects.get(pk=batch_id), copy)
    )
    assert new == old


def test_a_batch_that_only_delivers_says_so_and_is_submitted_again_as_one() -> None:
    named_by = {"from": CONTRACT, "function": "lastBlock()"}
    body = {
        "destinationChainId": str(SEPOLIA),
        "fee": "0",
        "data": {str(SEPOLIA): {"block:$block": {"accounts": {ADDRESS: BALANCE}}}},
        "deliver": [UPDATE],
        "prove": False,
        "block": named_by,
    }
    batch_id = submitted(make_key(), body)
    assert "Sepolia, block named by a contract" in visible_text(_page(batch_id).text)
    answer = signed_in().get(FORM_URL, {"batch": batch_id})
    assert json.loads(textarea(answer, "json")) == body
    Batch.objects.update(status="DONE", ended_at=shared_now())
    words = visible_text(_page(batch_id).text)
    assert "cost no transaction" in words
    assert "already" not in words


def test_anyone_downloads_deliveries_as_csv() -> None:
    batch_id = submit_deliveries(UPDATE, VOTES)
    prove(batch_id)
    hash_ = send_delivery(batch_id, 0, nonce=7)
    set_delivery(batch_id, 0, DeliveryState.DELIVERED, ended_at=shared_now())
    set_delivery(batch_id, 1, DeliveryState.FAILED, ended_at=shared_now(), **REASON)
    url = f"/explorer/query/{batch_id}/deliveries.csv"
    assert f'href="{url}"' in _page(batch_id).text
    head, first, second = Client().get(url).getvalue().decode().splitlines()
    assert head.startswith("position,state,to,function,arguments,gas,")
    assert first.startswith(f'0,DELIVERED,{CONTRACT},update(uint256),"[""$block""]",100000,')
    assert hash_ in first
    assert second.endswith(",contract_refuses,The contract reverts: too late.")
    without = submit_accounts({ADDRESS: BALANCE})
    assert Client().get(f"/explorer/query/{without}/deliveries.csv").status_code == 404
