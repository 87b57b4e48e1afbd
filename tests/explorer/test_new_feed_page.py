"""The form of a new feed: its triggers, deliveries and amounts, and its JSON, both ways."""

import json
import re
import time
from html import unescape
from typing import Any

import pytest
from django.test import Client

from queries.models import Batch, ChainRecord, Feed
from queries.planning import on_request
from tests.explorer.batch_form import (
    FEED_URL,
    FORM_URL,
    check,
    field_error,
    request_json,
    send,
    signed_in,
)
from tests.explorer.feed_form import BALANCE, CONTRACT, EVENT, FEEDS, FeedCase
from tests.explorer.page_text import textarea, visible_text
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    OTHER_WALLET,
    SEPOLIA,
    WALLET,
    ask,
    made_feed,
    make_key,
    record_head,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
EACH_FEED = pytest.mark.parametrize("case", FEEDS.values(), ids=FEEDS)
TUPLE = {"name": "point", "type": "tuple[]", "components": [{"name": "x", "type": "int128"}]}
ABI = [
    {"type": "constructor", "inputs": []},
    {"type": "function", "name": "last", "inputs": [], "stateMutability": "view"},
    {"type": "function", "name": "move", "inputs": [TUPLE], "stateMutability": "nonpayable"},
    {"type": "function", "name": "keep", "inputs": [{"name": "block", "type": "uint256"}]},
    {"type": "function", "name": "", "inputs": [{"type": "x"}]},
    "junk",
]
MOVE, KEEP = "move((int128 x)[] point)", "keep(uint256 block)"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The user's key. The chains have a head, and their nodes do not exist."""
    monkeypatch.setattr(on_request, "ESTIMATE_SECONDS", 0.0)
    record_head(SEPOLIA, number=5_186_021, timestamp=int(time.time()))
    ChainRecord.objects.update(block_seconds=12.0)
    return make_key()


def _send(do: str = "submit", **form: Any) -> Any:
    return send(signed_in(), do, FEED_URL, **form)


def _check(**form: Any) -> Any:
    return check(signed_in(), FEED_URL, **form)


def _menu(answer: Any, argument: str) -> dict[str, str]:
    """The placeholders that can be chosen for an argument, with their labels."""
    menu = re.search(rf'<select id="menu-{argument}".*?</select>', answer.text, re.DOTALL)
    options = re.findall(r'<option value="([^"]+)"[^>]*>(.*?)</option>', menu[0] if menu else "")
    return {unescape(value): unescape(label) for value, label in options}


@EACH_FEED
def test_the_form_makes_a_feed_of_each_trigger_with_a_delivery(case: FeedCase, key: str) -> None:
    checked = _check(**case.form)
    assert request_json(checked) == case.request
    assert 'class="mark rejected"' not in field_errors(checked)
    answer = _send(**case.form, name="Rates")
    feed = answer.headers["Location"].rpartition("/")[2]
    stored = ask(key, f"/feeds/{feed}").json()
    assert {name: stored[name] for name in case.request} == case.request
    assert stored["name"] == "Rates"
    assert not Batch.objects.exists()


def field_errors(answer: Any) -> str:
    return "".join(re.findall(r'<p class="field-error".*?</p>', answer.text, re.DOTALL))


@EACH_FEED
def test_json_fills_in_the_form_and_the_form_the_json(case: FeedCase) -> None:
    limits = {"until": 4102444800, "budget": str(10**16), "name": "Rates"}
    body = case.request | limits
    body["batch"] |= {"fee": str(5 * 10**15), "webhook": {"url": "https://example.org/hook"}}
    body["batch"]["deliver"] *= 2
    filled = _send("fields", json=json.dumps(body))
    assert request_json(filled) == body
    assert 'id="json"' not in filled.text
    for field, value in {"fee": "0.005 ETH", "budget": "0.01 ETH", "name": "Rates"}.items():
        assert f'name="{field}" value="{value}"' in filled.text
    editor = _send("json", **case.form, budget="0.01 eth")
    assert json.loads(textarea(editor, "json")) == case.request | {"budget": str(10**16)}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda body: body["batch"]["deliver"][0].update(unless={}), "batch.deliver[0].unless"),
        (lambda body: body["batch"].update(prove=False), "batch.prove"),
        (lambda body: body["batch"]["data"].update({"10": {}}), "batch.data.10"),
        (lambda body: body.update(every="90 seconds"), "this request"),
        (lambda body: body.pop("batch"), ""),
    ],
)
def test_what_the_fields_cannot_hold_stays_json_and_says_why(change: Any, path: str) -> None:
    body = FEEDS["time"].request
    change(body)
    answer = _send("fields", json=json.dumps(body))
    assert json.loads(textarea(answer, "json")) == body
    expected = f"The fields cannot hold {path}" if path else "batch is missing"
    assert expected in visible_text(answer.text)
    assert "is not JSON" in field_error(_send("fields", json="{"), "json")


