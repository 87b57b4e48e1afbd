"""Queries of thousands of slots: what lists show of them, and their files."""

import re

import pytest
from django.test import Client
from ulid import ULID

from queries.models import Batch, Query
from queries.reading.slices import SLOTS_AT_ONCE
from queries.statuses import BatchStatus
from tests.explorer.on_record import ADDRESS, BLOCK, ask_balances, prove
from tests.queries.api.served_api import HERE, SEPOLIA
from tests.queries.api.worked_batches import HASHES

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
ACCOUNT = f"/explorer/account/{ADDRESS}"
TRANSACTION = f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}"
SLOTS = 5_000
BALANCE = BLOCK % 1_000 * 10**18  # as `prove` has it


def _wide(count: int, slots: int, *, proven: bool) -> None:
    """Like what `ask_balances` asked for first, by so many batches."""
    like = Query.objects.select_related("batch").get(place=0, slot_count=1)
    words = {"BALANCE": f"{BALANCE:064x}", "NONCE": f"{1:064x}"}
    names = [f"{slot:064x}" for slot in range(slots)]
    for _ in range(count):
        batch, query = like.batch, like
        batch.pk, batch.idempotency_key = str(ULID()), None
        batch.status = BatchStatus.DONE if proven else BatchStatus.IN_PROGRESS
        batch.save(force_insert=True)
        query.pk, query.batch, query.slots, query.slot_count = None, batch, names, slots
        query.values = query.slot_values = None
        if proven:
            query.keep({**words, **dict.fromkeys(names, f"{3:064x}")})
        query.ended = proven
        query.save(force_insert=True)


@pytest.fixture
def _asked() -> None:
    prove(ask_balances(), nonce=0)


def _cells(address: str) -> list[str]:
    """What stands under "Proven", as a reader sees it, newest first."""
    text = Client().get(address).text
    found = re.findall('<td data-name="Proven">(.*?)</td>', text, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", each).split()) for each in found]


@pytest.mark.usefixtures("_asked")
def test_a_line_says_how_many_slots_there_are_and_leads_to_them() -> None:
    _wide(1, SLOTS, proven=True)
    batch = Batch.objects.latest("pk").pk
    for page in (PAGE, ACCOUNT, TRANSACTION):
        wide, narrow = _cells(page)
        assert "BALANCE 21 ETH" in wide
        assert wide.endswith("and 5,000 slots")
        assert "slot" not in narrow
        assert "0x0000" in narrow  # which is its slot's name
        link = f'<a href="/explorer/query/{batch}?query=0#query-0">5,000 slots</a>'
        assert link in Client().get(page).text
    _wide(1, SLOTS, proven=False)
    for page in (PAGE, TRANSACTION):
        assert _cells(page)[0] == "being proven 5,000 slots"
    Query.objects.filter(values__isnull=True).update(ended=True)
    assert _cells(PAGE)[0] == "not proven 5,000 slots"


@pytest.mark.usefixtures("_asked")
def test_slots_alone_are_proven_without_a_field_beside_them() -> None:
    _wide(1, SLOTS, proven=True)
    Query.objects.filter(slot_count=SLOTS).update(values={}, props=0)
    assert _cells(PAGE)[0] == "5,000 slots"
    assert _cells(ACCOUNT)[0] == "5,000 slots"


@pytest.mark.usefixtures("_asked")
def test_files_hold_all_facts_of_wide_queries() -> None:
    count, slots = 7, SLOTS_AT_ONCE - 500  # two of them are too many at once
    _wide(count, slots, proven=True)
    for page in (PAGE, ACCOUNT):
        address, found = f"{page}/facts.csv", 0
        while address:
            answer = Client().get(address)
            found += sum(piece.count(b"\n") for piece in answer) - 1
            following = re.fullmatch('<(.+)>; rel="next"', answer.get("Link", ""))
            address = following[1] if following else ""
        assert found == count * (2 + slots) + 3
