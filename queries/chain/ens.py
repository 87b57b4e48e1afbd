"""ENS names at one block: the account that a name stands for, by a quorum of nodes.

A name without a resolver uses that of its nearest parent name, if that resolver supports ENSIP-10.
Names that need an off-chain look-up are refused, because its answer cannot be checked.
"""

from collections.abc import Callable, Sequence

from queries.chain.errors import CallReverted, ChainError, EnsOffChain, EnsUnresolved
from queries.chain.reader import Call, SourceChain
from queries.contracts.abi import call_data, selector
from queries.proving.headers import Header
from queries.proving.keccak import keccak256

# A resolver reverts with this to have a server asked (ERC-3668).
OFF_CHAIN = selector("OffchainLookup(address,string[],bytes,bytes4,bytes)")
TAKES_WHOLE_NAMES = selector("resolve(bytes,bytes)")  # the id of that interface
WORD = 32  # bytes
YES = (1).to_bytes(WORD, "big")
A_WORD = 2 * WORD.to_bytes(WORD, "big")  # how `bytes` of one word begin: their place and length

Answer = bytes | CallReverted
Ask = Callable[[Sequence[Call]], list[Answer]]
Meaning = bytes | ChainError  # an account, or why the name stands for none


def addresses(source: SourceChain, header: Header, names: Sequence[str]) -> list[Meaning]:
    """By quorum, the account of each name at this block; or why it has none, as an error."""
    return source.quorum(
        lambda one: _meanings(one, header, names), ("names", header.hash, tuple(names))
    )


def answers_for_names(source: SourceChain) -> bool:
    """Whether a node answers the registry's own question in time."""
    question = call_data("resolver(bytes32)", name_hash("eth"))
    try:
        source.call_each([(source.chain.ens_registry, question)])
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


def _meanings(one: SourceChain, header: Header, names: Sequence[str]) -> list[Meaning]:
    """The meaning of each name, by one node."""

    def ask(calls: Sequence[Call]) -> list[Answer]:
        # With a transaction's gas: a stranger's resolver decides how long it computes.
        # By the block's number, so that no node can name a block that the others do not know.
        return one.call_each(calls, hex(header.number), one.chain.gas_cap)

    found = _resolvers(ask, one.chain.ens_registry, names)
    whole = _that_take_whole_names(ask, list({resolver for resolver, _ in found.values()}))
    calls: dict[str, Call] = {}
    for name, (resolver, owner) in found.items():
        question = call_data("addr(bytes32)", name_hash(name))
        if resolver in whole:
            calls[name] = resolver, call_data("resolve(bytes,bytes)", dns_name(name), question)
        elif owner == name:
            calls[name] = resolver, question
    answers = dict(zip(calls, ask(list(calls.values())), strict=True))
    return [_meaning(name, header.number, answers.get(name, b"")) for name in names]


def _resolvers(ask: Ask, registry: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """By name, the nearest resolver at it or above it, and the name that it is set for."""
    above = {name: _upwards(name) for name in names}
    every = list(dict.fromkeys(each for line in above.values() for each in line))
    calls = [(registry, call_data("resolver(bytes32)", name_hash(each))) for each in every]
    resolvers = dict(zip(every, ask(calls), strict=True))
    found: dict[str, tuple[str, str]] = {}
    for name, line in above.items():
        owner = next((each for each in line if resolvers[each] != bytes(WORD)), name)
        if resolver := _address(resolvers[owner]):
            found[name] = f"0x{resolver.hex()}", owner
    return found


def _upwards(name: str) -> list[str]:
    """The name, and those above it."""
    labels = name.split(".")
    return [".".join(labels[place:]) for place in range(len(labels))]


def _that_take_whole_names(ask: Ask, resolvers: Sequence[str]) -> set[str]:
    question = call_data("supportsInterface(bytes4)", TAKES_WHOLE_NAMES)
    answers = ask([(resolver, question) for resolver in resolvers])
    return {each for each, answer in zip(resolvers, answers, strict=True) if answer == YES}


def _meaning(name: str, block: int, answer: Answer) -> Meaning:
    if isinstance(answer, CallReverted) and answer.data[:4] == OFF_CHAIN:
        return EnsOffChain(
            f"{name} is looked up off chain at block {block:,}, which is not done here."
        )
    none = EnsUnresolved(f"{name} stands for no address at block {block:,}.")
    return _address(answer) or none


def _address(answer: Answer) -> bytes:
    """The account in a word, which `resolve` answers with as `bytes`; empty where there is none."""
    word = b"" if isinstance(answer, CallReverted) else answer.removeprefix(A_WORD)
    return word[12:] if len(word) == WORD and not any(word[:12]) and any(word) else b""
