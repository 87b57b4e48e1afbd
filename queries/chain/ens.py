"""Whom a name means: a chain's ENS registry, asked at one block.

A node's answer to a call cannot be checked by a hash, as a proof can. So where there are two nodes,
two must say the same; and nothing is looked up off chain, where nobody could check it at all.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from queries.chain.errors import CallReverted, ChainAnswer, ChainError, QuestionRefused
from queries.chain.nodes import Nodes
from queries.chain.registry_reads import call_data, selector
from queries.proving.headers import Header
from queries.proving.json_values import read_bytes
from queries.proving.keccak import keccak256
from queries.routes import Chain

ENOUGH_NODES = 2
LARGEST_ANSWER = 10_000  # bytes: an answer is a word
# What a resolver reverts with that wants a server to be asked (ERC-3668).
OFF_CHAIN = selector("OffchainLookup(address,string[],bytes,bytes4,bytes)")
Call = tuple[str, bytes]  # to whom, and what


class EnsFault(Exception):  # noqa: N818
    """A name means nobody, as far as may be believed."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    says: ClassVar[str]

    def __init__(self, name: str, block: int) -> None:
        super().__init__(self.says.format(name=name, block=f"{block:,}"))


class EnsUnresolved(EnsFault):
    """The name has no resolver of its own, or the resolver no address for it."""

    code = "ens_unresolved"
    says = "{name} stands for no address at block {block}."


class EnsOffChain(EnsFault):
    """The resolver sends whoever asks to a server."""

    code = "ens_off_chain"
    says = "{name} is looked up off chain at block {block}, which is not done here."


class EnsDisagreement(EnsFault):
    """Two nodes say different things."""

    code = "ens_disagreement"
    retryable = True
    says = "The nodes do not agree on the address that {name} stands for at block {block}."


Said = bytes | type[EnsFault]


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
        told = zip(names, *self._tellings(header, names), strict=True)
        return [_agreed(name, header.number, said) for name, *said in told]

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
        marks = [name_hash(name) for name in names]
        asked = [(self._registry, call_data("resolver(bytes32)", mark)) for mark in marks]
        said = [_address(answer) for answer in _ask(nodes, header, asked)]
        resolvers = {
            place: f"0x{each.hex()}" for place, each in enumerate(said) if isinstance(each, bytes)
        }
        asked = [(to, call_data("addr(bytes32)", marks[place])) for place, to in resolvers.items()]
        for place, answer in zip(resolvers, _ask(nodes, header, asked), strict=True):
            said[place] = _address(answer)
        return said


def name_hash(name: str) -> bytes:
    """The name's place in the registry (EIP-137)."""
    mark = bytes(32)
    for label in reversed(name.split(".")):
        mark = keccak256(mark + keccak256(label.encode()))
    return mark


def _agreed(name: str, block: int, said: Sequence[Said]) -> bytes:
    first, *others = said
    if any(other != first for other in others):
        raise EnsDisagreement(name, block)
    if isinstance(first, bytes):
        return first
    raise first(name, block)


def _ask(nodes: Nodes, header: Header, calls: Sequence[Call]) -> list[bytes | CallReverted]:
    try:
        return _ask_at(nodes, {"blockHash": f"0x{header.hash.hex()}"}, calls)
    except QuestionRefused:  # older nodes take a number only
        return _ask_at(nodes, hex(header.number), calls)


def _ask_at(nodes: Nodes, block: object, calls: Sequence[Call]) -> list[bytes | CallReverted]:
    questions = [({"to": to, "data": f"0x{data.hex()}"}, block) for to, data in calls]
    answers: list[bytes | CallReverted] = []
    for answer in nodes.checked_or_refused("eth_call", questions, _bytes):
        if isinstance(answer, ChainAnswer) and not isinstance(answer, CallReverted):
            raise answer
        answers.append(answer)
    return answers


def _bytes(answer: object) -> bytes:
    return read_bytes(answer, "the answer", LARGEST_ANSWER)


def _address(answer: bytes | CallReverted) -> Said:
    if isinstance(answer, CallReverted):
        return EnsOffChain if answer.data[:4] == OFF_CHAIN else EnsUnresolved
    if len(answer) != 32 or any(answer[:12]) or not any(answer):  # noqa: PLR2004  (a word)
        return EnsUnresolved
    return answer[12:]
