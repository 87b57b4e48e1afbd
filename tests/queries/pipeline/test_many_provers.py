"""Four provers, each a process of its own, and two hundred batches at once that overlap."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import pytest
from django.test import Client
from eth_account import Account as Key

from queries.chain.local_node import local_node
from queries.models import Batch
from tests.accounts.concurrency import all_at_once
from tests.queries.pipeline.between import Between, between
from tests.queries.pipeline.proven_once import assert_nothing_is_twice
from tests.queries.pipeline.provers import prover, routes_file
from tests.queries.pipeline.service import CHAIN_ID, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
PROVERS, BATCHES, BLOCKS = 4, 200, 5
PEOPLE = [Key.create().address for _ in range(6)]


def test_many_batches_that_overlap_prove_each_fact_once(tmp_path: Path) -> None:
    with local_node("--slots-in-an-epoch", "1") as node, running_service(node) as service:
        service.mine(BLOCKS + 1)
        service.chains().head(CHAIN_ID)  # seen, or these blocks would be ones nobody knows of
        newest = service.head() - 1
        with _provers(service, tmp_path) as proxies:
            all_at_once(lambda number: _submit(service, newest - number % BLOCKS, number), BATCHES)
            _wait_for_all()
        assert all(proxy.asked for proxy in proxies), "a prover had nothing to do"
        assert list(Batch.objects.values_list("status", flat=True)) == BATCHES * ["DONE"]
        assert_nothing_is_twice(service)
        for block in range(newest - BLOCKS + 1, newest + 1):
            for account in PEOPLE:
                for field in (0, 1):  # nonce and balance, of somebody who is nobody yet
                    word = service.reads.account_field(bytes.fromhex(account[2:]), block, field)
                    assert word == bytes(32)


def _submit(service: Service, block: int, number: int) -> None:
    """As clients do: what may succeed when it is tried again is tried again."""
    one, other = PEOPLE[number % 6], PEOPLE[(number + 1) % 6]
    accounts = {one: {"props": ["BALANCE"]}, other: {"props": ["NONCE"]}}
    asked = {str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}}
    client = replace(service, client=Client())
    for _ in range(10):
        answer = client.ask(asked)
        if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
            break
        assert answer.json()["retryable"]
        time.sleep(0.5)
    assert answer.status_code == HTTPStatus.OK, answer.text


@contextmanager
def _provers(service: Service, folder: Path) -> Iterator[list[Between]]:
    """Which all work already; what each asks of the node is counted."""
    folders = [folder / str(number) for number in range(PROVERS)]
    with ExitStack() as stack:
        proxies = []
        for own in folders:
            own.mkdir()
            address, proxy = stack.enter_context(between(service.node.url))
            routes = routes_file(own, service.routes, address)
            stack.enter_context(prover(own, routes, lease=30))
            proxies.append(proxy)
        until = time.monotonic() + 60
        while not all("Proving on" in (own / "log").read_text() for own in folders):
            assert time.monotonic() < until
            time.sleep(0.05)
        for proxy in proxies:
            proxy.asked.clear()
        yield proxies


def _wait_for_all() -> None:
    until = time.monotonic() + 120
    while open_ones := Batch.objects.filter(ended=None).count():
        assert time.monotonic() < until, f"{open_ones} batches are not done"
        time.sleep(0.1)
