"""Whom a name means: a chain's ENS registry, asked at one block.

A node's answer to a call cannot be checked by a hash, as a proof can. So where there are two nodes,
two must say the same; and nothing is looked up off chain, where nobody could check it at all.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from queries.chain.ens_faults import EnsDisagreement, EnsFault
from queries.chain.ens_resolvers import Answer, Call, Said, told
from queries.chain.errors import CallReverted, ChainAnswer, ChainError, QuestionRefused
from queries.chain.nodes import Nodes
from queries.proving.headers import Header
from queries.proving.json_values import read_bytes
from queries.routes import Chain

__all__ = ["EnsFault", "EnsNames"]

ENOUGH_NODES = 2
LARGEST_ANSWER = 10_000  # bytes: an answer is a word


class EnsNames:
    """For one thread."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        self._registry = chain.ens_registry
        # Each alone, and without patience: who asks again later asks all of them.
        self._nodes = [
            Nodes(replace(chain, nodes=(address,)), patience=0, until=until)
            for address in chain.nodes
        ]

    def addresses(self, header: Header, names: Sequence[str]) -> list[bytes]:
        """Whom each of the names means at this block, or the `EnsFault` of one of them."""
        tellings = zip(names, *self._tellings(header, names), strict=True)
        return [_agreed(name, header.number, said) for name, *said in tellings]

    def close(self) -> None:
        for nodes in self._nodes:
            nodes.close()

    def _tellings(self, header: Header, names: Sequence[str]) -> list[list[Said]]:
        """What as many nodes say as have to agree."""
        enough = min(ENOUGH_NODES, len(self._nodes))
        tellings: list[list[Said]] = []
        faults: list[ChainError] = []
        for nodes in self._nodes:
            try:
                tellings.append(self._told_by(nodes, header, names))
            except ChainError as fault:
                faults.append(fault)
            if len(tellings) == enough:
                return tellings
        # What time may mend stands before what it may not.
        raise max(faults, key=lambda fault: fault.retryable)

    def _told_by(self, nodes: Nodes, header: Header, names: Sequence[str]) -> list[Said]:
        return told(lambda calls: _ask(nodes, header, calls), self._registry, names)


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
    return read_bytes(answer, "the answer", LARGEST_ANSWER)
