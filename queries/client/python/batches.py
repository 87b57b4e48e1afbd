"""Build batches: the requests for facts."""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from queries.client.python.errors import UsageError
from queries.client.python.positions import WORD, Position, parse_integer, parse_typed_key
from queries.proving import AccountField, HeaderField, keccak256
from queries.selectors import selector_of


class Doc:
    """The description of a parameter, and of a list's items, in the schema of an agent's tool."""

    def __init__(self, description: str, **items: object) -> None:
        self._description, self._items = description, items

    def __get_pydantic_json_schema__(
        self, core_schema: object, make_schema: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        schema = make_schema(core_schema) | {"description": self._description}
        return schema | ({"items": self._items} if self._items else {})


_INDEX_SCHEMA = {"type": "integer", "minimum": 0}
_TRANSACTION_SCHEMA = {
    "type": ["integer", "string"],
    "description": "Its index in the block, or hash.",
}
_ADDRESS_SCHEMA = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}
_TOPIC_SCHEMA = {"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$"}
_TOPICS_SCHEMA = {
    "type": "array",
    "items": {
        "anyOf": [_TOPIC_SCHEMA, {"type": "null"}, {"type": "array", "items": _TOPIC_SCHEMA}]
    },
    "maxItems": 4,
    "description": "By place, as eth_getLogs takes them; null is any topic.",
}
_FILTER_MEMBERS = {
    "transaction": _TRANSACTION_SCHEMA,
    "address": _ADDRESS_SCHEMA,
    "topics": _TOPICS_SCHEMA,
}
LOG_MEMBERS = {**_FILTER_MEMBERS, "log": _INDEX_SCHEMA, "logIndex": _INDEX_SCHEMA}
ABSENCE_MEMBERS = {**_FILTER_MEMBERS, "withdrawal": _INDEX_SCHEMA, "topic": _TOPIC_SCHEMA}


@dataclass(frozen=True, slots=True)
class BlockQuery:
    """The values to prove of one block of the chain `source`."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # of the tools of agents

    source: Annotated[int | str, Doc("The source chain: its id, or an alias.")]
    _: dataclasses.KW_ONLY
    block: Annotated[
        int | Literal["$due"] | None,
        Doc("A block's number; or use `timestamp`. $due in a feed that counts blocks."),
    ] = None
    timestamp: Annotated[
        int | Literal["$due"] | None,
        Doc("Unix seconds: the last block at or before this time. $due in a feed of times."),
    ] = None
    accounts: Annotated[Sequence[str], Doc("Addresses, or ENS names.")] = ()
    props: Annotated[
        Sequence[str], Doc("Fields of each account.", enum=[*AccountField.__members__])
    ] = ()
    slots: Annotated[Sequence[int | str], Doc("Storage slots of each account.")] = ()
    header: Annotated[
        Sequence[str], Doc("Fields of the block's header.", enum=[*HeaderField.__members__])
    ] = ()
    logs: Annotated[
        Sequence[Mapping[str, object]],
        Doc(
            "Logs, as {transaction, log}, {logIndex}, or {address, topics}: see `log_filter`.",
            type="object",
            properties=LOG_MEMBERS,
            additionalProperties=False,
        ),
    ] = ()
    receipts: Annotated[
        Sequence[int | str], Doc("Receipts of transactions, by index or hash.")
    ] = ()
    transactions: Annotated[Sequence[int | str], Doc("By index in the block, or hash.")] = ()
    withdrawals: Annotated[Sequence[int], Doc("By index in the block.")] = ()
    absent: Annotated[
        Sequence[Mapping[str, object]],
        Doc(
            "Items that the block does not contain: {transaction} or {withdrawal} beyond its end; "
            "{transaction, address, topics}, a log of one receipt; {address} or {topic}, any log.",
            type="object",
            properties=ABSENCE_MEMBERS,
            additionalProperties=False,
        ),
    ] = ()

    @property
    def selector(self) -> str:
        if (self.block is None) is (self.timestamp is None):
            raise UsageError("Name a block either by its number or by a timestamp.")
        return selector_of(self.block, self.timestamp)


@dataclass(frozen=True, slots=True)
class DeliveryRequest:
    """A call of a contract on the destination, once the batch is DONE."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # of the tools of agents

    to: Annotated[str, Doc("The contract's address.")]
    function: Annotated[str, Doc("As in Solidity, such as update(uint256).")]
    args: Annotated[
        Sequence[Any],
        Doc("Its arguments; lists for arrays and tuples. $block and its like: /docs/deliver."),
    ] = ()
    _: dataclasses.KW_ONLY
    gas: Annotated[
        int | str | None, Doc("The gas that the contract may use; without it, a trial shows it.")
    ] = None
    unless: Annotated[
        str, Doc("A view of the contract that returns a bool: if it is true, nothing is sent.")
    ] = ""
    unless_args: Annotated[Sequence[Any], Doc("Its arguments.")] = ()
    errors: Annotated[
        Sequence[str],
        Doc("Errors of the contract, such as Stale(uint256): a reason then has their names."),
    ] = ()

    @property
    def body(self) -> dict[str, object]:
        """The delivery as JSON."""
        args = list(map(_argument, self.args))
        body: dict[str, object] = {"to": self.to, "function": self.function, "args": args}
        if self.gas is not None:
            body["gas"] = str(self.gas)
        if self.unless:
            condition = {"function": self.unless, "args": list(map(_argument, self.unless_args))}
            body["unless"] = condition
        if self.errors:
            body["errors"] = list(self.errors)
        return body


