"""Questions to nodes that fail in tests, and what is expected of each failure."""

import traceback
from dataclasses import replace
from typing import Any

import pytest

from queries.chain.errors import ChainError
from queries.chain.node_pool import NodePool
from queries.config.limits import Limits
from queries.config.routes import Chain
from queries.proving.errors import AnswerMalformedError

NO_SIGNER = "http://127.0.0.1:1/hunter2"
SHOWN_ERRORS = ("{", "hunter2", "http", "127.0.0.1")


def impatient(chain: Chain) -> NodePool:
    limits = Limits(request_timeout=0.5, head_timeout=0.5)
    return NodePool(replace(chain, limits=limits))


def ask(nodes: NodePool, method: str, *params: object) -> Any:
    """The answer as a node gives it."""
    return nodes.fetch(method, params, lambda answer: answer)


def failure(nodes: NodePool, method: str = "eth_blockNumber", *params: object) -> ChainError:
    with pytest.raises(ChainError) as failed:
        ask(nodes, method, *params)
    said = "".join(traceback.format_exception(failed.value))
    assert not any(part in said.split("ChainError")[-1] for part in ("hunter2", "127.0.0.1"))
    assert failed.value.sentence.endswith(".")
    assert not any(part in failed.value.sentence for part in SHOWN_ERRORS)
    return failed.value


def number(answer: Any) -> int:
    if not isinstance(answer, str):
        raise AnswerMalformedError("no number")
    return int(answer, 16)


def number_of(block: Any) -> int:
    return number(block["number"])