def test_a_pasted_abi_becomes_a_menu_of_its_functions() -> None:
    for text in (json.dumps(ABI), json.dumps({"abi": ABI}, indent=1)):
        form = {"to-0": CONTRACT, "function-0": text}
        answer = _check(**form)
        select = re.search(r'<select id="function-0".*?</select>', answer.text, re.DOTALL)
        assert select
        assert re.findall(">([^<>]+)</option>", select[0]) == [MOVE, KEEP, "another function …"]
        assert request_json(answer)["batch"]["deliver"][0]["function"] == MOVE
    functions = {"functions-0": f"{MOVE}\r\n{KEEP}"}
    chosen = _check(**{"to-0": CONTRACT, **functions, "function-0": KEEP})
    assert "$block" in _menu(chosen, "0-0")
    typed = _check(**{"to-0": CONTRACT, **functions, "function-0": ""})
    assert '<input id="function-0"' in typed.text
    alone = _check(**{"to-0": CONTRACT, "function-0": json.dumps(ABI[3])})
    assert f'name="function-0" value="{KEEP}"' in alone.text


def test_menus_have_the_placeholders_that_fit_the_type() -> None:
    function = "f(uint256 a, bytes32 b, address c, bytes d, string e, bytes[] g, uint8 h)"
    form = {"to-0": CONTRACT, "function-0": function, "slots": "2", "header": ["TIMESTAMP"]}
    answer = _check(**form)
    numbers = _menu(answer, "0-0")
    assert numbers[BALANCE] == "balance of 0xd8dA…6045"
    assert numbers[f"$value({WALLET}.0x2)"] == "slot 2 of 0xd8dA…6045"
    assert {"$due", "$block", "$timestamp", "$value(TIMESTAMP)"} <= numbers.keys()
    assert "$blockHash" in _menu(answer, "0-1")
    assert "$registry" in _menu(answer, "0-2")
    proofs = _menu(answer, "0-3")
    assert {"$header", "$witness", f"$proof({WALLET}, 0x2)"} <= proofs.keys()
    assert _menu(answer, "0-4") == {}
    assert _menu(answer, "0-5").keys() == {
        f"$accountProof({WALLET})", f"$storageProof({WALLET}, 0x2)"
    }  # fmt: skip
    assert not {"$block", "$due"} & _menu(answer, "0-6").keys()
    of_log = _check(**form, trigger="LOGS", emitter=CONTRACT, event=EVENT)
    assert _menu(of_log, "0-0")["$data[0]"] == "the event's value"
    assert _menu(of_log, "0-2")["$topic1"] == "the event's from"
    # A batch has no runs.
    of_batch = check(signed_in(), FORM_URL, **form)
    assert "$block" in _menu(of_batch, "0-0")
    assert "$due" not in _menu(of_batch, "0-0")


def test_arguments_are_not_replaced_unless_they_change() -> None:
    form = {"to-0": CONTRACT, "function-0": KEEP}
    first = _check(**form)
    match = re.search('name="digest-call-0" value="([^"]+)"', first.text)
    assert match
    form["digest-call-0"] = match[1]
    assert 'id="call-0"' not in _check(**form).text
    assert 'id="call-0"' not in _check(**form | {"function-0": "keep(uint256 bl"}).text
    assert 'id="call-0"' in _check(**form, slots="7").text


def test_values_of_all_types_are_typed() -> None:
    function = "f(bool a, uint8[] b, (address,int8) c, string d)"
    values = ["true", '["1", "$block"]', f'["{WALLET}", "-1"]', " true "]
    form = {f"arg-0-{place}": text for place, text in enumerate(values)}
    shown = request_json(_check(**{"to-0": CONTRACT, "function-0": function, **form}))
    (call,) = shown["batch"]["deliver"]
    assert call["args"] == [True, ["1", "$block"], [WALLET, "-1"], " true "]


def test_deliveries_are_added_and_removed_and_a_blank_one_is_not_sent() -> None:
    form = FEEDS["time"].form
    added = _send("add", **form)
    assert 'name="to-1"' in added.text
    assert request_json(added)["batch"]["deliver"] == FEEDS["time"].request["batch"]["deliver"]
    two = form | {"to-1": CONTRACT, "function-1": "ping()", "gas-1": "50,000"}
    calls = request_json(_check(**two))["batch"]["deliver"]
    assert calls[1] == {"to": CONTRACT, "function": "ping()", "args": [], "gas": "50000"}
    removed = request_json(_send("remove-0", **two))
    assert removed["batch"]["deliver"] == calls[1:]
    full = {f"to-{number}": CONTRACT for number in range(20)}
    assert 'value="add"' not in _send("add", **full).text


