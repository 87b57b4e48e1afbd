"""Queries of thousands of slots: what lists show of them, and how little of them they read."""

import re
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.models import JSONField
from django.test import Client
from ulid import ULID

from queries.models import Batch, Query
from queries.reading import accounts, blocks
from queries.reading.registries import record_of
from queries.statuses import BatchStatus
from queries.wide_queries import MOST_OF_NARROW, ROWS_AT_ONCE, SLOTS_AT_ONCE, in_portions
from tests.explorer.on_record import ADDRESS, BLOCK, ask, ask_balances, prove
from tests.queries.api.served_api import HERE, SEPOLIA
from tests.queries.api.worked_batches import HASHES

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
ACCOUNT = f"/explorer/account/{ADDRESS}"
TRANSACTION = f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}"
MANY, SLOTS = 51, 5_000
MOST_READ = 100_000  # bytes of JSON: 50 lines of all account fields and 20 slots are 150,000
MOST_HELD = 4 * 2**20  # a page, and Django's templates where it is the first one
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


@contextmanager
def _read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How long each JSON is that comes from the database inside."""
    found, decode = list[int](), JSONField.from_db_value

    def count(self: Any, value: Any, *others: Any) -> Any:
        found.append(len(value or ""))
        return decode(self, value, *others)

    with monkeypatch.context() as inside:
        inside.setattr(JSONField, "from_db_value", count)
        yield found


@contextmanager
def _held() -> Iterator[list[int]]:
    """How much memory is held at most, beyond what was before."""
    held = list[int]()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield held
        held.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("_asked")
@pytest.mark.parametrize("proven", [True, False])
def test_lists_read_nothing_of_wide_queries_slots(
    monkeypatch: pytest.MonkeyPatch, *, proven: bool
) -> None:
    pages = [PAGE, TRANSACTION, *[ACCOUNT] * proven]
    before = {page: Client().get(page).text for page in pages}  # templates are loaded
    _wide(MANY, SLOTS, proven=proven)
    for page in pages:
        with _read(monkeypatch) as read, _held() as held:
            answer = Client().get(page)
        assert answer.status_code == 200
        assert answer.text != before[page]
        assert (sum(read) < MOST_READ, held[0] < MOST_HELD) == (True, True), (page, read, held)


@pytest.mark.usefixtures("_asked")
def test_a_balance_is_found_without_the_slots_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _wide(MANY, SLOTS, proven=True)
    Query.objects.filter(slot_count=1).delete()
    with _held() as held:
        (balance,) = accounts.balances_of(ADDRESS, SEPOLIA)
    assert balance == accounts.Balance(BLOCK, BALANCE)
    assert held[0] < MOST_HELD
    with _read(monkeypatch) as read:
        accounts.account(ADDRESS, [SEPOLIA])
    assert read == []


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
def test_as_many_slots_as_a_list_reads() -> None:
    _wide(1, MOST_OF_NARROW, proven=True)
    _wide(1, MOST_OF_NARROW + 1, proven=True)
    above, below, _ = blocks.queries_of_block(SEPOLIA, BLOCK, None, 50).rows
    assert (len(above.values), above.slots_apart) == (2, MOST_OF_NARROW + 1)
    assert (len(below.values), below.slots_apart) == (2 + MOST_OF_NARROW, 0)
    assert _cells(PAGE)[1].endswith(f"and {2 + MOST_OF_NARROW - 6} more")


@pytest.mark.usefixtures("_asked")
def test_files_hold_all_facts_of_wide_queries_and_read_a_few_at_a_time() -> None:
    count, slots = 7, SLOTS_AT_ONCE - 500  # two of them are too many at once
    _wide(count, slots, proven=True)
    for page in (PAGE, ACCOUNT):
        address, found = f"{page}/facts.csv", 0
        while address:
            answer = Client().get(address)
            with _held() as held:
                found += sum(piece.count(b"\n") for piece in answer) - 1
            assert held[0] < 8 * 2**20
            following = re.fullmatch('<(.+)>; rel="next"', answer.get("Link", ""))
            address = following[1] if following else ""
        assert found == count * (2 + slots) + 3


def test_the_wide_columns_are_the_last_ones_of_the_table() -> None:
    """SQLite follows a row page by page up to the column that it is asked for."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_table_description(cursor, Query._meta.db_table)
    assert [each.name for each in found][-2:] == ["slots", "slot_values"]


@pytest.mark.parametrize(
    ("slots", "lengths"),
    [
        ([], []),
        ([10 * SLOTS_AT_ONCE], [1]),
        ([0] * (ROWS_AT_ONCE + 1), [ROWS_AT_ONCE, 1]),
        ([1, SLOTS_AT_ONCE - 1, 1], [2, 1]),
        ([1, SLOTS_AT_ONCE, SLOTS_AT_ONCE, 0, 1], [1, 1, 2, 1]),
    ],
)
def test_portions(slots: list[int], lengths: list[int]) -> None:
    found = list(in_portions(enumerate(slots)))
    assert [len(each) for each in found] == lengths
    assert [key for keys in found for key in keys] == list(range(len(slots)))


@pytest.mark.usefixtures("_asked")
def test_a_fact_is_known_to_be_new_by_reading_a_few_wide_queries_at_a_time() -> None:
    _wide(MANY, SLOTS, proven=True)
    asked = {"props": ["BALANCE"], "slots": ["0x0", hex(SLOTS)]}  # the last of these is new
    before, batch = record_of(SEPOLIA, SEPOLIA).facts, ask({ADDRESS: asked})
    with _held() as held:
        prove(batch)
    assert record_of(SEPOLIA, SEPOLIA).facts == before + 1
    assert held[0] < 8 * 2**20
