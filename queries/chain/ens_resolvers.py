"""Whom names mean, as one node tells it: their resolvers are found, and asked.

A name without a resolver has that of the nearest name above it, where that one takes whole names
(ENSIP-10). Such a resolver is asked in its own way for its own name too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from queries.chain.ens_faults import EnsFault, EnsOffChain, EnsUnresolved
from queries.chain.errors import CallReverted
from queries.chain.registry_reads import call_data, selector
from queries.proving.keccak import keccak256

# What a resolver reverts with that wants a server to be asked (ERC-3668).
OFF_CHAIN = selector("OffchainLookup(address,string[],bytes,bytes4,bytes)")
TAKES_WHOLE_NAMES = selector("resolve(bytes,bytes)")  # the id of that interface
# Names above a name that are looked at: whoever asks chooses how many there are.
MOST_ABOVE = 8
WORD = 32
YES = (1).to_bytes(WORD, "big")
A_WORD = WORD.to_bytes(WORD, "big")

Call = tuple[str, bytes]  # to whom, and what
Answer = bytes | CallReverted
Ask = Callable[[Sequence[Call]], list[Answer]]
Said = bytes | type[EnsFault]


@dataclass(frozen=True, slots=True)
class _Resolver:
    address: str
    of: str  # the name that it is set for


def told(ask: Ask, registry: str, names: Sequence[str]) -> list[Said]:
    """Whom each of the names means."""
    found = _resolvers(ask, registry, names)
    addresses = list(dict.fromkeys(each.address for each in found.values()))
    whole = _that_take_whole_names(ask, addresses)
    calls: dict[str, Call] = {}
    for name, resolver in found.items():
        question = call_data("addr(bytes32)", name_hash(name))
        if resolver.address in whole:
            question = call_data("resolve(bytes,bytes)", dns_name(name), question)
        elif resolver.of != name:
            continue
        calls[name] = resolver.address, question
    said: dict[str, Said] = {}
    for name, answer in zip(calls, ask(list(calls.values())), strict=True):
        said[name] = _meant(_inner(answer) if calls[name][0] in whole else answer)
    return [said.get(name, EnsUnresolved) for name in names]


def name_hash(name: str) -> bytes:
    """The name's place in the registry (EIP-137)."""
    mark = bytes(WORD)
    for label in reversed(name.split(".")):
        mark = keccak256(mark + keccak256(label.encode()))
    return mark


def dns_name(name: str) -> bytes:
    """The name as the domain name system writes it."""
    labels = [label.encode() for label in name.split(".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def _resolvers(ask: Ask, registry: str, names: Sequence[str]) -> dict[str, _Resolver]:
    """Each name's own, or that of the nearest name above it; names without any are left out."""
    found: dict[str, _Resolver] = {}
    looking = {name: name for name in names}  # at which name, for which
    for _ in range(MOST_ABOVE + 1):
        places = list(dict.fromkeys(looking.values()))
        calls = [(registry, call_data("resolver(bytes32)", name_hash(place))) for place in places]
        answers = dict(zip(places, ask(calls), strict=True))
        above: dict[str, str] = {}
        for name, place in looking.items():
            answer = answers[place]
            meant = _meant(answer)
            if isinstance(meant, bytes):
                found[name] = _Resolver(f"0x{meant.hex()}", place)
            elif answer == bytes(WORD) and "." in place:
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
    """What `resolve` answers is the other answer, a word, as bytes: where they begin, how many."""
    if isinstance(answer, CallReverted):
        return answer
    return answer.removeprefix(2 * A_WORD) if answer.startswith(2 * A_WORD) else b""


def _meant(answer: Answer) -> Said:
    if isinstance(answer, CallReverted):
        return EnsOffChain if answer.data[:4] == OFF_CHAIN else EnsUnresolved
    if len(answer) != WORD or any(answer[:12]) or not any(answer):
        return EnsUnresolved
    return answer[12:]