def test_a_batch_delivers_too() -> None:
    form = {"to-0": CONTRACT, "function-0": KEEP, "arg-0-0": "", "menu-0-0": "$block"}
    batch = send(signed_in(), **form)["Location"].rpartition("/")[2]
    (delivery,) = Batch.objects.get(pk=batch).deliveries.all()
    assert (delivery.to, delivery.function) == (CONTRACT, KEEP)
    again = signed_in().get(f"{FORM_URL}?batch={batch}")
    assert request_json(again)["deliver"][0]["args"] == ["$block"]
    assert 'id="json"' not in again.text


def test_the_log_itself_is_proven() -> None:
    form = FEEDS["log"].form | {"own-log": "on", "account": "", "to-0": "", "function-0": ""}
    answer = _check(**form)
    (block,) = request_json(answer)["batch"]["data"][str(SEPOLIA)].values()
    ((log,),) = block.values()
    assert log["address"] == CONTRACT
    topic, *others = FEEDS["log"].request["on"]["topics"]
    assert topic is None
    assert log["topics"][1:] == others
    assert re.fullmatch("0x[0-9a-f]{64}", log["topics"][0])
    assert "This can be submitted" in visible_text(answer.text)
    filled = _send("fields", json=json.dumps(request_json(answer)))
    assert request_json(filled) == request_json(answer)
    assert _send(**form).status_code == 302


ERRORS: list[tuple[str, str, dict[str, str], str]] = [
    ("blocks", "blocks", {"blocks": "0"}, "Enter a whole number."),
    ("blocks", "blocks", {"blocks": "x"}, "Enter a whole number."),
    ("blocks", "blocks", {"blocks": "2"}, "This is 2 blocks, but must be at least 5 blocks"),
    ("time", "time", {"time": "1", "time-unit": "x"}, "This is &quot;1 x&quot;, but must be"),
    ("time", "until", {"until": "soon"}, "Enter a time in UTC, such as 2027-01-31"),
    ("time", "until", {"until": "2001-01-01"}, "This is 2001-01-01 00:00:00 UTC, before the"),
    ("time", "budget", {"budget": "1 wei", "fee": "1"}, "This is 1 wei, but one run may spend"),
    ("time", "budget", {"budget": "a lot"}, "The amount is &quot;a lot&quot;. Write it as"),
    ("time", "fee", {"fee": "1 DAI"}, "The amount is in DAI. Give it in ETH, gwei or wei."),
    ("time", "account", {"account": "0x1"}, "This is not an account: an address has 40 hex"),
    ("time", "webhook", {"webhook": "ftp://x"}, "This must be a full"),
    ("time", "name", {"name": 61 * "x"}, "This has 61 characters, but must be"),
    ("log", "emitter", {"emitter": "x"}, "This is"),
    ("log", "event", {"event": "Transfer"}, "This is &quot;Transfer&quot;, which is not an event"),
    ("log", "topic-2", {"topic-2": "x"}, "This is &quot;x&quot;, but must be a topic"),
    ("value", "change", {"change": "x"}, "This is &quot;x&quot;, but must be hundredths"),
    ("value", "read-blocks", {"read-blocks": "1"}, "This is 1 block, but must be at least 5"),
    ("value", "heartbeat", {"heartbeat": "x"}, "Enter a whole number."),
    ("time", "to-0", {"to-0": "0x1"}, "This"),
    ("time", "function-0", {"function-0": "f(uint)", "arg-0-0": "1", "menu-0-0": ""}, ""),
    ("time", "function-0", {"function-0": "f(x)"}, "This is &quot;f(x)&quot;, which is not a"),
    ("time", "gas-0", {"gas-0": "5"}, "This"),
    ("time", "arg-0-1", {"arg-0-1": "x", "menu-0-1": ""}, "This is &quot;x&quot;, but uint256"),
    ("time", "arg-0-0", {"account": OTHER_WALLET}, "This is &quot;$value("),
]


@pytest.mark.parametrize(("case", "field", "changes", "sentence"), ERRORS)
def test_errors_stand_at_their_fields_at_once(
    case: str, field: str, changes: dict[str, str], sentence: str
) -> None:
    form = FEEDS[case].form | changes
    answers = _check(**form), _send(**form)  # what is refused is not said to be submittable before
    if not sentence:
        assert field_error(answers[0], field) == ""
        return
    for answer in answers:
        assert answer.status_code == 200
        assert field_error(answer, field).startswith(f"Wrong: {sentence}")
        assert "This can be submitted" not in answer.text
    assert not Feed.objects.exists()


