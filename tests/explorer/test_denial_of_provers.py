"""While one account has a prover wait and work as much as it may, another one is served.

All of it runs as processes, mostly with a prover of one thread. What bounds each attack is told at
/docs/security.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import requests

from queries.chain.ens import TIMEOUT
from queries.chain.ens_resolvers import name_hash
from queries.chain.local_node import LocalNode, local_node
from queries.chain.name_turns import REST
from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from queries.statuses import ENDED
from tests.commands import Manage
from tests.explorer.beside import tell
from tests.installation import HOLDER, Installation, Told, installed_on
from tests.local_chain import CHAIN_ID
from tests.memory import held_by
from tests.own_database import own_database
from tests.queries.api.served_api import OTHER_WALLET
from tests.queries.chain.lying_node import LyingNode, lying_node, stall
from tests.queries.pipeline.between import Handle, PassOn, between
from tests.queries.receiver import receiver

pytestmark = pytest.mark.django_db
ENS = "0x1111111111111111111111111111111111111111"
PROBED = name_hash("eth").hex()  # asked every 15 seconds, for nobody
MANY = 30  # batches of whoever attacks
# Batches of the other account, before the attack and meanwhile.
USUAL, BESIDE, MORE_BESIDE = 3, 3, 9
FOUND_OUT_WITHIN = 45  # seconds: a look takes seventeen, where it is known to hang at its end
SLOWER = 2  # times, at most
SLOWER_BETWEEN_BLOCKS = 4
MINED = 250  # blocks
TOGETHER = 10  # batches
BLOCKS, ACCOUNTS, SLOTS = 100, 1_000, 5_000  # at most in a batch
ENDS_WITHIN, COSTLY_ENDS_WITHIN = 120, 300  # seconds
ATTACKERS = 2
MORE_KEYS = f"""
from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet, wallet_address

for number in range({ATTACKERS}):
    owner, _ = Account.objects.of_wallet(Wallet(wallet_address(f"0x{{number + 1:040x}}"), None))
    print(api_keys.shown(api_keys.add_key(owner, "One of many")))
"""
MANY_ASKED = {"REQUESTS_PER_MINUTE": "100000", "FACTS_PER_DAY": "1000000000"}


@dataclass
class Accounts:
    """One that attacks, and another one."""

    it: Installation
    other_key: str
    newest: int
    more_keys: Callable[[], list[str]]  # of as many accounts more
    _next: int = field(default=0)

    def block(self) -> str:
        """One that nobody has asked for."""
        self._next += 1
        return f"block:{self.newest - self._next}"

    def submit(self, key: str, data: Mapping[str, object], **more: object) -> str:
        content = {
            "destinationChainId": str(CHAIN_ID), "fee": "0", "data": {str(CHAIN_ID): data}, **more
        }  # fmt: skip
        path, own = f"{self.it.address}/submit-batch-query", {"api-key": key}
        answer = requests.post(path, json=content, headers=own, timeout=30)
        while answer.status_code == HTTPStatus.BAD_REQUEST and "block_beyond_head" in answer.text:
            time.sleep(0.1)  # the prover has not seen the newest blocks
            answer = requests.post(path, json=content, headers=own, timeout=30)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["internalId"])

    def attack(self, accounts: Mapping[str, object], **more: object) -> str:
        return self.submit(self.it.key, {self.block(): {"accounts": accounts}}, **more)

    def status(self, key: str, batch: str) -> dict[str, Any]:
        """Also where SQLite's one writer is at work for long, and polls are told to come again."""
        asked = f"{self.it.address}/batch-query-status", {"batchQueryId": batch}
        answer = requests.get(*asked, headers={"api-key": key}, timeout=30)
        until = time.monotonic() + ENDS_WITHIN
        while answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE and time.monotonic() < until:
            time.sleep(float(answer.headers["Retry-After"]))
            answer = requests.get(*asked, headers={"api-key": key}, timeout=30)
        assert answer.status_code == HTTPStatus.OK, answer.text
        told: dict[str, Any] = answer.json()
        return told

    def others_batch(self, **more: object) -> str:
        """DONE."""
        data = {self.block(): {"accounts": {HOLDER: _BALANCE}}}
        batch = self.submit(self.other_key, data, **more)
        self.ended(self.other_key, batch)
        return batch

    def ended(self, key: str, batch: str, within: float = ENDS_WITHIN) -> None:
        until = time.monotonic() + within
        while (told := self.status(key, batch))["queryStatus"] != "DONE":
            assert told["queryStatus"] != "REJECTED", told
            assert time.monotonic() < until, told
            time.sleep(0.05)