def _argument(value: object) -> object:
    """Numbers as text, because JSON's are exact only to 2^53."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, list | tuple):
        return list(map(_argument, value))
    return str(value) if type(value) is int else value


def build_batch(
    destination: int | str,
    *queries: BlockQuery,
    fee: int | str = 0,
    webhook: Mapping[str, object] | None = None,
    deliver: Sequence[DeliveryRequest] = (),
) -> dict[str, object]:
    """Build a batch for `submit`; `fee` is the maximum to spend on it, in wei."""
    data: dict[str, dict[str, dict[str, Any]]] = {}
    for query in queries:
        block = data.setdefault(str(query.source), {}).setdefault(query.selector, {})
        for name in ("header", "logs", "receipts", "transactions", "withdrawals", "absent"):
            if items := getattr(query, name):
                block.setdefault(name, []).extend(items)
        for account in query.accounts:
            entries = block.setdefault("accounts", {})
            entry = entries.setdefault(account, {"props": [], "slots": []})
            entry["props"] += query.props
            entry["slots"] += [
                slot if isinstance(slot, str) else f"0x{Position(slot).slot:x}"
                for slot in query.slots
            ]
    batch: dict[str, object] = {
        "destinationChainId": str(destination),
        "fee": str(fee),
        "data": data,
    }
    if deliver:
        batch["deliver"] = [delivery.body for delivery in deliver]
    return batch | ({"webhook": webhook} if webhook else {})


def log_filter(address: str, *topics: str | Sequence[str] | None) -> dict[str, object]:
    """Select all logs of a block by this emitter, for `BlockQuery.logs`.

    A topic is an event's signature, such as Transfer(address,address,uint256), or a value as in
    `slot --key`; None is any topic, and a list any of its topics.
    """
    return {"address": address, "topics": [_encode_topic(topic) for topic in topics]}


def _encode_topic(topic: str | Sequence[str] | None) -> object:
    if not isinstance(topic, str):
        return None if topic is None else [_encode_topic(text) for text in topic]
    word = keccak256(topic.encode()) if "(" in topic else parse_typed_key(topic)
    if len(word) != WORD:
        raise UsageError(f"{topic} has {len(word)} bytes; a topic has {WORD}.")
    return f"0x{word.hex()}"


def parse_argument(text: str) -> object:
    """Read an argument of a delivery: a list, true and false are JSON; all else is text."""
    if not text.startswith("[") and text not in {"true", "false"}:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{text} is not a list in JSON; its texts have double quotes.") from None


def parse_log(text: str) -> dict[str, object]:
    """Read `5:0`, the first log of transaction 5, or a log's index in its block."""
    transaction, colon, index = text.rpartition(":")
    if not colon:
        return {"logIndex": parse_integer(text)}
    name = transaction if len(transaction) > WORD else parse_integer(transaction)
    return {"transaction": name, "log": parse_integer(index)}
