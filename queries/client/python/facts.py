"""Proven facts, and how to read them on chain."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from queries.client.python.errors import FactsLostError, UnreadableResponseError, printable
from queries.client.python.responses import member, number_member, text_member
from queries.proving import FIELD_RULES, FieldFormat, HeaderField
from queries.proving.facts import Argument, encode_view_call, parse_fact

NUMERIC_FIELDS = {"NONCE", "BALANCE"} | {
    field.name for field in HeaderField if FIELD_RULES[field].format is FieldFormat.INTEGER
}
ADDRESS_FIELDS = {"COINBASE", "PROPOSER"}


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about a block's content; what does not apply to its kind is None or empty."""

    transaction_index: int | None
    log: int | None  # the log's index within its receipt
    log_index: int | None  # within the block, as JSON-RPC counts
    address: str  # a log's emitter, or a withdrawal's recipient
    topics: tuple[str, ...]
    data: str
    response: Mapping[str, Any]  # the server's complete entry


@dataclass(frozen=True, slots=True)
class ViewCall:
    """A call of a view: `to` and `data` are those of eth_call."""

    to: str
    signature: str
    arguments: tuple[Argument, ...]

    @property
    def data(self) -> str:
        return f"0x{encode_view_call(self.signature, self.arguments).hex()}"


@dataclass(frozen=True, slots=True)
class ProvenFact:
    """One proven value: the word that the registry stores under this name."""

    chain: int
    block: int
    selector: str  # of the block, as requested
    account: str | None  # None for a field of the block's header
    ens: str | None  # the ENS name, if the account was requested by name
    name: str  # of a field, a slot as 0x and 64 digits, or an event's such as LOG:3:0
    word: str
    event: Event | None = None
    contract: str = ""  # to read it from: the registry, or the events verifier beside it

    @property
    def read(self) -> ViewCall:
        """The call that reads it on the destination. While the fact is not proven, it reverts, or
        returns false if the fact is an absence.
        """
        fact = parse_fact(self.name, bytes.fromhex((self.account or "0x")[2:]))
        if fact is None:
            raise UnreadableResponseError(f"This client cannot read the fact {self.name}.")
        return ViewCall(self.contract, fact.view, fact.arguments(self.block))

    @property
    def number(self) -> int | None:
        """None if the word is a hash, an address or bytes."""
        return int(self.word, 16) if self.name in NUMERIC_FIELDS or self.name[:2] == "0x" else None

    @property
    def units(self) -> Decimal | None:
        """A balance in whole units of 10^18, exactly."""
        return Decimal(f"{int(self.word, 16)}e-18") if self.name == "BALANCE" else None


def facts_in_query(query: object) -> list[ProvenFact]:
    chain, block = number_member(query, "originChainId"), number_member(query, "block")
    if isinstance(query, dict) and "values" in query and query["values"] is None:
        raise FactsLostError("A reorg removed facts of the batch; its page says more.")
    values = member(query, "values", dict)
    if not all(re.fullmatch(r"0x[0-9a-f]{64}", str(word)) for word in values.values()):
        raise UnreadableResponseError("The server's response has a value that is not 32 bytes.")
    selector, account, ens = (text_member(query, name) for name in ("selector", "account", "name"))
    events = {member(e, "name", str): _parse_event(e) for e in member(query, "events", list)}
    about = (chain, block, selector, account or None, ens or None)
    return [
        ProvenFact(*about, printable(name), word, events.get(name)) for name, word in values.items()
    ]


def _parse_event(body: Mapping[str, Any]) -> Event:
    transaction, log, log_index = (
        None if body.get(name) is None else member(body, name, int)
        for name in ("transactionIndex", "log", "logIndex")
    )
    address, data = (str(body.get(name) or "") for name in ("address", "data"))
    topics = member(body, "topics", list) if "topics" in body else ()
    return Event(transaction, log, log_index, address, tuple(map(str, topics)), data, body)