_BALANCE = {"props": ["BALANCE"]}


Start = Callable[..., AbstractContextManager[Accounts]]


@pytest.fixture
def start(repository: Path, tmp_path: Path, manage: Manage) -> Start:
    """All of it, on a node."""

    @contextmanager
    def started(node: LocalNode, told: Told, **variables: str) -> Iterator[Accounts]:
        with (
            own_database(tmp_path, "provers") as url,
            installed_on(
                node,
                repository,
                tmp_path,
                manage,
                told,
                DATABASE_URL=url,
                **MANY_ASKED,
                **variables,
            ) as it,
        ):
            node.rpc.ask("anvil_mine", hex(MINED))
            own = {"DEVELOPMENT": "1", "DATABASE_URL": url}
            key = manage("create_api_key", "--owner", OTHER_WALLET, **own).stdout.strip()

            def more_keys() -> list[str]:
                return manage("shell", "--no-imports", "--command", MORE_KEYS, **own).stdout.split()

            yield Accounts(it, key, int(node.rpc.ask("eth_blockNumber"), 16), more_keys)

    return started


def test_names_whose_node_hangs_keep_no_other_accounts_batch_waiting(start: Start) -> None:
    """The first one waits for a node's time, and those after it hardly at all."""
    hung: list[float] = []
    is_over = threading.Event()

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if ENS in str(question) and not is_over.is_set():
            if PROBED not in str(question):
                hung.append(time.monotonic())
            stall(connection, question)
        else:
            connection.answer(pass_on())

    with _by_way_of(handle, start, ens=ENS, threads=1) as (_, them):
        usual = _usual(them.others_batch)
        attack = [them.attack({f"{number}.eth": _BALANCE}) for number in range(MANY)]
        _until(lambda: len(hung) > 0)
        beside = [_taken(them.others_batch) for _ in range(BESIDE)]
        seconds, times = time.monotonic() - hung[0], len(hung)
        told = [them.status(them.it.key, batch) for batch in attack]
        assert {each["waitCode"] for each in told} == {"names_unanswered"}
        is_over.set()
        _until(lambda: all(_has_ended(them, them.it.key, batch) for batch in attack))
        usual += [_taken(them.others_batch) for _ in range(USUAL)]
    assert _slower(beside, usual) < SLOWER
    assert max(beside) < TIMEOUT + SLOWER * max(usual)
    assert TIMEOUT * times < TIMEOUT + seconds / REST


def test_proofs_that_hang_keep_others_waiting_until_it_is_known_whose(start: Start) -> None:
    """Of many blocks, while the node answers for all others."""
    asked, hung = set[str](), list[float]()
    is_over = threading.Event()

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if not is_over.is_set() and not asked.isdisjoint(_of_proofs(question)):
            hung.append(time.monotonic())
            stall(connection, question)
        else:
            connection.answer(pass_on())

    with _by_way_of(handle, start) as (node, them):
        usual = _usual(them.others_batch)
        blocks = [them.block() for _ in range(MANY)]
        asked.update(_hash(node, each) for each in blocks)
        costly = them.submit(
            them.it.key, {each: {"accounts": {HOLDER: _BALANCE}} for each in blocks}
        )
        _until(lambda: len(hung) > 0)
        first = _taken(them.others_batch)
        beside = [_taken(them.others_batch) for _ in range(MORE_BESIDE)]
        assert them.status(them.it.key, costly)["queryStatus"] == "IN_PROGRESS"
        is_over.set()
        recovered = _taken(lambda: them.ended(them.it.key, costly, COSTLY_ENDS_WITHIN))
        usual += [_taken(them.others_batch) for _ in range(USUAL)]
    tell(f"the first one {first:.1f} s; all that hung, once it no longer does, {recovered:.1f} s")
    assert first < FOUND_OUT_WITHIN
    assert _slower(beside, usual) < SLOWER


