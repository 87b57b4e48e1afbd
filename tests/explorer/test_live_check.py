"""A visitor checks a fact against its registry."""

import re
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from explorer.pages.facts import MAX_CHECKS
from queries.config.chains import NodeAddress
from queries.http import thread_slots
from queries.models import BlockJob
from queries.sources.routes import Routes
from tests.explorer.page_text import visible_text
from tests.explorer.proven_facts import FACTS, fact_page, proven_batch
from tests.explorer.stored_batches import set_word, update_queries
from tests.queries.prover.service import CHAIN_ID, Service, serving
from tests.rigs.stub_node import stall, stub_node

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
TIMEOUT = 1  # seconds


def _check_text(batch: str, name: str = "BALANCE") -> str:
    answer: Any = fact_page(batch, name, "/check")
    assert answer.status_code == 200
    assert answer["Cache-Control"].count("no-store")
    return visible_text(answer.text)


def _with_nodes(service: Service, *urls: str) -> Routes:
    nodes = tuple(map(NodeAddress, urls))
    limits = replace(service.routes.limits, visitor_timeout=TIMEOUT)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes, limits=limits)
    return replace(service.routes, chains={CHAIN_ID: chain})


def test_a_check_compares_the_stored_fact_with_the_registry(service: Service) -> None:
    batch = proven_batch(service)
    head = service.head()
    same = f"The registry says the same, read on Local at its block {head}."
    for name in FACTS:
        assert same in _check_text(batch, name)

    absent = replace(service.registry, address="0x" + 40 * "1")
    with serving(service.node, replace(service.routes, registries={(CHAIN_ID, CHAIN_ID): absent})):
        assert "No registry answers at this fact" in _check_text(batch)
    with serving(service.node, replace(service.routes, registries={})):
        assert "No registry answers at this fact" in _check_text(batch)
        assert "no longer has a route" in fact_page(batch, "BALANCE").text

    set_word(batch, "BALANCE", 7 * 10**18)
    text = _check_text(batch)
    assert "The registry says 123 ETH" in text
    assert "but this page shows 7 ETH" in text
    BlockJob.objects.update(block=1)
    update_queries(batch, block=1)
    assert "The registry does not have this fact" in _check_text(batch)


def test_checks_are_limited_in_time_threads_and_number(service: Service) -> None:
    batch = proven_batch(service)
    with stub_node(stall) as silent, serving(service.node, _with_nodes(service, silent)):
        begin = time.monotonic()
        assert "No node of Local answered in time" in _check_text(batch)
        assert time.monotonic() - begin < TIMEOUT + 2
    with ExitStack() as stack:
        for _ in range(3):  # of four
            assert stack.enter_context(thread_slots.thread_slot())
        assert "Others are checking facts right now" in _check_text(batch)
    for _ in range(MAX_CHECKS - 2):
        assert "the same" in _check_text(batch)
    assert re.search(r"Too many checks. Check again in \d+ seconds?\.", _check_text(batch))
