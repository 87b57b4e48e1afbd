"""The pictures that link previews show of a batch and of a fact."""

import re
from io import BytesIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from PIL import Image

from queries import transitions
from queries.models import Batch
from queries.statuses import BatchStatus, StepName
from queries.transitions import Failure
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    ETHER,
    prove,
    set_word,
    submit_accounts,
    update_queries,
)
from tests.queries.api.served_api import HERE, OPTIMISM, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
SITE = "https://proofs.example.org"
HTML = {"Accept": "text/html"}
MAX_BYTES = 60_000
FACT = f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/BALANCE"
FAILURE = Failure("block_out_of_reach", "Too old.", StepName.INITIAL_STATE, retryable=False)


@pytest.fixture(autouse=True)
def _site(settings: LazySettings) -> None:
    settings.SITE_URL, settings.SITE_URL_IS_GUESSED = SITE, False


def _submit(**more: Any) -> str:
    return submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, **more)


def _batch_card(batch: str) -> bytes:
    return _card(f"/explorer/query/{batch}")


def _card(page: str) -> bytes:
    """The picture that the page names, after checks that hold for each."""
    preview = _preview(page)
    address = preview["og:image"].removeprefix(SITE)
    assert address.startswith(page.partition("?")[0] + "/card.png")
    answer = Client().get(address.replace("&amp;", "&"))
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    content = bytes(answer.content)
    assert len(content) <= MAX_BYTES
    with Image.open(BytesIO(content)) as image:
        size = preview["og:image:width"], preview["og:image:height"]
        assert (image.format, image.size) == ("PNG", (1200, 630)) == ("PNG", tuple(map(int, size)))
        image.load()
    return content


def _preview(page: str) -> dict[str, str]:
    text = Client().get(page, headers=HTML).text
    return dict(re.findall(r'<meta property="(og:[a-z:]+)" content="([^"]*)"', text))


def test_each_status_has_its_own_card() -> None:
    batch = _submit()
    cards = [_batch_card(batch)]
    Batch.objects.update(status=BatchStatus.IN_PROGRESS)
    cards.append(_batch_card(batch))
    prove(proven := _submit())
    cards.append(_batch_card(proven))
    transitions.reject([batch], FAILURE)
    cards.append(_batch_card(batch))
    assert len(set(cards)) == len(cards)


def test_a_card_has_the_block_the_account_the_value_and_the_destination() -> None:
    batches = [
        _submit(),
        submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, BLOCK + 1000),
        submit_accounts({f"0x{1:040x}": {"props": ["BALANCE"]}}),
        submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, destination=OPTIMISM),
    ]
    for batch in batches:
        prove(batch)
    cards = [_batch_card(batch) for batch in batches]
    set_word(batches[0], "BALANCE", ETHER + 1)
    cards.append(_batch_card(batches[0]))
    assert len(set(cards)) == len(cards)


def test_a_fact_has_a_card_for_each_destination() -> None:
    prove(_submit())
    prove(_submit(destination=OPTIMISM))
    here, there = _card(FACT), _card(f"{FACT}?to={OPTIMISM}")
    assert here != there
    sentence = f"balance of 0xd8dA…6045 · Sepolia, block {BLOCK:,} → 21 ETH"
    assert _preview(FACT)["og:image:alt"] == sentence


def test_hostile_names_are_drawn_letter_by_letter() -> None:
    """Direction controls, and letters that the faces lack, are neither left out nor alike."""
    names = ["vitalik.eth", "vitalik\u202e.eth", "vitalik\u2066.eth", "\u6f22.eth", "\u5b57.eth"]
    names += ["W" * 255, f"{'a' * 200} {'b' * 50}", "\U0001f600.eth", "\u0301" * 200, "\u05d0.eth"]
    cards, batch = [], _submit()
    for name in names:
        update_queries(batch, name=name)
        cards.append(_batch_card(batch))
    assert len(set(cards)) == len(cards)


def test_values_of_any_length_are_drawn() -> None:
    batch, slot = submit_accounts({ADDRESS: {"slots": ["0x1"]}}), f"0x{1:064x}"
    prove(batch)
    numbers = 0, 1, 2**112 - 1, 2**128 - 2, 2**128 - 1, 2**255 + 1, 2**256 - 1, int(ADDRESS, 16)
    cards = set()
    for number in numbers:
        set_word(batch, slot, number)
        cards.add(_card(f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/{slot}"))
    assert len(cards) == len(numbers)


def test_there_is_no_card_without_a_page() -> None:
    prove(_submit())
    for page in (
        "/explorer/query/01M89TMKH3JPDFM9562VCRXAXD",
        "/explorer/query/x",
        FACT.replace("BALANCE", "NONCE"),
        FACT.replace("BALANCE", "x"),
        FACT.replace(str(BLOCK), "5"),
    ):
        assert Client().get(page, headers=HTML).status_code == 404
        assert Client().get(f"{page}/card.png", headers=HTML).status_code == 404
    assert Client().get(f"{FACT}/card.png?to=5", headers=HTML).status_code == 404


def test_caches_keep_a_card_until_it_may_change() -> None:
    address = f"/explorer/query/{_submit()}/card.png"
    assert _max_age(address) <= 60
    prove(address.split("/")[3])
    for final in (address, f"{FACT}/card.png"):
        assert _max_age(final) >= 3600
        first = Client().get(final)
        again = Client().get(final, headers={"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


def _max_age(address: str) -> int:
    header = Client().get(address)["Cache-Control"]
    age = re.search(r"max-age=(\d+)", header)
    assert age
    assert "public" in header
    return int(age[1])