@contextmanager
def _by_way_of(handle: Handle, start: Start, **told: Any) -> Iterator[tuple[LocalNode, Accounts]]:
    """What answers the prover instead of its node; with a bound of the prover's memory."""
    with (
        local_node("--slots-in-an-epoch", "1") as node,
        between(node.url, handle) as (address, _),
        start(node, Told(lambda _: [address], **told)) as them,
        held_by(lambda: [them.it.prover]),
    ):
        yield node, them


def _hash(node: LocalNode, block: str) -> str:
    number = hex(int(block.removeprefix("block:")))
    (found,) = node.rpc.ask_many("eth_getBlockByNumber", [(number, False)])
    assert isinstance(found, dict)
    return str(found["hash"])


def _of_proofs(question: Any) -> set[str]:
    """The hashes of their blocks."""
    each = question if isinstance(question, list) else [question]
    return {one["params"][2]["blockHash"] for one in each if one["method"] == "eth_getProof"}


def test_webhooks_that_hang_keep_no_other_accounts_webhook_waiting(start: Start) -> None:
    hung: list[float] = []

    def hang(connection: LyingNode, question: Any) -> None:
        hung.append(time.monotonic())
        stall(connection, question)

    with (
        local_node("--slots-in-an-epoch", "1") as node,
        receiver() as hook,
        start(node, Told(threads=1), WEBHOOKS_TO_PRIVATE="1") as them,
        held_by(lambda: [them.it.prover]),
    ):

        def delivered() -> None:
            before = len(hook.got)
            them.others_batch(webhook={"url": hook.url})
            _until(lambda: len(hook.got) > before)

        usual = _usual(delivered)
        block = them.block()  # of all of them, so that they are due while others are measured
        with lying_node(hang) as hanging:
            for _ in range(MANY):
                data = {block: {"accounts": {HOLDER: _BALANCE}}}
                batch = them.submit(them.it.key, data, webhook={"url": hanging})
            them.ended(them.it.key, batch)
            _until(lambda: len(hung) > 0)
            beside = [_taken(delivered) for _ in range(BESIDE)]
        usual += [_taken(delivered) for _ in range(USUAL)]
    assert _slower(beside, usual) < SLOWER
    assert max(beside) < 1 + SLOWER * max(usual)


def test_the_costliest_batch_of_many_blocks_lets_others_through(start: Start) -> None:
    """Between its blocks. A prover with one thread is at one of them whenever others come."""
    with _beside_the_costliest(start, BLOCKS) as (them, costly, usual):
        beside = [_taken(them.others_batch) for _ in range(BESIDE)]
        assert them.status(them.it.key, costly)["queryStatus"] == "IN_PROGRESS"
    assert _slower(beside, usual) < SLOWER_BETWEEN_BLOCKS


def test_the_costliest_batch_of_one_block_keeps_others_waiting_for_its_one_piece(
    start: Start,
) -> None:
    """All of it is one piece of work, which the prover's one thread has at hand."""
    with _beside_the_costliest(start, 1) as (them, costly, usual), ThreadPoolExecutor() as watch:
        next_one = them.submit(them.it.key, _costliest(them, 1))
        ends = watch.submit(
            _taken, lambda: them.ended(them.it.key, costly, within=COSTLY_ENDS_WITHIN)
        )
        first, seconds = _taken(them.others_batch), ends.result()
        assert them.status(them.it.key, next_one)["queryStatus"] == "IN_PROGRESS"
        them.ended(them.it.key, next_one, within=COSTLY_ENDS_WITHIN)
        after = _taken(them.others_batch)
    tell(f"the first one {first:.1f} s, of the {seconds:.1f} s that the costly batch takes")
    assert first < seconds + SLOWER * max(usual)
    assert after < SLOWER * max(usual)