def test_what_is_not_filled_in_yet_is_named_and_not_an_error() -> None:
    form = {"time": "1", "to-0": CONTRACT, "function-0": KEEP, "arg-0-0": "", "menu-0-0": ""}
    answer = _check(**form)
    assert "Still missing: a value for block." in visible_text(answer.text)
    assert field_error(answer, "arg-0-0") == ""
    assert field_error(_send(**form), "arg-0-0").startswith("Wrong: This is")
    nothing = _check(account="", blocks="2", trigger="BLOCKS")
    assert "must be at least 5 blocks" in field_error(nothing, "blocks")
    watching = _check(trigger="VALUE", props=["CODE_HASH"], read__blocks="20")
    assert "Still missing: an account's balance, nonce" in unescape(visible_text(watching.text))


def test_another_feed_than_an_account_may_have_is_refused_at_once(key: str, settings: Any) -> None:
    settings.FEEDS_PER_ACCOUNT = 1
    made_feed(key, FEEDS["time"].request)
    assert "An account may have 1 feed here" in visible_text(_check(**FEEDS["time"].form).text)


def test_amounts_are_typed_in_the_coin_and_shown_in_wei_on_hover() -> None:
    form = FEEDS["time"].form | {"fee": "0.005", "budget": "20000000 gwei"}
    answer = _check(**form)
    body = request_json(answer)
    assert (body["batch"]["fee"], body["budget"]) == (str(5 * 10**15), str(2 * 10**16))
    assert 'title="5,000,000,000,000,000 wei"' in answer.text
    assert "= 0.02 ETH" in visible_text(answer.text)
    assert '<details class="more" id="more-payment" open>' in _send("check", **form).text


def test_the_intervals_that_are_filled_in_are_accepted(key: str) -> None:
    ChainRecord.objects.update(block_seconds=0.5)
    first = signed_in().get(FEED_URL).text
    for trigger in ("BLOCKS", "SECONDS", "VALUE"):
        names = ("blocks", "time", "read-blocks")
        values = {name: re.search(rf'name="{name}" value="(\d+)"', first)[1] for name in names}  # type: ignore[index]
        assert _send(trigger=trigger, **values).status_code == 302, trigger
    assert len(ask(key, "/feeds").json()["feeds"]) == 3


def test_a_link_fills_in_the_form(key: str) -> None:
    link = f"?source={SEPOLIA}&account={WALLET}&slot=0x2&to={OPTIMISM}"
    opened = signed_in().get(f"{FEED_URL}{link}")
    assert request_json(opened)["batch"]["data"] == {
        str(SEPOLIA): {"timestamp:$due": {"accounts": {WALLET: {"slots": ["0x2"]}}}}
    }
    new = signed_in().get("/dashboard/feeds").text
    assert f'href="{FEED_URL}"' in new


def test_placeholders_of_slots_are_kept_whole() -> None:
    slots = "$keccak($topic1, 0) 2\n$keccak($keccak($topic1, 0), $data[0])+1"
    body = request_json(_check(**FEEDS["log"].form | {"slots": slots}))
    (block,) = body["batch"]["data"][str(SEPOLIA)].values()
    (entry,) = block["accounts"].values()
    assert entry["slots"] == [
        "$keccak($topic1, 0)", "0x2", "$keccak($keccak($topic1, 0), $data[0])+1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "field",
    ["name", "event", "emitter", "topic-1", "to-0", "function-0", "functions-0", "arg-0-0",
     "menu-0-0", "gas-0", "budget", "until", "watched", "change", "trigger"],
)  # fmt: skip
def test_hostile_input_is_escaped(field: str) -> None:
    for text in ("<script>alert(1)</script>\u202ehunter2", "\x00", 9_000 * "(", 5_000 * "[{"):
        for case in ("log", "value"):
            form = FEEDS[case].form | {field: text}
            for answer in (_send("check", **form), _check(**form), _send("json", **form)):
                assert answer.status_code == 200
                assert "<script>alert" not in answer.text


def test_a_feed_is_not_made_by_the_form_of_a_batch() -> None:
    for client in (Client(), signed_in()):
        page = client.get(FORM_URL, follow=True).text
        assert 'id="trigger-time"' not in page
        assert 'id="repeat"' not in page
    refused = send(signed_in(), json=json.dumps(FEEDS["time"].request))
    assert field_error(refused, "json").startswith("Wrong: ")
