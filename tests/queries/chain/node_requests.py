"""Requests to nodes that fail, and the errors that they cause."""

import traceback
from dataclasses import replace
from typing import Any

import pytest

from queries.chain.errors import ChainError
from queries.chain.node_pool import NodePool
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.proving.errors import AnswerMalformedError

FORBIDDEN = ("{", "hunter2", "http", "127.0.0.1")


def quick_pool(chain: Chain) -> NodePool:
    limits = Limits(request_timeout=0.5, head_timeout=0.5)
    return NodePool(replace(chain, limits=limits))


def ask(nodes: NodePool, method: str, *params: object) -> Any:
    """Return the node's unchecked answer."""
    return nodes.fetch(method, params, lambda answer: answer)


def failure(nodes: NodePool, method: str = "eth_blockNumber", *params: object) -> ChainError:
    """Return the error, whose sentence must not repeat a node's address or raw text."""
    with pytest.raises(ChainError) as caught:
        ask(nodes, method, *params)
    trace = "".join(traceback.format_exception(caught.value))
    assert not any(part in trace.split("ChainError")[-1] for part in ("hunter2", "127.0.0.1"))
    assert caught.value.sentence.endswith(".")
    assert not any(part in caught.value.sentence for part in FORBIDDEN)
    return caught.value


def number(answer: Any) -> int:
    if not isinstance(answer, str):
        raise AnswerMalformedError("no number")
    return int(answer, 16)


def block_number(block: Any) -> int:
    return number(block["number"])