def test_a_prover_keeps_a_thread_from_the_costliest_batches_of_one_block(start: Start) -> None:
    """Of the two that it has where nobody says otherwise; however many such batches there are, of
    however many accounts.
    """
    with _beside_the_costliest(start, 1, threads=2) as (them, costly, usual):
        more = [(key, them.submit(key, _costliest(them, 1))) for key in them.more_keys()]
        beside = [_taken(them.others_batch) for _ in range(BESIDE)]
        assert them.status(them.it.key, costly)["queryStatus"] == "IN_PROGRESS"
        # Thousands of proofs are fetched, checked and sent: each of these is beside others.
        while not all(_has_ended(them, *each) for each in more):
            beside.append(_taken(them.others_batch))
    assert _slower(beside, usual) < SLOWER_BETWEEN_BLOCKS


def test_many_costliest_batches_of_one_block_hold_no_more_than_one(start: Start) -> None:
    """Each asks for other accounts, so that all of them together are one piece of work."""
    with (
        local_node("--slots-in-an-epoch", "1") as node,
        start(node, Told(threads=1)) as them,
        held_by(lambda: [them.it.prover]),
    ):
        them.others_batch()
        block = them.block()
        batches = [
            them.submit(them.it.key, {block: {"accounts": _many_accounts(ACCOUNTS * place)}})
            for place in range(TOGETHER)
        ]
        for batch in batches:
            them.ended(them.it.key, batch, within=COSTLY_ENDS_WITHIN)


def _many_accounts(first: int) -> Mapping[str, object]:
    props = list(AccountField.__members__)
    return {f"0x{first + place + 1:040x}": {"props": props} for place in range(ACCOUNTS)}


@contextmanager
def _beside_the_costliest(
    start: Start, blocks: int, *, threads: int = 1
) -> Iterator[tuple[Accounts, str, list[float]]]:
    """It, what the other account's batches take before and, in the end, after it, since a machine
    may have other things to do meanwhile; and a bound of memory until it is DONE.
    """
    with (
        _filled_node() as node,
        start(node, Told(threads=threads)) as them,
        held_by(lambda: [them.it.prover]),
    ):
        usual = _usual(them.others_batch)
        costly = them.submit(them.it.key, _costliest(them, blocks))
        yield them, costly, usual
        them.ended(them.it.key, costly, within=COSTLY_ENDS_WITHIN)
        usual += [_taken(them.others_batch) for _ in range(USUAL)]


@contextmanager
def _filled_node() -> Iterator[LocalNode]:
    """With a thousand accounts, so that the paths of its trie have more than one node."""
    with local_node("--slots-in-an-epoch", "1") as node:
        for place in range(ACCOUNTS):
            node.rpc.ask("anvil_setBalance", f"0x{place + 1:040x}", hex(place + 1))
        yield node


def _costliest(them: Accounts, blocks: int) -> Mapping[str, object]:
    props = list(AccountField.__members__)
    each = SLOTS // ACCOUNTS
    asked = {
        f"0x{place + 1:040x}": {
            "props": props,
            "slots": [f"0x{slot:064x}" for slot in range(place * each, (place + 1) * each)],
        }
        for place in range(ACCOUNTS)
    }
    header = list(HeaderField.__members__)
    named = list(asked.items())
    return {
        them.block(): {"header": header, "accounts": dict(named[start::blocks])}
        for start in range(blocks)
    }


def _has_ended(them: Accounts, key: str, batch: str) -> bool:
    return them.status(key, batch)["queryStatus"] in ENDED


def _slower(beside: Sequence[float], usual: Sequence[float]) -> float:
    """How many times."""
    now, before = statistics.median(beside), statistics.median(usual)
    tell(f"another account's batch {now:.2f} s, without the attack {before:.2f} s")
    return now / before


def _usual(what: Callable[[], object]) -> list[float]:
    """What it takes while nothing else happens; but not of a prover that has only begun."""
    what()
    return [_taken(what) for _ in range(USUAL)]


def _taken(what: Callable[[], object]) -> float:
    begin = time.monotonic()
    what()
    return time.monotonic() - begin


def _until(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + ENDS_WITHIN
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.01)
