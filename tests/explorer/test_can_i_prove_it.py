"""The form "Can I?" of the routes page, answered from what provers have stored."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from ulid import ULID

from explorer.pages.links import PageLinks
from explorer.pages.reach import ReachForm
from queries.database import statistics
from queries.models import Attestation, Batch, ChainRecord, NodeRecord
from queries.sources.output import OutputRegistry
from queries.statuses import BatchStatus, Readiness
from tests.explorer.page_text import visible_text
from tests.explorer.stored_batches import ADDRESS, prove, submit_accounts
from tests.queries.api.served_api import (
    ATTESTED,
    HERE,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    SIGNERS,
    record_head,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

HEAD, FINAL = 5_186_100, 5_186_030
NOW = 1_764_000_000
ASKED_TIME = f"{datetime.fromtimestamp(NOW - 1200, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.fixture(autouse=True)
def _heads() -> None:
    for chain, block_seconds in ((SEPOLIA, 12), (OPTIMISM, 2)):
        record_head(chain, number=HEAD, timestamp=NOW)
        set_window(chain, 1_000)
        times = [(HEAD - 1_000, NOW - 1_000 * block_seconds)]
        records = ChainRecord.objects.filter(chain=chain)
        records.update(block_seconds=block_seconds, block_times=times)
    ChainRecord.objects.update(final_number=FINAL)


def set_block_times(*times: tuple[int, int]) -> None:
    ChainRecord.objects.update(block_times=times)


def set_window(chain: int, blocks: int | None) -> None:
    NodeRecord.objects.update_or_create(
        chain=chain, position=1, defaults={"recorded_at": timezone.now(), "proof_window": blocks}
    )


def ask(source: int, block: object, destination: int) -> str:
    """The answer's text and the link of its button, on one line."""
    fields: Mapping[str, Any] = {"source": source, "block": block, "to": destination}
    text: str = Client().get("/explorer/routes", fields).text
    section = text.partition('id="can-i"')[2].partition("</section>")[0]
    answer = section.partition("reach-answer")[2]
    link = re.search(r'href="([^"]+)"', answer)
    return f"{visible_text(answer)} {link[1] if link else 'no button'}"


@pytest.mark.parametrize(
    ("source", "destination"), [(SEPOLIA, SEPOLIA), (SEPOLIA, OPTIMISM), (OPTIMISM, SEPOLIA)]
)
def test_the_answers_of_each_kind_of_route(source: int, destination: int) -> None:
    if ATTESTED.source == source:
        attest(FINAL, signers=2)
    path = "/dashboard/new-batch"
    now = ask(source, FINAL, destination)
    assert "Yes, now." in now
    assert f"{path}?source={source}&amp;block={FINAL}&amp;to={destination}" in now
    oldest = ask(source, HEAD - 1_001, destination)
    assert "Header fields and events: yes, now. Accounts: no." in oldest
    assert f"The oldest block whose accounts its nodes prove is {HEAD - 1_000:,}." in oldest
    assert f"block={HEAD - 1_001}" in oldest
    not_yet = ask(source, HEAD + 100, destination)
    assert re.search(
        "It waits about [0-9]+ minutes, until it is final. It is still to come", not_yet
    )
    assert path in not_yet
    beyond = ask(source, HEAD + 10_000, destination)
    assert "No. It is not on" in beyond
    assert "are accepted. It is expected in about" in beyond
    assert "no button" in beyond


def test_a_block_that_is_not_final_waits() -> None:
    """On a native route it is final one block later; elsewhere when its nodes call it so."""
    assert "Yes, now." in ask(SEPOLIA, HEAD - 1, SEPOLIA)
    assert "It waits about 12 seconds, until it is final." in ask(SEPOLIA, HEAD, SEPOLIA)
    assert "It waits about 4 minutes, until it is final." in ask(SEPOLIA, FINAL + 20, OPTIMISM)
    assert "It waits about 40 seconds, until it is final." in ask(OPTIMISM, FINAL + 20, SEPOLIA)


def test_an_attested_route_waits_for_its_signers() -> None:
    waits = "It waits until Sepolia knows its hash. The registry needs 2 of 2 signers."
    assert waits in ask(OPTIMISM, FINAL, SEPOLIA)
    attest(FINAL, signers=1)
    assert waits in ask(OPTIMISM, FINAL, SEPOLIA)
    attest(FINAL, signers=2)
    assert "Yes, now." in ask(OPTIMISM, FINAL - 100, SEPOLIA)  # headers lead down to it


