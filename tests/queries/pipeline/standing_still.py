"""A node that stands still at a block and passes on what is sent to it."""

import json
from collections.abc import Mapping
from typing import Any

from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Handle, PassOn

# Where a question names its block.
CALLS = {"eth_call": 1}
ALL = CALLS | {"eth_getTransactionCount": 1, "eth_getBlockByNumber": 0}


def each_of(question: Any) -> list[Any]:
    return question if isinstance(question, list) else [question]


def standing_at(last: int, asked_there: Mapping[str, int] = ALL) -> Handle:
    """What else is asked, another one answers behind the same address."""

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for asked in each_of(question):
            place = asked_there.get(asked["method"])
            if place is not None and asked["params"][place] == "latest":
                asked["params"][place] = hex(last)
        told = json.loads(pass_on())
        for asked, answer in zip(each_of(question), each_of(told), strict=True):
            if asked["method"] == "eth_blockNumber":
                answer["result"] = hex(last)
            receipt = answer.get("result")
            if asked["method"] == "eth_getTransactionReceipt" and receipt:
                answer["result"] = receipt if int(receipt["blockNumber"], 16) <= last else None
        connection.answer(json.dumps(told).encode())

    return handle
