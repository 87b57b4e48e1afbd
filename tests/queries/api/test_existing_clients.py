"""Clients of years ago, with one base URL changed: each of their ways of asking goes through.

They read `internalId`, `queryStatus` and `error`, so this reads nothing else of an answer.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from queries.tacitus import Ask, batch_of
from tests.commands import managing
from tests.installation import HOLDER, Installation, Told, installation
from tests.local_chain import CHAIN_ID, ETHER
from tests.queries.api.recorded_requests import ALIASES, RECORDED, KeyPlace, Recorded
from tests.queries.client.odd_server import Odd, odd_server, saying
from tests.queries.contracts.holder import VARIABLES, compiled_holder

pytestmark = pytest.mark.no_database

PATIENCE = 30  # seconds
WRONG_KEY = "tct_wrong"


class OldClient:
    """What all of them do."""

    def __init__(self, it: Installation, place: KeyPlace, *, in_url: str = "") -> None:
        self.address = it.address
        self.headers = {} if place is KeyPlace.URL else {"api-key": it.key}
        self.parameters = {} if place is KeyPlace.HEADER else {"apiKey": in_url or it.key}

    def submit(self, body: object) -> str:
        return self._asked("POST", "/submit-batch-query", "internalId", json=body)

    def status(self, batch: str) -> str:
        parameters = self.parameters | {"batchQueryId": batch}
        return self._asked("GET", "/batch-query-status", "queryStatus", params=parameters)

    def ended(self, batch: str) -> str:
        until = time.monotonic() + PATIENCE
        while (status := self.status(batch)) == "IN_PROGRESS" and time.monotonic() < until:
            time.sleep(0.1)
        return status

    def _asked(self, method: str, path: str, read: str, **more: object) -> str:
        """One field of the answer, or what is said to be wrong."""
        asked: dict[str, object] = {"params": self.parameters, "headers": self.headers, **more}
        answer = requests.request(method, self.address + path, timeout=10, **asked)  # type: ignore[arg-type]
        told = answer.json()
        assert (answer.status_code == 200) is ("error" not in told)
        return str(told[read] if answer.status_code == 200 else told["error"])


@dataclass(frozen=True)
class Field:
    """The service, a contract with storage, and what all the clients have submitted."""

    it: Installation
    hook: Odd
    words: Mapping[str, str]
    submitted: Mapping[Recorded, str]


@pytest.fixture(scope="module")
def field(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """They come all at once, as they do to a server that many use."""
    folder = tmp_path_factory.mktemp("installation")
    own: dict[str, str] = {"WEBHOOKS_TO_PRIVATE": "1"}
    manage = managing(repository, folder)
    with (
        installation(repository, folder, manage, Told(aliases=ALIASES), **own) as it,
        odd_server(saying({})) as hook,
    ):
        contract = it.node.deploy(compiled_holder())
        head = it.node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003
        it.node.rpc.ask("anvil_mine", "0x3", "0x1")  # which block a time is of shows with the next
        words = {
            "CHAIN": f"{CHAIN_ID}",
            "BLOCK": f"{int(head['number'], 16)}",
            "TIME": f"{int(head['timestamp'], 16)}",
            "HOLDER": HOLDER.lower(),
            "MISSPELLED": HOLDER.replace("0xd8dA", "0xD8Da"),
            "CONTRACT": contract,
            "HOOK": f"{hook.address}/hook",
        }
        _until_the_server_has_seen(it, int(words["TIME"]))
        submitted = {
            each: OldClient(it, each.key).submit(body_of(each, words)) for each in RECORDED
        }
        yield Field(it, hook, words, submitted)


def _until_the_server_has_seen(it: Installation, moment: int) -> None:
    """It refuses what is later than the block that its prover saw last."""
    client = OldClient(it, KeyPlace.HEADER)
    asked = batch_of(CHAIN_ID, Ask(CHAIN_ID, timestamp=moment, header=["GAS_USED"]))
    until = time.monotonic() + PATIENCE
    while "yet" in (said := client.submit(asked)):
        assert time.monotonic() < until, said
        time.sleep(0.2)


def body_of(recorded: Recorded, words: Mapping[str, str]) -> object:
    named = "|".join(words)
    return json.loads(re.sub(rf"\b({named})\b", lambda each: words[each[0]], recorded.body))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each.name)
def test_each_way_of_asking_comes_to_be_done(field: Field, recorded: Recorded) -> None:
    batch = field.submitted[recorded]
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", batch), batch
    assert OldClient(field.it, recorded.key).ended(batch) == "DONE"


def test_contracts_read_it_by_the_selectors_that_they_were_deployed_with(field: Field) -> None:
    holder, contract = field.words["HOLDER"], field.words["CONTRACT"]
    block, slot = int(field.words["BLOCK"]), VARIABLES["packed, low"][0].slot
    for each in RECORDED[:2]:
        OldClient(field.it, each.key).ended(field.submitted[each])
    account_field = f"7177899b{holder[2:]:0>64}{block:064x}{1:064x}"
    slot_values = f"7e445a26{contract[2:]:0>64}{block:064x}{slot:064x}"
    balance, word = (
        field.it.node.call(field.it.registry, bytes.fromhex(data))
        for data in (account_field, slot_values)
    )
    assert int.from_bytes(balance) == 123 * ETHER
    stored = field.it.node.rpc.ask("eth_getStorageAt", contract, hex(slot), hex(block))
    assert word.hex() == f"{int(stored, 16):064x}"


def test_the_webhook_is_told(field: Field) -> None:
    (recorded,) = [each for each in RECORDED if "HOOK" in each.body]
    OldClient(field.it, recorded.key).ended(field.submitted[recorded])
    until = time.monotonic() + PATIENCE
    while not field.hook.came and time.monotonic() < until:
        time.sleep(0.1)
    came = field.hook.came[0]
    assert (came.path, came.headers["content-type"]) == ("/hook", "application/json")
    assert field.submitted[recorded].encode() in came.body


def test_extras_at_the_top_are_warned_of(field: Field) -> None:
    (extra,) = [each for each in RECORDED if "chainId" in each.body]
    answer = requests.post(
        f"{field.it.address}/submit-batch-query",
        json=body_of(extra, field.words),
        headers={"api-key": field.it.key},
        timeout=10,
    ).json()
    assert ["chainId" in each["sentence"] for each in answer["warnings"]] == [True]


def test_of_two_keys_the_header_decides(field: Field) -> None:
    batch = field.submitted[RECORDED[0]]
    client = OldClient(field.it, KeyPlace.BOTH, in_url=WRONG_KEY)
    assert client.ended(batch) == "DONE"
    client.headers, client.parameters = {"api-key": WRONG_KEY}, {"apiKey": field.it.key}
    assert client.status(batch).startswith("This API key is not known")


@pytest.mark.parametrize("place", KeyPlace)
def test_errors_begin_as_clients_compare_them(field: Field, place: KeyPlace) -> None:
    client = OldClient(field.it, place)
    for account in ("0x12", "vitalik", HOLDER[2:]):
        asked = Ask(CHAIN_ID, block=1, accounts=[account], props=["BALANCE"])
        said = client.submit(batch_of(CHAIN_ID, asked))
        assert said.startswith("Invalid account address or ENS"), said
    for batch in ("01J2VM6JSA6VKKZ0ENWGYYPR18", "x", ""):
        assert client.status(batch).startswith("No query found"), batch


def test_a_name_that_the_operator_has_not_set_is_told(field: Field) -> None:
    asked = batch_of("SN_MAIN", Ask(CHAIN_ID, block=1, header=["STATE_ROOT"]))
    assert "SN_MAIN" in OldClient(field.it, KeyPlace.URL).submit(asked)


def test_an_entry_that_asks_for_nothing_is_told(field: Field) -> None:
    content = {"destinationChainId": f"{CHAIN_ID}", "fee": "0"}
    nothing: list[object] = [{}, {"accounts": {}}, {"accounts": {HOLDER: {}}}, {"header": []}]
    for block in nothing:
        data = {f"{CHAIN_ID}": {"block:1": block}}
        said = OldClient(field.it, KeyPlace.URL).submit(content | {"data": data})
        assert said.endswith("."), said
        assert " " in said


def test_connections_need_no_key(field: Field) -> None:
    told = requests.get(f"{field.it.address}/chain-connections", timeout=10).json()
    here = f"{CHAIN_ID}"
    assert told == {"connections": [{"originChainId": here, "destinationChainId": here}]}
