"""A node with recorded blocks, and how nodes state a block's transactions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import rlp

from tests.queries.contracts.recorded_events import RecordedBlock
from tests.rigs.faulty_node import refusal
from tests.rigs.stub_node import StubNode, json_bytes, stub_node

# Answers to calls by method; a method without an entry is missing.
Answers = Mapping[str, Callable[..., Any]]

SIGNATURE = ("yParity", "r", "s")
DYNAMIC = ("chainId", "nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas", "to", "value")
MEMBERS: dict[int, Sequence[str]] = {
    0: ("nonce", "gasPrice", "gas", "to", "value", "input", "v", "r", "s"),
    1: ("chainId", "nonce", "gasPrice", "gas", "to", "value", "input", "accessList", *SIGNATURE),
    2: (*DYNAMIC, "input", "accessList", *SIGNATURE),
    3: (*DYNAMIC, "input", "accessList", "maxFeePerBlobGas", "blobVersionedHashes", *SIGNATURE),
    4: (*DYNAMIC, "input", "accessList", "authorizationList", *SIGNATURE),
}
AUTHORIZATION = ("chainId", "address", "nonce", *SIGNATURE)


def transaction_as_json(envelope: bytes) -> dict[str, Any]:
    """State a transaction as nodes do; of type 1, as older nodes do, with `v` alone."""
    kind = envelope[0] if envelope[0] < 0xC0 else 0
    items = rlp.decode(envelope[1:] if kind else envelope)
    values = {
        member: _value_as_json(member, item)
        for member, item in zip(MEMBERS[kind], items, strict=True)
    }
    parity = values.pop("yParity") if kind == 1 else values.get("yParity")
    return {"v": parity, "type": hex(kind), **values}


def _value_as_json(member: str, item: Any) -> Any:
    match member:
        case "to" if not item:
            return None
        case "to" | "input" | "address":
            return f"0x{item.hex()}"
        case "accessList":
            return [
                {"address": f"0x{address.hex()}", "storageKeys": [f"0x{k.hex()}" for k in keys]}
                for address, keys in item
            ]
        case "blobVersionedHashes":
            return [f"0x{blob.hex()}" for blob in item]
        case "authorizationList":
            return [_authorization_as_json(entry) for entry in item]
        case _:
            return hex(int.from_bytes(item))


def _authorization_as_json(items: Sequence[bytes]) -> dict[str, Any]:
    named = zip(AUTHORIZATION, items, strict=True)
    return {member: _value_as_json(member, item) for member, item in named}


def block_answers(block: RecordedBlock) -> Answers:
    """The answers of a node with this block alone."""
    contents = {
        "transactions": [transaction_as_json(envelope) for envelope in block.transactions],
        "withdrawals": [
            {
                "index": hex(withdrawal.index),
                "validatorIndex": hex(withdrawal.validator),
                "address": f"0x{withdrawal.recipient.hex()}",
                "amount": hex(withdrawal.amount),
            }
            for withdrawal in block.withdrawals
        ],
    }
    block_hash = f"0x{block.header.hash.hex()}"

    def if_known(asked: str, answer: Any) -> Any:
        return answer if asked == block_hash else None

    return {
        "eth_getBlockByHash": lambda asked, _full: if_known(asked, contents),
        "eth_getBlockReceipts": lambda asked: if_known(asked, block.answers),
    }


@contextmanager
def recorded_node(answers: Answers) -> Iterator[str]:
    """Run a node with these answers; yield its URL."""
    all_answers: Answers = {
        "eth_chainId": lambda: hex(31_337),
        # The head, without which the node would be in a cool-down after a fault.
        "eth_getBlockByNumber": lambda *_: {"timestamp": hex(int(time.time()))},
        **answers,
    }

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        method = question["method"]
        reply = all_answers.get(method)
        found = (
            refusal(f"the method {method} does not exist/is not available", -32601)
            if reply is None
            else {"result": reply(*question["params"])}
        )
        return {"jsonrpc": "2.0", "id": question["id"], **found}

    def say(node: StubNode, content: Any) -> None:
        is_batch = isinstance(content, list)
        node.answer(json_bytes(list(map(answer, content)) if is_batch else answer(content)))

    with stub_node(say) as url:
        yield url
