"""Nodes that take no more questions for a while are left alone for as long."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from queries.chain.errors import NodesLimited
from queries.chain.local_node import LocalNode
from queries.chain.nodes import Nodes
from tests.queries.chain.asking_nodes import NOBODY, failure, number
from tests.queries.chain.lying_node import LyingNode
from tests.queries.chain.relay import Asked, NotMine, chain_of, relay

pytestmark = pytest.mark.no_database


def limiting(asked: Asked, times: int, retry_after: str) -> Any:
    def say(node: LyingNode, _: object) -> None:
        if len(asked.requests) > times:
            raise NotMine
        headers = {"Retry_After": retry_after} if retry_after else {}
        node.answer(b"slow down", 429, **headers)

    return say


def in_a_second() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_a_limit_is_waited_for_as_long_as_the_node_says(shared_node: LocalNode, form: str) -> None:
    asked = Asked()
    told = {"seconds": "1", "date": in_a_second(), "none": ""}[form]
    with relay(shared_node.url, asked=asked, first=limiting(asked, 1, told)) as address:
        nodes = Nodes(chain_of(address))
        begin = time.monotonic()
        assert number(nodes.ask("eth_chainId")) == 31_337
        assert 0.9 < time.monotonic() - begin < 4
        nodes.close()
    assert len(asked.requests) == 3


def test_a_limited_node_is_left_alone_and_the_time_is_told() -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, "3600")) as address:
        nodes = Nodes(chain_of(address))
        begin = time.monotonic()
        errors = [failure(nodes) for _ in range(3)]
        assert time.monotonic() - begin < 3
        nodes.close()
    assert len(asked.requests) == 1
    for error in errors:
        assert isinstance(error, NodesLimited)
        assert 3000 < error.retry_after <= 3600


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [
        ("999999999", 3500, 3600),
        (9 * "9" * 99, 3500, 3600),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 3500, 3600),
        ("Fri, 01 Jan 2100 00:00:00", 3500, 3600),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
        ("-5", 0, 1),
        ("0", 0, 0),
        ("nan", 0, 1),
        ("soon", 0, 1),
        ("Fri, 99 Foo 2100", 0, 1),
    ],
)
def test_a_rest_is_bounded_whatever_the_node_says(told: str, least: int, most: int) -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, told)) as address:
        error = failure(Nodes(chain_of(address), patience=0))
    assert isinstance(error, NodesLimited)
    assert least <= error.retry_after <= most


def test_while_one_node_rests_another_is_asked(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, "60")) as address:
        nodes = Nodes(chain_of(address, shared_node.url))
        begin = time.monotonic()
        assert number(nodes.ask("eth_chainId")) == 31_337
        assert time.monotonic() - begin < 2
        nodes.close()
