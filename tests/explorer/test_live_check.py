"""A page asks the registry what it says right now."""

import re
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from explorer.pages.facts import CHECKS
from queries.config.routes import NodeAddress, Routes
from queries.http import thread_slots
from queries.models import Query
from tests.explorer.proven import page_of_fact, proven_batch
from tests.queries.prover.service import CHAIN_ID, Service, serving
from tests.rigs.stub_node import lying_node, stall

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
WAITS = 1  # second, that a visitor does


def _checked(batch: str, place: int = 0, name: str = "BALANCE") -> str:
    answer: Any = page_of_fact(batch, place, name, "/check")
    assert answer.status_code == 200
    assert answer["Cache-Control"].count("no-store")
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", answer.text))


def _with_nodes(service: Service, *urls: str) -> Routes:
    nodes = tuple(map(NodeAddress, urls))
    limits = replace(service.routes.limits, visitor_timeout=WAITS)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes, limits=limits)
    return replace(service.routes, chains={CHAIN_ID: chain})


def test_what_the_registry_says_is_compared(service: Service) -> None:
    batch = proven_batch(service)
    head = service.head()
    assert f"The registry says 123 ETH at block {head} of Local: the same." in _checked(batch)
    said = f"at block {head} of Local: the same."
    for place, name in (
        (0, "CODE_HASH"),
        (0, f"0x{5:064x}"),
        (1, "TIMESTAMP"),
        (1, "BLOCK_AT_TIMESTAMP"),
    ):
        assert said in _checked(batch, place, name)

    gone = replace(service.registry, address="0x" + 40 * "1")
    with serving(service.node, replace(service.routes, registries={(CHAIN_ID, CHAIN_ID): gone})):
        assert "No registry answers at this fact" in _checked(batch)
    with serving(service.node, replace(service.routes, registries={})):
        assert "No registry answers at this fact" in _checked(batch)
        assert "no longer has a route" in page_of_fact(batch, 0, "BALANCE").text

    query = Query.objects.get(batch=batch, place=0)
    changed = {**(query.values or {}), "BALANCE": f"{7 * 10**18:064x}"}
    Query.objects.filter(pk=query.pk).update(values=changed)
    said = _checked(batch)
    assert "The registry says 123 ETH" in said
    assert "but this page shows 7 ETH" in said
    Query.objects.filter(pk=query.pk).update(block=1)
    assert "The registry knows no such fact" in _checked(batch)


def test_a_visitor_waits_some_seconds_and_checks_so_often(service: Service) -> None:
    batch = proven_batch(service)
    with lying_node(stall) as silent, serving(service.node, _with_nodes(service, silent)):
        begin = time.monotonic()
        assert "No node of Local answered in time" in _checked(batch)
        assert time.monotonic() - begin < WAITS + 2
    with ExitStack() as stack:
        for _ in range(3):  # of four threads
            assert stack.enter_context(thread_slots.place_to_wait())
        assert "Others are checking facts right now" in _checked(batch)
    for _ in range(CHECKS - 2):
        assert "the same" in _checked(batch)
    assert re.search(r"Too many checks. Check again in \d+ seconds?\.", _checked(batch))