def test_what_a_route_has_proven_leads_to_older_blocks() -> None:
    prove(submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, FINAL - 10, source=OPTIMISM))
    assert "Yes, now." in ask(OPTIMISM, FINAL - 20, SEPOLIA)
    assert "until Sepolia knows its hash" in ask(OPTIMISM, FINAL, SEPOLIA)


def test_a_time_is_answered_by_an_estimated_block() -> None:
    answer = ask(SEPOLIA, ASKED_TIME, SEPOLIA)
    assert f"the last block was about {HEAD - 100:,}. The block is final" in answer
    unknown = ask(SEPOLIA, "timestamp:1700000000", SEPOLIA)
    assert "Your estimate will say. Sepolia may not have had a block then." in unknown
    set_block_times((0, 1_700_000_000), (1, 1_700_000_100))
    before = ask(SEPOLIA, "timestamp:1699999999", SEPOLIA)
    first = "2023-11-14 22:13:20 UTC"
    assert f"No. Sepolia had no block then: its first is of {first}." in before
    assert "no button" in before
    assert "the last block was about 0." in ask(SEPOLIA, "timestamp:1700000099", SEPOLIA)
    in_an_hour = NOW + 3_000
    answer = ask(SEPOLIA, f"timestamp:{in_an_hour}", SEPOLIA)
    assert "It waits about 1 hour, until it is final. It is still to come" in answer


def test_what_stored_rows_do_not_decide_is_left_to_the_estimate() -> None:
    set_window(SEPOLIA, None)
    assert "Your estimate will say. How far back" in ask(SEPOLIA, FINAL, SEPOLIA)
    set_window(SEPOLIA, 8_191)
    assert "Your estimate will say. The block is beyond" in ask(SEPOLIA, 1, SEPOLIA)
    set_window(SEPOLIA, -1)
    assert "None of this server's nodes proves an account" in ask(SEPOLIA, FINAL, SEPOLIA)


def test_the_first_block_may_have_no_accounts() -> None:
    ChainRecord.objects.update(number=100, final_number=90)
    set_window(SEPOLIA, 8_191)
    others = "Header fields and events: yes, now. Accounts:"
    assert f"{others} your estimate will say." in ask(SEPOLIA, 0, SEPOLIA)
    assert "Yes, now. The block is final" in ask(SEPOLIA, 1, SEPOLIA)
    ChainRecord.objects.update(genesis_has_accounts=False)
    assert f"{others} no." in ask(SEPOLIA, 0, SEPOLIA)
    ChainRecord.objects.update(genesis_has_accounts=True)
    assert "Yes, now. The block is final" in ask(SEPOLIA, 0, SEPOLIA)


def test_a_date_is_its_midnight() -> None:
    assert f"At {ASKED_TIME[:10]} 00:00:00 UTC the last block was" in ask(
        SEPOLIA, ASKED_TIME[:10], SEPOLIA
    )


def test_silent_nodes_are_noticed_as_on_the_status_page() -> None:
    NodeRecord.objects.filter(chain=OPTIMISM).update(fault="nodes_unreachable")
    assert "Not now. No node of OP Mainnet answers." in ask(SEPOLIA, FINAL, OPTIMISM)
    assert "Not now. No node of OP Mainnet answers." in ask(OPTIMISM, FINAL, SEPOLIA)
    assert "Yes, now." in ask(SEPOLIA, FINAL, SEPOLIA)
    ChainRecord.objects.update(recorded_at=timezone.now() - timedelta(hours=1))
    answer = ask(SEPOLIA, FINAL, SEPOLIA)
    assert "Not now. No node of Sepolia answers. A batch waits until one does." in answer
    assert "/status" in answer
    ChainRecord.objects.all().delete()
    assert "Not now. No node of Sepolia answers." in ask(SEPOLIA, FINAL, SEPOLIA)


def test_a_lowered_horizon_refuses_later_blocks() -> None:
    address = ROUTES.registries[SEPOLIA, SEPOLIA].address
    ChainRecord.objects.update(state_horizons={address: NOW - 6_000})
    answer = ask(SEPOLIA, FINAL, SEPOLIA)
    assert "Header fields and events: yes, now. Accounts: no." in answer
    assert "The registry takes accounts of blocks before" in answer
    assert "Yes, now." in ask(SEPOLIA, HEAD - 600, SEPOLIA)


