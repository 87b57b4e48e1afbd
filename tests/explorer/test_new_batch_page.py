"""The form of a new batch: what is sent, what is refused, and that nothing typed is lost."""

import json
import re
from html import unescape
from typing import Any

import pytest

from accounts.keys import manage
from queries.api import estimates
from queries.models import Batch, Query
from tests.explorer.form_of_a_batch import (
    ADDRESS,
    TYPED,
    account_of,
    check,
    fault_at,
    send,
    signed_in,
)
from tests.queries.api.served_api import HERE, LONELY, OTHER_WALLET, SEPOLIA, WALLET, make_key

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
HOSTILE = "<script>alert(1)</script>\u202ehunter2"


@pytest.fixture(autouse=True)
def _no_time_for_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chains of these tests have none that answers."""
    monkeypatch.setattr(estimates, "ESTIMATE_SECONDS", 0.0)


def _json(answer: Any) -> Any:
    found = re.search(r'<code id="request-json"[^>]*>(.*?)</code>', answer.text, re.DOTALL)
    assert found
    return json.loads(unescape(found[1]))


def test_submitting_is_what_the_api_does() -> None:
    make_key()
    client = signed_in()
    answer = send(client, slots__0="0x1", webhook="https://example.org/hook")
    batch = Batch.objects.get()
    assert answer["Location"] == f"/explorer/query/{batch.pk}"
    assert (batch.owner, batch.webhook_url) == (account_of(), "https://example.org/hook")
    query = Query.objects.get()
    assert (query.account, query.block, query.slots) == (WALLET, 5186021, [f"{1:064x}"])
    again = send(client, slots__0="0x1", webhook="https://example.org/hook")
    assert (again["Location"], Batch.objects.count()) == (answer["Location"], 1)


def test_what_was_sent_before_is_reported_and_can_then_be_sent_as_a_new_batch() -> None:
    make_key()
    client = signed_in()
    send(client)
    refused = send(client, block__0="5186020")
    told = (
        f"This form was used before with another batch, {Batch.objects.get().pk}. Submit it again "
    )
    assert told in refused.text
    found = re.search('name="idempotency-key" value="([^"]+)"', refused.text)
    assert found
    assert send(client, block__0="5186020", idempotency__key=found[1]).status_code == 302
    assert Batch.objects.count() == 2


@pytest.mark.parametrize("whose", ["another's", "revoked", "nobody's", "none that is stored"])
def test_no_key_but_a_living_one_of_ones_own(whose: str) -> None:
    make_key()
    make_key(OTHER_WALLET)
    key = account_of(OTHER_WALLET).keys.get().pk
    if whose == "revoked":
        key = account_of().keys.get().pk
        manage.revoke(account_of(), key)
        make_key()
    sent = {"nobody's": "x\u202e", "none that is stored": "\0"}.get(whose, key)
    refused = send(signed_in(), key=sent)
    assert fault_at(refused, "key").startswith("Wrong: You have no such key")
    assert not Batch.objects.exists()


def test_without_a_key_one_is_made_and_nothing_typed_is_lost() -> None:
    client = signed_in()
    first = client.get(ADDRESS).text
    assert "You have no key." in first
    assert 'value="submit"' not in first
    made = send(client, "key", slots__0="0xabc")
    assert account_of().keys.count() == 1
    assert f'value="{WALLET}"' in made.text
    assert ">0xabc</textarea>" in made.text
    assert 'value="submit"' in made.text
    assert send(client, slots__0="0xabc").status_code == 302


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"account__0": "0x12"}, "account-0", "an address has 40 hex digits"),
    ({"account__0": ""}, "account-0", "Name an account, or choose fields of the block"),
    ({"props__0": []}, "props-0", "Choose fields or slots of the account"),
    ({"block__0": "latest"}, "block-0", "A block is a number, such as 5186021, or a time in"),
    ({"slots__0": "0x0 5"}, "slots-0", "One of these is &quot;5&quot;, but a slot is"),
    ({"slots__0": "0x0 5"}, "slots-0", "slot 5 is &quot;0x5&quot;"),
    ({"header__0": ["HASH"]}, "header-0", "One of these is &quot;HASH&quot;"),
    ({"source__0": str(LONELY)}, "source-0", "This server does not prove facts of"),
    ({"destination": "5"}, "destination", "No chain &quot;5&quot; is configured"),
    ({"fee": "1.5"}, "fee", "This is &quot;1.5&quot;, but must be an amount in wei"),
    ({"webhook": "ftp://x"}, "webhook", "This must be a full http or https URL"),
]


@pytest.mark.parametrize(("typed", "field", "sentence"), REFUSED)
def test_a_refusal_stands_beside_its_field_and_everything_typed_survives(
    typed: dict[str, Any], field: str, sentence: str
) -> None:
    make_key()
    client = signed_in()
    asked = [send] if typed.get("account__0") == "" else [send, check]
    for answer in (ask(client, **typed) for ask in asked):
        assert answer.status_code == 200
        assert sentence in fault_at(answer, field)
        assert re.findall(r"data\.\w+[.:][^<]*|webhook\.url", answer.text) == []  # places of JSON
    refused = send(client, **typed).text
    for name, value in ({"account__0": WALLET, "block__0": "5186021"} | typed).items():
        if isinstance(value, str) and name not in {"destination", "source__0", "slots__0"}:
            written = f'name="{name.replace("__", "-")}" value="{value}"'
            assert written in refused
    assert not Batch.objects.exists()


def test_parts_come_and_go_without_a_script() -> None:
    make_key()
    client = signed_in()
    two = send(client, "add", slots__0="0x7").text
    assert re.findall('name="part" value="([^"]+)"', two) == ["0", "1"]
    assert 'name="block-1" value="5186021"' in two
    assert f'value="{WALLET}"' in two
    assert "autofocus" in two.partition('id="part-1"')[2]
    fields = {"part": ["0", "1"], "source__1": str(SEPOLIA), "block__1": "7"}
    one = send(client, "remove-0", **fields).text
    assert re.findall('name="part" value="([^"]+)"', one) == ["1"]
    assert 'name="block-1" value="7"' in one
    many = send(client, "add", part=[str(number) for number in range(30)]).text
    assert many.count('name="part"') == 30
    assert "A form has at most 30 parts" in many
    assert 'value="add"' not in many


def test_the_request_is_shown_and_its_command_is_safe_in_a_shell() -> None:
    make_key()
    answer = check(signed_in(), webhook="https://example.org/'$(reboot)'")
    assert _json(answer)["data"] == {
        str(SEPOLIA): {"block:5186021": {"accounts": {WALLET: {"props": ["BALANCE"]}}}}
    }
    found = re.search(r'<code id="request-command"[^>]*>(.*?)</code>', answer.text, re.DOTALL)
    assert found
    assert """'"'"'$(reboot)'"'"'""" in unescape(found[1])


@pytest.mark.parametrize(
    "field", ["account__0", "block__0", "webhook", "fee", "slots__0", "source__0", "destination"]
)
def test_what_is_hostile_is_escaped(field: str) -> None:
    make_key()
    client = signed_in()
    for text in (HOSTILE, "\x00", 9_000 * "x"):
        for answer in (
            send(client, **{field: text}),
            send(client, "check", **{field: text}),
            check(client, **{field: text}),
        ):
            assert answer.status_code == 200
            assert "<script>alert" not in answer.text
    assert not Batch.objects.exists()


def test_far_more_than_a_batch_is_refused_and_not_shown_again() -> None:
    """Nothing of it is counted, and no page tells it all once more."""
    make_key()
    far_more = TYPED | {"slots-0": 300_000 * "7"}
    for address in (ADDRESS, f"{ADDRESS}/check"):
        for changes in ({"do": "submit"}, {"do": ""}):
            answer = signed_in().post(address, far_more | changes, headers={"Accept": "text/html"})
            assert answer.status_code == 413
            assert "at most 600 slots and 200,000 bytes" in answer.text
            assert len(answer.content) < 20_000
            asked = signed_in().post(address, far_more | changes, headers={"HX-Request": "true"})
            assert (asked.status_code, asked["HX-Retarget"]) == (200, "#verdict")
            assert "at most 600 slots and 200,000 bytes" in asked.text
    assert not Batch.objects.exists()
