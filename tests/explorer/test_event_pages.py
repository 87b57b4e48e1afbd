"""Pages and files of facts about what a block contains."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.wallets import short_hash
from queries.contracts.create2 import verifier_address
from queries.models import Batch, Fact, Query, SentTransaction
from tests.explorer.page_text import page_text
from tests.explorer.proven_events import (
    SILENT,
    TOKENS,
    Transfer,
    all_kinds,
    mine_transfer,
    prove_events,
    submit_events,
)
from tests.explorer.stored_batches import set_word, update_queries
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
NAMES = {
    "LOG:0:0", "RECEIPT:0", "TRANSACTION:0", "ABSENT_TRANSACTION:1", "ABSENT_WITHDRAWAL:0",
    f"ABSENT_LOG:0:{SILENT.lower()}:", f"SILENT_BLOCK:{SILENT.lower()}",
}  # fmt: skip


@pytest.fixture
def sent(service: Service) -> Transfer:
    return mine_transfer(service)


def _content(address: str) -> str:
    answer: Any = Client().get(address)
    return b"".join(answer.streaming_content).decode()


def test_each_fact_has_a_page_and_is_checked_with_the_verifier(
    service: Service, sent: Transfer
) -> None:
    batch = prove_events(service, sent)
    assert set(Query.objects.get(batch=batch).event_names) == NAMES
    verifier = verifier_address(service.registry.address)
    for name in NAMES:
        address = f"{sent.facts}/{name}"
        text = page_text(f"{address}/check")
        assert "The events verifier says the same" in text
        assert verifier in text
    # The verifier is asked, not the database.
    set_word(batch, "TRANSACTION:0", 7)
    assert "but this page shows" in page_text(f"{sent.facts}/TRANSACTION:0/check")


def test_other_spellings_redirect_and_nothing_else_is_found(sent: Transfer) -> None:
    canonical = f"{sent.facts}/SILENT_BLOCK:{SILENT.lower()}"
    answer = Client().get(f"{sent.facts}/silent_block:{SILENT}?to=1")
    assert (answer.status_code, answer["Location"]) == (301, f"{canonical}?to=1")
    topic = f"0x{7:064x}"
    long = f"{sent.facts}/ABSENT_LOG:0:{SILENT.lower()}:{topic}"
    assert Client().get(f"{long},,")["Location"] == long
    for name in ("LOG:0", "LOG:0:0:0", "LOG:00:0", "BALANCE", "RECEIPT:x", "SILENT_BLOCK:0x1"):
        assert Client().get(f"{sent.facts}/{name}").status_code == 404


def test_a_known_event_reads_as_a_sentence(service: Service, sent: Transfer) -> None:
    batch = prove_events(service, sent)
    text = page_text(f"{sent.facts}/LOG:0:0")
    token, sender, holder = map(short_hash, (sent.token, sent.sender, HOLDER))
    sentence = f"Transfer of {TOKENS:,} HS ({token}) from {sender} to {holder}"
    assert f"{sentence} · Local, block {sent.block}, log 0 of transaction 0" in text
    assert "symbol and decimals, are not proven" in text
    assert f"Value {TOKENS:,} HS ({TOKENS * 10**18:,} raw units)" in text
    assert "Also proven of this transaction" in text
    assert "Receipt of transaction 0 succeeded, 1 log" in text
    assert "Number of transactions" not in text
    assert f"no log by {SILENT} in transaction 0" in page_text(
        f"{sent.facts}/ABSENT_LOG:0:{SILENT.lower()}:"
    )
    log = Fact.objects.get(job__queries__batch=batch, name="LOG:0:0")
    log.details = {**(log.details or {}), "data": "0x"}
    log.save()
    assert "event 0xddf252ad1be2c89b" in page_text(f"{sent.facts}/LOG:0:0")
    topics = [f"0x{'ab' * 32}", f"0x{int(sent.sender, 16):064x}", f"0x{'cd' * 32}"]
    log.details = {**log.details, "topics": topics, "data": f"0x{437:064x}{10**6:064x}"}
    log.save()
    text = page_text(f"{sent.facts}/LOG:0:0")
    assert f"Topic 0 {topics[0]} Copy" in text
    assert f"Topic 1 {sent.sender} Copy" in text
    assert f"Topic 2 {topics[2]} Copy" in text
    assert "Data[0] 437 Data[1] 1,000,000" in text


def test_a_token_that_answers_nonsense_has_raw_units(service: Service) -> None:
    """It returns a text that claims to have 2**255 bytes."""
    own = mine_transfer(service)
    service.node.rpc.ask("anvil_setCode", own.token, "0x6020600052600160ff1b60205260406000f3")
    prove_events(service, own, logs=[{"address": own.token}])
    text = page_text(f"{own.facts}/LOG:0:0")
    assert f"(raw units) of token {short_hash(own.token)}" in text


def test_a_token_is_found_by_its_symbol(service: Service, sent: Transfer) -> None:
    assert Client().get("/search", {"q": "hs"}).status_code == 200  # it finds nothing
    prove_events(service, sent, logs=[{"address": sent.token}])
    answer = Client().get("/search", {"q": "hs"})
    page = f"/explorer/account/{sent.token}?chain={CHAIN_ID}"
    assert (answer.status_code, answer.get("Location")) == (302, page)


def test_a_transaction_is_found_and_lists_what_is_proven_of_it(
    service: Service, sent: Transfer
) -> None:
    page = f"/explorer/transaction/{CHAIN_ID}/{sent.transaction}"
    assert Client().get(page).status_code == 404
    batch = submit_events(service, sent, logs=[{"address": sent.token}], receipts=[0])
    service.work(batch)
    abbreviated = f"{sent.transaction[:6]}…{sent.transaction[-4:]}"
    for text in (sent.transaction, sent.transaction[2:].upper(), abbreviated):
        answer = Client().get("/search", {"q": text})
        assert (answer.status_code, answer.get("Location")) == (302, page), text
    text = page_text(page)
    assert f"Transaction {abbreviated} on Local" in text
    assert f"2 facts of it are proven, in block {sent.block} ." in text
    assert f"Log 0 of transaction 0 Transfer of {TOKENS:,}" in text
    assert "Receipt of transaction 0 succeeded, 1 log" in text
    for name in ("LOG:0:0", "RECEIPT:0"):
        assert f'href="{sent.facts}/{name}"' in Client().get(page).text
        assert f'href="{page}"' in Client().get(f"{sent.facts}/{name}").text


def test_the_transaction_that_proves_can_be_proven_too(service: Service, sent: Transfer) -> None:
    batch = prove_events(service, sent, receipts=[0])
    (query,) = service.status(batch)["queries"]
    step = query["steps"][-1]
    service.mine(2)
    own = Transfer(sent.token, sent.sender, service.head() - 2, step["transactionHash"])
    prove_events(service, own, receipts=[own.transaction])
    text = page_text(f"/explorer/transaction/{CHAIN_ID}/{own.transaction}")
    assert "proved 1 fact for 1 batch" in text
    assert "Proven of it Receipt of transaction 0 succeeded" in text


def test_addresses_lead_to_the_events_that_name_them(service: Service, sent: Transfer) -> None:
    pages = {
        address: f"/explorer/account/{address}"
        for address in (sent.token, sent.sender, HOLDER, SILENT)
    }
    assert "Nothing about this account has been requested yet." in page_text(pages[sent.token])
    batch = prove_events(service, sent)
    for address, page in pages.items():
        for text in (address.lower(), f"{address[:20]}…{address[-8:]}"):
            answer = Client().get("/search", {"q": text})
            assert (answer.status_code, answer.get("Location")) == (302, page), text
        text, count = page_text(page), "2 proven events" if address == SILENT else "1 proven event"
        assert f"on Local: named by {count}" in text
        assert ("log 0 of transaction 0 Transfer of 12,345" in text) is (address != SILENT)
    assert "logs by 0x0000…00AA in transaction 0 none" in page_text(pages[SILENT])
    service.work(
        service.submit(
            {
                str(CHAIN_ID): {
                    f"block:{sent.block}": {"accounts": {sent.token: {"props": ["NONCE"]}}}
                }
            }
        )
    )
    text = page_text(pages[sent.token])
    assert "1 fact proven" in re.sub("(fact proven) 1", r"1 \1", text)
    assert "Events that name it, newest block first" in text
    # Rows of a deleted batch are deleted with it.
    old = timezone.now() - timedelta(days=100)
    Batch.objects.filter(pk=batch).update(ended_at=old)
    SentTransaction.objects.update(confirmed=True, final=True)
    call_command("prune", "--older-than", "90d")
    assert not Batch.objects.filter(pk=batch).exists()
    assert "Nothing about this account has been requested yet." in page_text(pages[HOLDER])
    assert "Nothing found" in Client().get("/search", {"q": sent.transaction}).text


def test_the_drawn_proof_has_the_witness_that_was_sent(service: Service, sent: Transfer) -> None:
    prove_events(service, sent)
    text = page_text(f"{sent.facts}/LOG:0:0")
    assert re.search(r"Receipts trie [0-9,]+ (bytes|kB) of witness", text)
    other = mine_transfer(service)
    prove_events(service, other, receipts=[0])
    prove_events(service, other, transactions=[0])
    text = page_text(f"{other.facts}/TRANSACTION:0")
    assert re.search(r"Transactions trie [0-9,]+ (bytes|kB) of witness", text)


def test_the_block_lists_facts_by_transaction_but_not_as_accumulated(
    service: Service, sent: Transfer
) -> None:
    prove_events(service, sent)
    address = f"/explorer/block/{CHAIN_ID}/{sent.block}"
    text = page_text(address)
    assert f"Block {sent.block} of Local: 7 facts of its content" in text
    assert "in the events verifier" in text
    words = (" transaction 0 log 0 Tran", "receipt succeeded", "logs by", " block number")
    places = [text.index(some) for some in words]
    assert places == sorted(places)
    service.work(service.submit({str(CHAIN_ID): {f"block:{sent.block}": {"header": ["NONCE"]}}}))
    text = page_text(address)
    assert "7 facts of its content" not in text
    assert " header nonce " in text[: text.index(" transaction 0 log 0 ")]


def test_a_batch_shows_its_facts_before_and_after_they_are_found(
    service: Service, sent: Transfer
) -> None:
    batch = submit_events(service, sent, **all_kinds(sent))
    before = page_text(f"/explorer/query/{batch}")
    assert "7 facts" in before
    short = f"{sent.transaction[:6]}…{sent.transaction[-4:]}"
    assert f"log 0 of transaction {short}" in before
    assert "number of withdrawals" in before
    service.work(batch)
    after = page_text(f"/explorer/query/{batch}")
    assert "1 log, 1 receipt, 1 transaction and 4 absences" in after
    assert "log 0 of transaction 0" in after
    assert "HEADER_ACCUMULATED COMPLETED" in after
    assert "ACCOUNT_ACCUMULATED" not in after


def test_a_filter_counts_the_logs_that_it_finds(service: Service, sent: Transfer) -> None:
    found = prove_events(service, sent, logs=[{"address": sent.token}])
    text = page_text(f"/explorer/query/{found}")
    assert f"Local, block {sent.block}, log 0 of transaction 0" in text
    assert "Check it now" in text


def test_many_events_are_counted_in_the_lists_of_a_block(service: Service, sent: Transfer) -> None:
    batch = prove_events(service, sent, logs=[{"address": sent.token}])
    log = Fact.objects.get(job__queries__batch=batch, name="LOG:0:0")
    names = [f"LOG:0:{number}" for number in range(30)]
    update_queries(batch, event_names=names, event_count=len(names))
    Fact.objects.filter(job=log.job).update(details=log.details)
    assert " 20 more events " in page_text(f"/explorer/block/{CHAIN_ID}/{sent.block}")
    assert "Transfer of" in page_text(f"{sent.facts}/LOG:0:20")


def test_an_unknown_log_leads_to_the_form(sent: Transfer) -> None:
    answer = Client().get(f"{sent.facts}/LOG:3:7", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    query = f"source={CHAIN_ID}&block={sent.block}&field=LOG%3A3%3A7&logs=3%3A7"
    assert f'href="/dashboard/new-batch?{query}"' in unescape(answer.text)


def test_files_have_the_facts_and_json_their_details(service: Service, sent: Transfer) -> None:
    batch = prove_events(service, sent)
    rows = json.loads(_content(f"/explorer/query/{batch}/facts.json"))
    by_name = {row["field_or_slot"]: row for row in rows}
    assert set(by_name) == NAMES
    assert by_name["LOG:0:0"]["details"]["address"] == sent.token
    assert by_name["RECEIPT:0"]["decoded"] == "succeeded, 1 log"
    block = f"/explorer/block/{CHAIN_ID}/{sent.block}"
    for address in (f"/explorer/query/{batch}", block):
        lines = _content(f"{address}/facts.csv").splitlines()
        assert len(lines) == 1 + len(NAMES)
        assert any(",TRANSACTION:0," in line and sent.transaction in line for line in lines)


def test_a_blocks_file_has_the_transaction_that_stored_each_fact(
    service: Service, sent: Transfer
) -> None:
    first = prove_events(service, sent, logs=[{"logIndex": 0}])
    prove_events(service, sent, receipts=[0], logs=[{"address": sent.token}])
    prove_events(service, sent, logs=[{"logIndex": 0}])
    rows = json.loads(_content(f"/explorer/block/{CHAIN_ID}/{sent.block}/facts.json"))
    assert [row["field_or_slot"] for row in rows] == ["LOG:0:0", "RECEIPT:0"]
    (query,) = service.status(first)["queries"]
    assert rows[0]["transaction"] == query["steps"][-1]["transactionHash"]
    assert rows[1]["transaction"] not in {"", rows[0]["transaction"]}


def test_the_start_page_and_the_registrys_name_events(service: Service, sent: Transfer) -> None:
    main = Client().get("/").text.partition("<main")[2]
    assert 'href="/docs/events">logs, receipts' in main
    verifier = verifier_address(service.registry.address)
    page = f"/explorer/registry/{CHAIN_ID}/{service.registry.address}"
    assert f"IEventsVerifier({verifier}).isLog(" in page_text(page)
    batch = prove_events(service, sent, receipts=[0])
    assert f"events verifier {verifier}" in page_text(f"/explorer/query/{batch}")


def test_a_withdrawal_is_an_amount_with_its_recipient(service: Service, sent: Transfer) -> None:
    batch = prove_events(service, sent, receipts=[0])
    name = "WITHDRAWAL:2"  # local nodes have none
    details = {
        "name": name, "position": 2, "withdrawalIndex": "5", "validatorIndex": "123",
        "address": HOLDER, "amount": f"{32_500_000_000}",
    }  # fmt: skip
    update_queries(batch, event_names=[name])
    Fact.objects.filter(name=name).update(details=details)
    assert f"32.5 ETH to {HOLDER}, validator 123" in page_text(f"{sent.facts}/{name}")
