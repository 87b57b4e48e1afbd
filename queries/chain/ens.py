"""ENS names at one block: the account that a name stands for, by a quorum of nodes.

A name without a resolver has that of the nearest name above it, where that one resolves whole names
(ENSIP-10). Names that need an off-chain look-up are refused, because nobody could check the answer.
"""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from queries.chain.calls import call_data, selector
from queries.chain.errors import CallReverted, ChainAnswer, ChainError, QuestionRefused
from queries.chain.node_pool import NodePool
from queries.proving.errors import AnswerTooLarge
from queries.proving.headers import Header
from queries.proving.json_values import read_bytes
from queries.proving.keccak import keccak256
from queries.routes import Chain

# A resolver reverts with this to have a server asked (ERC-3668).
OFF_CHAIN = selector("OffchainLookup(address,string[],bytes,bytes4,bytes)")
TAKES_WHOLE_NAMES = selector("resolve(bytes,bytes)")  # the id of that interface
MOST_ABOVE = 8  # names above a name that are asked for a resolver; documented for operators
WORD = 32  # bytes
YES = (1).to_bytes(WORD, "big")
A_WORD = 2 * WORD.to_bytes(WORD, "big")  # how `bytes` of one word begin: their place and length

Call = tuple[str, bytes]  # contract, calldata
Answer = bytes | CallReverted
Ask = Callable[[Sequence[Call]], list[Answer]]


class EnsFault(Exception):  # noqa: N818
    """A name stands for no account."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    says: ClassVar[str]

    def __init__(self, name: str, block: int) -> None:
        super().__init__(self.says.format(name=name, block=f"{block:,}"))


class EnsUnresolved(EnsFault):
    """Neither a resolver of its own nor one of the names above it has an address for the name."""

    code = "ens_unresolved"
    says = "{name} stands for no address at block {block}."


class EnsOffChain(EnsFault):
    """The resolver asks for an off-chain look-up."""

    code = "ens_off_chain"
    says = "{name} is looked up off chain at block {block}, which is not done here."


Meaning = bytes | type[EnsFault]


class EnsNames:
    """For one thread."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        self._registry = chain.ens_registry
        self._nodes = NodePool(chain, until=until)

    def addresses(self, header: Header, names: Sequence[str]) -> list[bytes]:
        """The account of each name at this block, or the `EnsFault` of one of them."""
        meanings = self._nodes.quorum(
            lambda one: _meanings(one, header, self._registry, names),
            ("names", header.hash, tuple(names)),
        )
        for name, meaning in zip(names, meanings, strict=True):
            if not isinstance(meaning, bytes):
                raise meaning(name, header.number)
        return [meaning for meaning in meanings if isinstance(meaning, bytes)]

    def close(self) -> None:
        self._nodes.close()


def answers_for_names(nodes: NodePool) -> bool:
    """Whether a node answers the registry's own question in time."""
    question = nodes.chain.ens_registry, call_data("resolver(bytes32)", name_hash("eth"))
    try:
        _ask_at(nodes, "latest", [question])
    except ChainError:
        return False
    return True


def name_hash(name: str) -> bytes:
    """The name's place in the registry (EIP-137)."""
    mark = bytes(WORD)
    for label in reversed(name.split(".")):
        mark = keccak256(mark + keccak256(label.encode()))
    return mark


def dns_name(name: str) -> bytes:
    """The name in DNS wire format."""
    labels = [label.encode() for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _meanings(
    nodes: NodePool, header: Header, registry: str, names: Sequence[str]
) -> list[Meaning]:
    """The meaning of each name, by one node."""

    def ask(calls: Sequence[Call]) -> list[Answer]:
        try:
            return _ask_at(nodes, {"blockHash": f"0x{header.hash.hex()}"}, calls)
        except QuestionRefused:  # older nodes take only a number
            return _ask_at(nodes, hex(header.number), calls)

    found = _resolvers(ask, registry, names)
    whole = _that_take_whole_names(ask, list({resolver for resolver, _ in found.values()}))
    calls: dict[str, Call] = {}
    for name, (resolver, owner) in found.items():
        question = call_data("addr(bytes32)", name_hash(name))
        if resolver in whole:
            question = call_data("resolve(bytes,bytes)", dns_name(name), question)
        if resolver in whole or owner == name:
            calls[name] = resolver, question
    meanings: dict[str, Meaning] = {}
    for name, answer in zip(calls, ask(list(calls.values())), strict=True):
        meanings[name] = _meaning(_inner(answer) if calls[name][0] in whole else answer)
    return [meanings.get(name, EnsUnresolved) for name in names]


def _resolvers(ask: Ask, registry: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By name, the nearest resolver at it or above it, and the name that it is set for."""
    found: dict[str, tuple[str, str]] = {}
    looking = {name: name for name in names}  # where each name looks for its resolver
    for _ in range(MOST_ABOVE + 1):
        places = list(dict.fromkeys(looking.values()))
        calls = [(registry, call_data("resolver(bytes32)", name_hash(place))) for place in places]
        answers = dict(zip(places, ask(calls), strict=True))
        above: dict[str, str] = {}
        for name, place in looking.items():
            meaning = _meaning(answers[place])
            if isinstance(meaning, bytes):
                found[name] = f"0x{meaning.hex()}", place
            elif answers[place] == bytes(WORD) and "." in place:
                above[name] = place.partition(".")[2]
        looking = above
        if not looking:
            break
    return found


def _that_take_whole_names(ask: Ask, resolvers: Sequence[str]) -> set[str]:
    question = call_data("supportsInterface(bytes4)", TAKES_WHOLE_NAMES)
    answers = ask([(resolver, question) for resolver in resolvers])
    return {each for each, answer in zip(resolvers, answers, strict=True) if answer == YES}


def _inner(answer: Answer) -> Answer:
    """The word in an answer of `resolve`."""
    if isinstance(answer, CallReverted):
        return answer
    return answer.removeprefix(A_WORD) if answer.startswith(A_WORD) else b""


def _meaning(answer: Answer) -> Meaning:
    if isinstance(answer, CallReverted):
        return EnsOffChain if answer.data[:4] == OFF_CHAIN else EnsUnresolved
    if len(answer) != WORD or any(answer[:12]) or not any(answer):
        return EnsUnresolved
    return answer[12:]


def _ask_at(nodes: NodePool, block: object, calls: Sequence[Call]) -> list[Answer]:
    # With a gas limit, because a stranger's resolver decides how long it computes.
    gas = hex(nodes.chain.limits.name_gas)
    questions = [({"to": to, "data": f"0x{data.hex()}", "gas": gas}, block) for to, data in calls]
    answers: list[Answer] = []
    for answer in nodes.checked_or_refused("eth_call", questions, _bytes):
        if isinstance(answer, ChainAnswer) and not isinstance(answer, CallReverted):
            raise answer
        answers.append(answer)
    return answers


def _bytes(answer: object) -> bytes:
    try:
        return read_bytes(answer, "the answer", len(A_WORD) + WORD)
    except AnswerTooLarge:  # by a stranger's resolver, so it is no fault of the node
        return b""
