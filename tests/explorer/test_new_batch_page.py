"""The form of a new batch: submission, errors, and that no input is lost."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.keys import manage
from queries.models import Batch, Query
from queries.planning import on_request
from tests.explorer.batch_form import (
    FORM,
    FORM_URL,
    check,
    field_error,
    request_json,
    send,
    signed_in,
    wallet_account,
)
from tests.explorer.page_text import textarea
from tests.queries.api.served_api import (
    HERE,
    LONELY,
    OTHER_WALLET,
    SEPOLIA,
    WALLET,
    make_key,
    submit,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
HOSTILE = "<script>alert(1)</script>\u202ehunter2"


@pytest.fixture(autouse=True)
def _no_node_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes of these chains do not exist."""
    monkeypatch.setattr(on_request, "ESTIMATE_SECONDS", 0.0)


@pytest.fixture
def client() -> Client:
    """Signed in, with a key."""
    make_key()
    return signed_in()


def test_the_form_submits_a_batch_once(client: Client) -> None:
    answer = send(client, slots="10", webhook="https://example.org/hook")
    batch = Batch.objects.get()
    assert answer["Location"] == f"/explorer/query/{batch.pk}"
    assert (batch.owner, batch.webhook_url) == (wallet_account(), "https://example.org/hook")
    query = Query.objects.get()
    assert (query.account, query.block, query.slots) == (WALLET, 5186021, [f"{10:064x}"])
    again = send(client, slots="0xa", webhook="https://example.org/hook")
    assert (again["Location"], Batch.objects.count()) == (answer["Location"], 1)


def test_a_changed_form_can_be_submitted_as_a_new_batch(client: Client) -> None:
    send(client)
    refused = send(client, block="5186020")
    sentence = f"used before with another batch, {Batch.objects.get().pk}. Submit it again "
    assert sentence in refused.text
    match = re.search('name="idempotency-key" value="([^"]+)"', refused.text)
    assert match
    assert send(client, block="5186020", idempotency__key=match[1]).status_code == 302
    assert Batch.objects.count() == 2


@pytest.mark.parametrize("kind", ["another account's", "revoked", "unknown", "unstorable"])
def test_only_the_users_own_active_keys_are_accepted(kind: str) -> None:
    make_key()
    make_key(OTHER_WALLET)
    key = wallet_account(OTHER_WALLET).keys.get().pk
    if kind == "revoked":
        key = wallet_account().keys.get().pk
        manage.revoke(wallet_account(), key)
        make_key()
    key = {"unknown": "x\u202e", "unstorable": "\0"}.get(kind, key)
    refused = send(signed_in(), key=key)
    assert field_error(refused, "key").startswith("Wrong: You have no such key")
    assert not Batch.objects.exists()


def test_creating_a_key_in_another_tab_keeps_the_input() -> None:
    client = signed_in()
    first = client.get(FORM_URL).text
    assert "You have no key." in first
    assert 'value="submit"' not in first
    make_key()
    created = send(client, "check", slots="0xabc")
    assert f">{WALLET}</textarea>" in created.text
    assert ">0xabc</textarea>" in created.text
    assert 'value="submit"' in created.text
    assert send(client, slots="0xabc").status_code == 302


ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"account": "0x12"}, "account", "an address has 40 hex digits"),
    ({"account": ""}, "account", "Name an account, or choose fields of the block"),
    ({"props": []}, "props", "Choose fields or slots of the account"),
    ({"block": "latest"}, "block", "A block is a number, such as 5186021, or a time in"),
    ({"slots": "0x0 5f"}, "slots", "One of these is &quot;5f&quot;, but a slot is"),
    ({"header": ["HASH"]}, "header", "One of these is &quot;HASH&quot;"),
    ({"source": str(LONELY)}, "source", "This is a chain whose facts this server does not"),
    ({"destination": "5"}, "destination", "This is &quot;5&quot;, which is not a chain"),
    ({"fee": "1,5"}, "fee", "The amount is &quot;1,5&quot;. Write it as &quot;0.01&quot;"),
    ({"webhook": "ftp://x"}, "webhook", "This must be a full http or https URL"),
]


@pytest.mark.parametrize(("changes", "field", "sentence"), ERRORS)
def test_an_error_is_beside_its_field_and_the_input_is_kept(
    client: Client, changes: dict[str, Any], field: str, sentence: str
) -> None:
    requests: list[Any] = [send] if changes.get("account") == "" else [send, check]
    for response in (request(client, **changes) for request in requests):
        assert response.status_code == 200
        assert sentence in field_error(response, field)
        assert re.findall(r"data\.\w+[.:][^<]*|webhook\.url", response.text) == []  # JSON paths
    refused = send(client, **changes).text
    for name, value in ({"account": WALLET, "block": "5186021"} | changes).items():
        if name in {"account", "slots"}:
            assert f">{value}</textarea>" in refused
        elif isinstance(value, str) and name not in {"destination", "source"}:
            assert f'name="{name}" value="{value}"' in refused
    assert not Batch.objects.exists()


