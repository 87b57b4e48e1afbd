"""While some make a server work and wait as much as they may, others are served.

Each test measures others beside the attack and beside ordinary clients, in the same run, on a
database with ten thousand queries; where it bears most of the attack, on both kinds. Time here is
that of one process with its four threads; what bounds each attack is told at /docs/security.
"""

import json
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from secrets import token_hex

import pytest
import requests
from eth_account import Account as Key
from eth_account.messages import encode_defunct

from queries.management.many_jobs import DESTINATION, SOURCE
from queries.management.many_queries import BUSY
from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from tests.commands import Manage, managing
from tests.explorer.beside import (
    Site,
    Waits,
    assert_no_slower,
    memory_bounded,
    served_beside,
    together,
    waits,
    waits_as_usual,
)
from tests.own_database import own_database
from tests.queries.chain.lying_node import LyingNode, lying_node, result, stall
from tests.served import served

CHAIN = 31337
BLOCKS, ACCOUNTS, SLOTS = 100, 1_000, 5_000  # at most in a batch
POLLS, POLLERS = 10_000, 4
ALLOWED, WINDOW = 600, 60  # requests of a key in so many seconds
BODY_BYTES = 2**20
KEYS = 10
# What `add_wide_queries` names stands behind these.
WIDE = (
    f"/explorer/block/{SOURCE}/",
    "/explorer/account/",
    f"/explorer/transaction/{DESTINATION}/",
)
FILLED = f"""
from eth_account import Account as Key
from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet
from queries.management.many_queries import fill
from queries.management.many_wide_queries import add_wide_queries
fill(10_000)
print("\\n".join(add_wide_queries().values()))
for _ in range({KEYS}):
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    print(api_keys.shown(api_keys.add_key(owner, "Denial")))
"""
ROUTES = """
[chains.{chain}]
name = "Slow"
nodes = ["{node}"]
finality = 0
free = true
ens_registry = "0x1111111111111111111111111111111111111111"

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""


@dataclass(frozen=True)
class FilledSite(Site):
    """With the addresses of pages whose lists have many queries of thousands of slots."""

    wide: list[str]


def _tell_the_chain_and_stall(node: LyingNode, question: dict[str, object]) -> None:
    if question["method"] == "eth_chainId":
        node.answer(result(hex(CHAIN)))
    else:
        stall(node, question)


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledSite]:
    folder = tmp_path_factory.mktemp("site")
    with lying_node(_tell_the_chain_and_stall) as node, ExitStack() as inside:
        (folder / "routes.toml").write_text(ROUTES.format(chain=CHAIN, node=node))
        own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(folder / "routes.toml")}
        own["FACTS_PER_DAY"] = "1000000000"
        own["DATABASE_URL"] = inside.enter_context(own_database(folder, f"denial_{token_hex(4)}"))
        manage: Manage = managing(repository, folder)
        assert manage("migrate", **own).returncode == 0
        told = manage("shell", "--no-imports", "--command", FILLED, **own).stdout.split()
        keys, wide = told[-KEYS:], told[:-KEYS]
        assert len(wide) == len(WIDE)
        with served(repository, folder, **own) as address:
            yield FilledSite(
                address, keys, [path + name for path, name in zip(WIDE, wide, strict=True)]
            )


@pytest.mark.no_database
def test_nodes_that_hang_leave_a_thread_to_those_who_ask_nobody(site: Site) -> None:
    """With checks of facts they would be more than there are threads: see test_held_threads."""

    body = _batch({f"{n}.eth": _BALANCE for n in range(9)})

    told = set[str]()

    def hangs(key: str) -> Callable[[], object]:
        return lambda: told.add(site.estimate(key, body).json()["code"])

    attacks = [*map(hangs, site.keys[:4]), *[_sign_in_as_a_wallet(site)] * 2]
    served_beside(site, *attacks, turns=1)
    # While nodes hang, some hold all turns.
    assert told in ({"chain_unavailable"}, {"chain_unavailable", "estimates_busy"})


@pytest.mark.no_database
def test_bodies_as_deep_and_as_large_as_they_may_be(site: Site) -> None:
    deep = b"[" * 500_000
    values = b'{"destinationChainId": [' + b"0," * 500_000 + b"0]}"
    names = b'{"' + b'":0,"'.join(b"%d" % n for n in range(120_000)) + b'":0}'
    huge = b"x" * 2**21
    for body, code in ((deep, "nested_too_deeply"), (huge, "body_too_large")):
        assert site.submit(site.keys[0], body).json()["code"] == code
    attacks = [partial(site.submit, site.keys[0], each) for each in (deep, values, names)]
    served_beside(site, *attacks)


@pytest.mark.django_db
def test_batches_as_costly_as_the_limits_allow(site: Site) -> None:
    body = _batch_of(BLOCKS, ACCOUNTS, SLOTS)
    assert len(body) < BODY_BYTES
    for more, code in (
        (_batch_of(BLOCKS + 1, ACCOUNTS, SLOTS), "too_many_blocks"),
        (_batch_of(BLOCKS, ACCOUNTS + 1, SLOTS), "too_many_accounts"),
        (_batch_of(BLOCKS, ACCOUNTS, SLOTS + 1), "too_many_slots"),
    ):
        assert site.submit(site.keys[0], more).json()["code"] == code

    def submit(key: str) -> None:
        assert site.submit(key, body).status_code == 200

    attacks = [partial(submit, key) for key in site.keys[:2]]
    served_beside(site, *attacks)


@pytest.mark.django_db
def test_ten_thousand_polls(site: Site) -> None:
    """By four who never pause, each with a key, beside one who asks as often as it may."""
    patient, *pollers = site.keys[4 : 5 + POLLERS]
    batch = site.submit(patient, _batch({"0x" + 40 * "1": _BALANCE})).json()["internalId"]
    path = f"/batch-query-status?batchQueryId={batch}"
    usual, beside = [waits_as_usual(site, POLLERS + 1)], list[Waits]()
    began = time.monotonic()
    with memory_bounded(site), ThreadPoolExecutor(POLLERS + 1) as threads:
        polling = [
            threads.submit(_polls, site, path, key, times=POLLS // POLLERS) for key in pollers
        ]
        pause = 1.2 * WINDOW / ALLOWED
        paced = threads.submit(_polls, site, path, patient, times=POLLS // 200, pause=pause)
        while not all(each.done() for each in polling):
            beside.append(waits(site))
            time.sleep(0.3)
        seconds = time.monotonic() - began
        told = [each.result() for each in polling]
        windows = 1 + int(seconds + 1) // WINDOW
        assert all(ALLOWED <= each[200] <= windows * ALLOWED for each in told), told
        assert {status for each in told for status in each} == {200, 429}
        assert sum(each.total() for each in told) == POLLS
        assert paced.result() == Counter({200: POLLS // 200})
    usual.append(waits_as_usual(site, POLLERS + 1))
    as_usual = together(*usual)
    # However busy the machine is: a poll takes no longer than a page.
    assert seconds * POLLERS / POLLS < statistics.median(as_usual["/explorer/batches"])
    assert_no_slower(together(*beside), as_usual)


def _polls(site: Site, path: str, key: str, *, times: int, pause: float = 0) -> Counter[int]:
    """How often each status was answered, over a connection that is kept."""
    host, port = site.address.removeprefix("http://").split(":")
    content = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\napi-key: {key}\r\n\r\n".encode()
    told = Counter[int]()
    with socket.create_connection((host, int(port)), timeout=30) as line, line.makefile("rb") as it:
        for _ in range(times):
            line.sendall(content)
            told[int(it.readline().split()[1])] += 1
            length = 0
            while (header := it.readline()) != b"\r\n":
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            it.read(length)
            time.sleep(pause)
    return told


@pytest.mark.django_db
def test_many_searches_for_what_is_there_and_for_what_may_mean_much(site: Site) -> None:
    searches = cycle(
        [
            BUSY,  # leads to a page with all of it
            f"{BUSY[2:]}{24 * '0'}",
            " ".join(12 * ["11155111"]),
            ".".join(100 * ["eth"]),
            "x" * 300,
        ]
    )

    def search() -> None:
        answer = requests.get(f"{site.address}/search", {"q": next(searches)}, timeout=30)
        assert answer.status_code == 200

    served_beside(site, *[search] * 3)


@pytest.mark.django_db
def test_lists_of_queries_that_are_as_wide_as_the_limits_allow(site: FilledSite) -> None:
    addresses = cycle([*site.wide, f"{site.wide[0]}/facts.csv"])

    def read() -> None:
        assert requests.get(site.address + next(addresses), timeout=30).status_code == 200

    served_beside(site, *[read] * 3)


@pytest.mark.no_database
def test_forms_messages_and_headers_that_take_long_to_read(site: Site) -> None:
    attacks = [_fills_forms(site), _shows_long_messages(site), _sends_long_headers(site)]
    served_beside(site, *attacks)


@pytest.mark.no_database
def test_forms_of_nobody_that_take_long_to_read(site: Site) -> None:
    served_beside(site, *[_sends_forms(site) for _ in range(3)])


_BALANCE = {"props": ["BALANCE"]}


def _batch(accounts: Mapping[str, object]) -> bytes:
    return _asking_for({"block:1": {"accounts": accounts}})


def _batch_of(blocks: int, accounts: int, slots: int) -> bytes:
    """So many of each, all of them distinct and as long as may be, with every field there is."""
    props, header = list(AccountField.__members__), list(HeaderField.__members__)
    asked: list[dict[str, object]] = [{"props": props} for _ in range(accounts)]
    for place, each in enumerate(asked):
        each["slots"] = [f"0x{slot:064x}" for slot in range(place, slots, accounts)]
    return _asking_for(
        {
            f"block:{number}": {
                "header": header,
                "accounts": {
                    f"0x{place + 1:040x}": asked[place] for place in range(number, accounts, blocks)
                },
            }
            for number in range(blocks)
        }
    )


def _asking_for(blocks: Mapping[str, object]) -> bytes:
    data = {str(CHAIN): blocks}
    return json.dumps({"destinationChainId": str(CHAIN), "fee": "0", "data": data}).encode()


def _visitor(site: Site) -> requests.Session:
    session = requests.Session()
    session.get(f"{site.address}/sign-in", timeout=30)
    session.headers["X-CSRFToken"] = session.cookies["visit"]
    return session


def _fills_forms(site: Site) -> Callable[[], object]:
    """By somebody who is signed in: by turns as much as is shown again, and as may be sent."""
    session, key = _visitor(site), Key.create()
    asked = {"address": key.address, "chainId": "1"}
    message = session.post(f"{site.address}/sign-in/message", json=asked, timeout=30).json()
    signed = key.sign_message(encode_defunct(text=message["message"])).signature
    shown = {"message": message["message"], "signature": f"0x{signed.hex()}"}
    assert session.post(f"{site.address}/sign-in", json=shown, timeout=30).status_code == 200
    session.headers["X-CSRFToken"] = session.cookies["visit"]
    forms = [
        ({"part": "0", "slots-0": " ".join(map(hex, range(2 * SLOTS)))}, 200),
        ({"part": "0", "slots-0": " ".join(map(str, range(300_000)))}, 413),
        ({"part": "0", "account-0": 1_040_000 * "'"}, 413),
    ]
    turns = cycle(forms)

    def fill() -> None:
        form, status = next(turns)
        answer = session.post(f"{site.address}/dashboard/new-batch", form, timeout=30)
        assert answer.status_code == status

    return fill


def _shows_long_messages(site: Site) -> Callable[[], object]:
    session = _visitor(site)
    shown = {"message": f"{1_490 * 'a'}://", "signature": f"0x{130 * '1'}"}

    def show() -> None:
        answer = session.post(f"{site.address}/sign-in", json=shown, timeout=30)
        assert answer.status_code in {400, 429}  # a network signs in only so often
        time.sleep(0.02)

    return show


def _sends_forms(site: Site) -> Callable[[], object]:
    """By somebody who is not signed in, and whom only reading the form tells from a forger."""
    session = _visitor(site)
    del session.headers["X-CSRFToken"]
    part = '--x\r\nX: a;x="{}"\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n'
    forms = [
        ("/sign-in", "application/x-www-form-urlencoded", "x=" + 2_600_000 * "%", 413),
        ("/dashboard/new-batch", "application/x-www-form-urlencoded", "x=" + 219_000 * "%", 302),
        ("/dashboard/new-batch", "application/x-www-form-urlencoded", 2_600_000 * "%", 413),
        ("/sign-in", "multipart/form-data; boundary=x", 999 * part.format(900 * ";"), 415),
    ]
    turns = cycle(forms)

    def send() -> None:
        path, kind, form, status = next(turns)
        headers = {"Content-Type": kind}
        address = site.address + path
        answer = session.post(address, form, headers=headers, timeout=30, allow_redirects=False)
        assert answer.status_code == status

    return send


def _sends_long_headers(site: Site) -> Callable[[], object]:
    hostile, cookies = f'a/b;x="{15_000 * ";"}', f'a="{15_000 * chr(92)}"'

    def send() -> None:
        headers = {"Content-Type": hostile, "Cookie": cookies}
        answer = requests.get(f"{site.address}/how-it-works", headers=headers, timeout=30)
        assert answer.status_code == 200

    return send


def _sign_in_as_a_wallet(site: Site) -> Callable[[], object]:
    """With a signature that only the chain could say something about."""

    def attack() -> int:
        session = _visitor(site)
        asked = {"address": Key.create().address, "chainId": str(CHAIN)}
        told = session.post(f"{site.address}/sign-in/message", json=asked, timeout=30)
        if told.status_code != 200:  # a network signs in only so often
            time.sleep(0.2)
            return told.status_code
        shown = {"message": told.json()["message"], "signature": "0x" + 64 * "11"}
        status = session.post(f"{site.address}/sign-in", json=shown, timeout=30).status_code
        assert status in {429, 503}
        return status

    return attack