def test_an_output_route_waits_for_a_dispute_game() -> None:
    registry = OutputRegistry(OPTIMISM, SEPOLIA, ATTESTED.address, portal=ATTESTED.address)
    routes = replace(ROUTES, registries={**ROUTES.registries, (OPTIMISM, SEPOLIA): registry})
    set_window(OPTIMISM, 8_191)
    for block, readiness, seconds in (
        (FINAL, Readiness.NOT_KNOWN, 7 * 86_400 - 140),
        (FINAL + 1, Readiness.NOT_FINAL, 2),
    ):
        fields = Client().get("/", {"source": OPTIMISM, "block": block, "to": SEPOLIA})
        form = ReachForm.read(fields.wsgi_request.GET, PageLinks(routes))
        assert form.answer
        assert (form.answer.readiness, form.answer.seconds) == (readiness, seconds)


def test_input_that_is_not_a_block_gets_a_hint_and_is_escaped() -> None:
    fields: dict[str, Any] = {"source": SEPOLIA, "block": "<b>latest", "to": SEPOLIA}
    text = Client().get("/explorer/routes", fields).text
    assert "A block is a number, such as 5186021, or a time in UTC" in text
    assert "<b>latest" not in text
    names = "block:$block", "block:$due", "timestamp:$due", f"timestamp:{10**11}", f"block:{10**19}"
    for block in ("-1", "0x12", "٣", str(10**30), "1" * 500, "2026-99-99 00:00", "\0", *names):
        fields["block"] = block
        assert Client().get("/explorer/routes", fields).status_code == 200
    for source in ("x", "", str(10**40)):
        fields = {"source": source, "block": "1", "to": source}
        assert Client().get("/explorer/routes", fields).status_code == 200


def attest(block: int, *, signers: int) -> None:
    for signer in SIGNERS[:signers]:
        Attestation.objects.get_or_create(
            source=ATTESTED.source,
            destination=ATTESTED.destination,
            registry=ATTESTED.address,
            block=block,
            signer=signer.address,
            defaults={"block_hash": 64 * "a", "signature": "", "received_at": timezone.now()},
        )


def test_a_busy_route_does_not_hide_what_a_quiet_one_took() -> None:
    """The figures of a route are of its own newest batches, of one source each."""
    quiet = submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, source=OPTIMISM)
    prove(quiet)
    Batch.objects.update(ended_at=F("submitted_at") + timedelta(seconds=41))
    busy = Batch.objects.get(pk=submit_accounts({ADDRESS: {"props": ["NONCE"]}}))
    moment = busy.submitted_at
    Batch.objects.bulk_create(
        Batch(
            id=str(ULID.from_datetime(moment + timedelta(seconds=number))), owner=busy.owner,
            destination=SEPOLIA, fee=f"{0:064x}", status=BatchStatus.DONE, submitted_at=moment,
            ended_at=moment + timedelta(seconds=2), source_count=1, source=SEPOLIA, fact_count=1,
        )
        for number in range(1, 130)
    )  # fmt: skip
    text = Client().get("/explorer/routes").text
    for route, took in ((OPTIMISM, "41 s"), (SEPOLIA, "2.0 s")):
        row = text.partition(f'<tr id="route-{route}-{SEPOLIA}">')[2].partition("</tr>")[0]
        assert took in visible_text(row)
    row = text.partition(f'<tr id="route-{SEPOLIA}-{OPTIMISM}">')[2].partition("</tr>")[0]
    assert "no batch yet" in visible_text(row)
    facts = statistics.route_facts_key(SEPOLIA, OPTIMISM)
    statistics.add_counts(timezone.now(), {facts: 3})  # by batches of several sources
    set_window(OPTIMISM, None)
    text = visible_text(Client().get("/explorer/routes").text)
    assert "none of it alone" in text
    assert "not measured yet; blocks count once its signers have signed" in text
    answer = Client().get("/explorer/routes", {"source": OPTIMISM, "block": FINAL, "to": SEPOLIA})
    assert "nodes prove not measured" not in visible_text(answer.text)