def test_several_accounts_are_asked_for_the_same(client: Client) -> None:
    batch = send(client, account=f"{WALLET}\n{OTHER_WALLET}, {WALLET}", slots="0x1")
    assert batch.status_code == 302
    queries = Query.objects.values_list("account", "slots")
    assert sorted(queries) == sorted((each, [f"{1:064x}"]) for each in (WALLET, OTHER_WALLET))
    wrong = send(client, account=f"{WALLET} 0x12")
    assert "an address has 40 hex digits" in field_error(wrong, "account")


def test_a_request_can_be_edited_as_json_without_a_script(client: Client) -> None:
    shown = request_json(check(client))
    editor = send(client, "json")
    assert json.loads(textarea(editor, "json")) == shown
    assert 'name="account"' not in editor.text
    shown["data"][str(SEPOLIA)]["block:7"] = {"header": ["TIMESTAMP"]}
    wrong = send(client, json=json.dumps(shown).replace("TIMESTAMP", "HASH"))
    assert "block:7.header[0]" in field_error(wrong, "json")
    assert "is not JSON" in field_error(check(client, json="{"), "json")
    assert "<script>alert" not in check(client, json=HOSTILE).text
    assert send(client, json=json.dumps(shown)).status_code == 302
    assert Query.objects.count() == 2


def test_nothing_is_shown_as_a_request_before_something_is_asked_for(client: Client) -> None:
    assert "block:" not in client.get(FORM_URL).text
    assert "block:" not in check(client, account="").text


def test_a_link_fills_in_the_form(client: Client) -> None:
    link = f"?source={SEPOLIA}&block=5186021&account={WALLET}&slot=0x2&slot=0x3&to={SEPOLIA}"
    opened = client.get(f"{FORM_URL}{link}")
    assert request_json(opened)["data"] == {
        str(SEPOLIA): {"block:5186021": {"accounts": {WALLET: {"slots": ["0x2", "0x3"]}}}}
    }
    at_time = client.get(f"{FORM_URL}?source={SEPOLIA}&timestamp=1763624463&account={WALLET}")
    assert 'value="2025-11-20 07:41:03 UTC"' in at_time.text
    assert request_json(at_time)["data"] == {
        str(SEPOLIA): {"timestamp:1763624463": {"accounts": {WALLET: {"props": ["BALANCE"]}}}}
    }
    missing = client.get(f"{FORM_URL}?source=999&to=5")
    assert "no route from chain 999 to chain 5" in missing.text


@pytest.mark.parametrize("name", ["source", "block", "account", "slot", "to", "timestamp"])
def test_hostile_links_are_escaped(client: Client, name: str) -> None:
    for text in (HOSTILE, "\x00", 5_000 * "9"):
        response = client.get(FORM_URL, {"account": WALLET, name: text})
        assert response.status_code == 200
        assert "<script>alert" not in response.text


def test_a_batch_fills_in_the_form_to_be_submitted_again(client: Client) -> None:
    asked: dict[str, Any] = {
        "block": "2025-11-20 07:41 UTC",
        "account": f"{WALLET} {OTHER_WALLET}",
        "slots": "0x1",
        "header": ["TIMESTAMP"],
        "webhook": "https://example.org/hook",
    }
    send(client, **asked)
    batch = Batch.objects.get()
    opened = client.get(f"{FORM_URL}?batch={batch.pk}")
    assert request_json(opened) == request_json(check(client, **asked))
    assert 'id="json"' not in opened.text
    for other in ("x", "%00", "01J2VM6JSA6VKKZ0ENWGYYPR18"):
        assert client.get(f"{FORM_URL}?batch={other}").status_code == 404
    assert signed_in(OTHER_WALLET).get(f"{FORM_URL}?batch={batch.pk}").status_code == 404


