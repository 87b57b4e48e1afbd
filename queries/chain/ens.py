"""Whom a name means: a chain's ENS registry, asked at one block.

A node's answer to a call cannot be checked by a hash, as a proof can. So where there are two nodes,
two must say the same; and nothing is looked up off chain, where nobody could check it at all.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from queries.chain.ens_faults import EnsDisagreement, EnsFault
from queries.chain.ens_resolvers import Answer, Call, Said, name_hash, told
from queries.chain.errors import (
    CallReverted,
    ChainAnswer,
    ChainError,
    NamesUnanswered,
    QuestionRefused,
)
from queries.chain.name_turns import NameTurns
from queries.chain.nodes import Nodes
from queries.chain.registry_reads import call_data
from queries.proving.errors import AnswerTooLarge
from queries.proving.headers import Header
from queries.proving.json_values import read_bytes
from queries.routes import Chain

__all__ = ["EnsFault", "EnsNames"]

ENOUGH_NODES = 2
LARGEST_ANSWER = 10_000  # bytes: an answer is a word
TIMEOUT = 3.0  # seconds, for an answer of a node
DEADLINE = 8.0  # seconds, for all that a node is asked about some names


class EnsNames:
    """For one thread."""

    def __init__(
        self, chain: Chain, *, until: float = math.inf, turns: NameTurns | None = None
    ) -> None:
        self._chain = chain
        self._until = until
        self._turns = turns or NameTurns()
        self._enough = min(ENOUGH_NODES, len(chain.nodes))
        # Each alone, and without patience: who asks again later asks all of them.
        self._nodes = [
            Nodes(replace(chain, nodes=(address,)), timeout=TIMEOUT, patience=0)
            for address in chain.nodes
        ]

    def addresses(
        self, header: Header, names: Sequence[str], who: int | None = None
    ) -> list[bytes]:
        """Whom each of the names means at this block, or the `EnsFault` of one of them."""
        self.be_awake(who)
        with self._turns.place(self._chain, who):
            tellings = zip(names, *self._tellings(header, names), strict=True)
        return [_agreed(name, header.number, said) for name, *said in tellings]

    def be_awake(self, who: int | None) -> None:
        """`NamesUnanswered` while `who` is not to ask, or too few nodes are to be asked."""
        self._turns.be_awake(self._chain, who, self._enough)

    def close(self) -> None:
        for nodes in self._nodes:
            nodes.close()

    def _tellings(self, header: Header, names: Sequence[str]) -> list[list[Said]]:
        """What as many nodes say as have to agree."""
        tellings: list[list[Said]] = []
        faults: list[ChainError] = []
        for asked, nodes in enumerate(self._nodes):
            if len(tellings) + len(self._nodes) - asked < self._enough:
                break  # whatever the others say, they are too few
            try:
                tellings.append(self._told_by(nodes, header, names))
            except ChainError as fault:
                faults.append(fault)
            if len(tellings) == self._enough:
                return tellings
        # What time may mend stands before what it may not, and before both what fewer names may.
        raise max(faults, key=lambda fault: (_hung(fault), fault.retryable))

    def _told_by(self, nodes: Nodes, header: Header, names: Sequence[str]) -> list[Said]:
        (address,) = nodes.chain.nodes
        with self._turns.asking(self._chain, address):
            nodes.end_by(min(self._until, time.monotonic() + DEADLINE))
            registry = self._chain.ens_registry
            return told(lambda calls: _ask(nodes, header, calls), registry, names)


def answers_for_names(nodes: Nodes) -> bool:
    """Whether these nodes say in time what the registry holds of one name.

    How long that takes is nobody's choice, as it is of a name that somebody asks for.
    """
    question = nodes.chain.ens_registry, call_data("resolver(bytes32)", name_hash("eth"))
    try:
        _ask_at(nodes, "latest", [question])
    except ChainError:
        return False
    return True


def _hung(fault: ChainError) -> bool:
    return isinstance(fault, NamesUnanswered) and fault.asked


def _agreed(name: str, block: int, said: Sequence[Said]) -> bytes:
    first, *others = said
    if any(other != first for other in others):
        raise EnsDisagreement(name, block)
    if isinstance(first, bytes):
        return first
    raise first(name, block)


def _ask(nodes: Nodes, header: Header, calls: Sequence[Call]) -> list[Answer]:
    try:
        return _ask_at(nodes, {"blockHash": f"0x{header.hash.hex()}"}, calls)
    except QuestionRefused:  # older nodes take a number only
        return _ask_at(nodes, hex(header.number), calls)


def _ask_at(nodes: Nodes, block: object, calls: Sequence[Call]) -> list[Answer]:
    questions = [({"to": to, "data": f"0x{data.hex()}"}, block) for to, data in calls]
    answers: list[Answer] = []
    for answer in nodes.checked_or_refused("eth_call", questions, _bytes):
        if isinstance(answer, ChainAnswer) and not isinstance(answer, CallReverted):
            raise answer
        answers.append(answer)
    return answers


def _bytes(answer: object) -> bytes:
    try:
        return read_bytes(answer, "the answer", LARGEST_ANSWER)
    except AnswerTooLarge:  # the resolver's own choice: it is no address, and no fault of the node
        return b""