def test_a_batch_of_different_facts_or_blocks_is_edited_as_json(client: Client) -> None:
    accounts = {f"0x{number:040}": {"props": ["NONCE"]} for number in range(1, 32)}
    accounts[f"0x{1:040}"] = {"slots": ["0x2"]}
    data = {str(SEPOLIA): {"block:7": {"accounts": accounts}, "block:8": {"header": ["TIMESTAMP"]}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "5", "data": data}
    submit(make_key(), content)
    opened = client.get(f"{FORM_URL}?batch={Batch.objects.get().pk}")
    assert request_json(opened) == content
    assert json.loads(textarea(opened, "json")) == content
    assert send(client, json=textarea(opened, "json")).status_code == 302


def test_logs_are_asked_for_in_lines_and_are_not_lost(client: Client) -> None:
    topic = f"0x{7:064x}"
    lines = f"3:0\n\n{topic}:12\n{OTHER_WALLET} * {topic}\n{OTHER_WALLET}"
    spaced = lines.replace(":", " ")
    assert request_json(check(client, account="", logs=spaced)) == request_json(
        check(client, account="", logs=lines)
    )
    checked = request_json(check(client, account="", logs=lines))
    assert checked["data"][str(SEPOLIA)]["block:5186021"] == {
        "logs": [
            {"transaction": 3, "log": 0},
            {"transaction": topic, "log": 12},
            {"address": OTHER_WALLET, "topics": [None, topic]},
            {"address": OTHER_WALLET},
        ]
    }
    assert send(client, account="", logs=lines).status_code == 302
    opened = client.get(f"{FORM_URL}?batch={Batch.objects.get().pk}")
    assert request_json(opened) == checked
    assert textarea(opened, "logs").split("\n") == [line for line in lines.split("\n") if line]


@pytest.mark.parametrize(
    ("lines", "line"),
    [("3 0\r\n\r\n3", 3), ("x 0", 1), (f"3 0\n{WALLET} x", 2), ("3 0 1", 1), ("3 99999", 1)],
)
def test_the_line_of_a_wrong_log_is_named(client: Client, lines: str, line: int) -> None:
    answer = send(client, account="", logs=lines)
    error = field_error(answer, "logs")
    assert re.search(r"[0-9]+", error)[0] == str(line)  # type: ignore[index]
    request = json.dumps(request_json(answer))
    assert "logs[" in field_error(send(client, json=request), "json")
    assert not Batch.objects.exists()


def test_a_missing_index_of_a_log_is_named(client: Client) -> None:
    for line in (f"0x{7:064x}", f"0x{7:064x}:x"):
        error = field_error(send(client, account="", logs=f"3:0\n{line}"), "logs")
        assert "The index of the log in line 2 must be a whole number" in error


def test_what_a_line_cannot_say_is_edited_as_json(client: Client) -> None:
    key = make_key()
    topics = [[f"0x{number:064x}" for number in (7, 8)]]
    for items in (
        {"receipts": [0]},
        {"logs": [{"logIndex": 4}]},
        {"logs": [{"address": WALLET.lower(), "topics": topics}]},
        {"logs": [{"transaction": 0, "log": 0}], "absent": [{"withdrawal": 0}]},
    ):
        data = {str(SEPOLIA): {"block:7": items}}
        content = {"destinationChainId": str(SEPOLIA), "fee": "5", "data": data}
        submit(key, content)
        opened = client.get(f"{FORM_URL}?batch={Batch.objects.latest('pk').pk}")
        assert 'id="json"' in opened.text
        assert request_json(opened) == content


def test_the_shown_command_is_quoted_for_a_shell(client: Client) -> None:
    answer = check(client, webhook="https://example.org/'$(reboot)'")
    assert request_json(answer)["data"] == {
        str(SEPOLIA): {"block:5186021": {"accounts": {WALLET: {"props": ["BALANCE"]}}}}
    }
    match = re.search(r'<code id="request-command"[^>]*>(.*?)</code>', answer.text, re.DOTALL)
    assert match
    assert """'"'"'$(reboot)'"'"'""" in unescape(match[1])


@pytest.mark.parametrize(
    "field", ["account", "block", "webhook", "fee", "slots", "source", "destination", "json"]
)
def test_hostile_input_is_escaped(client: Client, field: str) -> None:
    for text in (HOSTILE, "\x00", 9_000 * "x"):
        for answer in (
            send(client, **{field: text}),
            send(client, "check", **{field: text}),
            check(client, **{field: text}),
        ):
            assert answer.status_code == 200
            assert "<script>alert" not in answer.text
    assert not Batch.objects.exists()


def test_an_oversized_form_is_refused_without_repeating_it(client: Client) -> None:
    oversized = FORM | {"slots": 300_000 * "7"}
    for address in (FORM_URL, f"{FORM_URL}/check"):
        for changes in ({"do": "submit"}, {"do": ""}):
            answer = client.post(address, oversized | changes, headers={"Accept": "text/html"})
            assert answer.status_code == 413
            assert "at most 600 slots and 200,000 bytes" in answer.text
            assert len(answer.content) < 20_000
            part = client.post(address, oversized | changes, headers={"HX-Request": "true"})
            assert (part.status_code, part["HX-Retarget"]) == (200, "#verdict")
            assert "at most 600 slots and 200,000 bytes" in part.text
    assert not Batch.objects.exists()
