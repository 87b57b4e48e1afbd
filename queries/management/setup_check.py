"""What `check_setup` asks of nodes, registries and the signer before provers need them.

`with_advice` adds to an error what an operator can do about it.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from accounts.shared.wording import counted
from queries.amounts import gwei, short_amount
from queries.chain.errors import (
    ChainError,
    FeesTooHigh,
    MethodMissing,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
    ProofWindowExceeded,
    StateNotAvailable,
    StateOfAnotherBlock,
)
from queries.chain.proof_window import oldest_distance, proof_window
from queries.chain.reader import ChainHead, SourceChain
from queries.chain.registry import RegistryFacts
from queries.chain.registry_checks import (
    HISTORY_WINDOW,
    Unfit,
    as_deployed,
    check_chain,
    is_as_built,
    l1_seen,
    newest_game,
)
from queries.chain.sender import Destination
from queries.chain.signer import Signer
from queries.config.limits import DAY, Limits
from queries.config.registries import (
    Registry,
    RegistryKind,
    address_of,
    arguments,
    proves_its_code,
    route_lines,
    time_text,
)
from queries.config.routes import Chain, NodeAddress, Routes

OUTPUT_TAKES = 7 * DAY  # seconds: half of it a game runs, half of it the delay after it

DEPLOY = "Deploy one with manage.py deploy_registry."

UNVERIFIABLE = (
    "It is unverifiable: its code is genuine, but its address does not prove that its constructor "
    f"stored no facts. {DEPLOY}"
)

ANOTHER_NODE = "Name another node in ROUTES_FILE."

MORE_STATE = "Use a node that keeps more state."

ADVICE: dict[type[Exception], str] = {
    NodesUnreachable: "Check that it runs, and that `nodes` in ROUTES_FILE has its address.",
    NodesOfAnotherChain: "Correct `nodes` in ROUTES_FILE, or the chain's id.",
    NodesLimited: "Wait, or name a node in ROUTES_FILE that accepts more requests.",
    NodesRefuse: ANOTHER_NODE,
    NodesLie: ANOTHER_NODE,
    MethodMissing: ANOTHER_NODE,
    StateNotAvailable: MORE_STATE,
    ProofWindowExceeded: MORE_STATE,
    StateOfAnotherBlock: f"{MORE_STATE} If every node answers so, a fork has changed the meaning "
    "of the state root in a header: then registries must not be used for this chain.",
    FeesTooHigh: "Wait, or raise `dearest_gas_gwei`.",
}


def with_advice(error: Exception) -> str:
    """The error's sentence, and what the operator can do."""
    return f"{error} {ADVICE.get(type(error), '')}".rstrip()


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    subject: str
    ok: bool
    said: str
    is_hint: bool = False  # nothing was checked, and nothing is wrong


def findings(
    routes: Routes, signer: Signer | None, gas_of_a_fact: Callable[[RegistryKind], int]
) -> Iterator[Finding]:
    """Everything that can be checked, one after the other; each takes a moment."""
    sources = {source for source, _ in routes.registries}
    destinations = {destination for _, destination in routes.registries}
    windows: dict[int, list[Window]] = {}
    seen_by_others = {source for source, destination in routes.registries if source != destination}
    answering: dict[int, Chain] = {}
    for chain in routes.chains.values():
        asked = chain
        if chain.id not in seen_by_others:
            asked = replace(chain, finality=chain.native_finality)
        found = windows.setdefault(chain.id, []) if chain.id in sources else None
        nodes = yield from _nodes(asked, found)
        answering[chain.id] = replace(chain, nodes=nodes)
        if found:
            kinds = {each.kind for each in routes.registries.values() if each.source == chain.id}
            waits = OUTPUT_TAKES if kinds == {RegistryKind.OUTPUT} else 0
            yield _found(f"{chain.name}, provable", partial(_for_users, max(found), waits))
    for registry in routes.registries.values():
        ends = answering[registry.source], answering[registry.destination]
        if all(chain.nodes for chain in ends):
            subject = f"registry of {ends[0].name} on {ends[1].name}"
            yield _found(subject, partial(_registry, registry, *ends))
    for chain in (answering[each] for each in answering if each in destinations):
        if signer is not None and chain.nodes:
            here = [each for each in routes.registries.values() if each.destination == chain.id]
            needed = max(gas_of_a_fact(each.kind) for each in here)
            yield _found(f"signer on {chain.name}", partial(_funds, chain, signer, needed))


def _nodes(
    chain: Chain, windows: list["Window"] | None
) -> Generator[Finding, None, tuple[NodeAddress, ...]]:
    """Each node alone. Returns those that answer; of a source, adds how far back they prove.

    Only these are asked anything more, so that a node that hangs is waited for once.
    """
    heads: dict[NodeAddress, ChainHead] = {}
    for node in chain.nodes:
        try:
            with closing(SourceChain(replace(chain, nodes=(node,)))) as source:
                heads[node] = source.head()
        except ChainError as error:
            if isinstance(error, NodesUnreachable):
                error = type(error)(f"It does not answer{error.why}.")
            if isinstance(error, NodesOfAnotherChain):
                error = type(error)("It serves another chain.")
            yield Finding(f"{chain.name}, node {node.number}", ok=False, said=with_advice(error))
    newest = max((head.timestamp for head in heads.values()), default=0)
    for node, head in heads.items():
        subject, alone = f"{chain.name}, node {node.number}", replace(chain, nodes=(node,))
        yield _found(subject, partial(_age, head, newest, chain.limits))
        if windows is not None:
            yield _found(f"{subject}, proofs", partial(_reach, alone, head, windows))
    if len(heads) > 1:
        yield _found(f"{chain.name}, all nodes", partial(_same_block, chain, heads))
    return tuple(heads)


def _found(subject: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, ok=True, said=check())
    except (ChainError, Unfit) as problem:
        return Finding(subject, ok=False, said=with_advice(problem))


# Nodes


def _age(head: ChainHead, newest: int, limits: Limits) -> str:
    """How old its newest block is. `newest`: the timestamp of all nodes' newest one."""
    age = max(int(time.time()) - head.timestamp, 0)
    said = f"block {head.number:,}, {counted(age, 'second')} old"
    if age > limits.head_max_age:
        raise Unfit(f"Its newest block is {said}. Check that the node keeps up with the chain.")
    lag = newest - head.timestamp
    if lag > limits.lag:
        raise Unfit(
            f"Its newest block is {said}, {counted(lag, 'second')} behind another node's. Provers "
            "use such a node last, and two nodes must agree that a fact is on chain: remove it "
            "from ROUTES_FILE until it has caught up."
        )
    return said


def _same_block(chain: Chain, heads: Mapping[NodeAddress, ChainHead]) -> str:
    """The newest block that is final for all nodes: `Unfit` if two nodes have different ones."""
    block = min(head.final_number for head in heads.values())
    first: dict[bytes, int] = {}  # by hash, the number of the first node that has it
    for node in heads:
        with closing(SourceChain(replace(chain, nodes=(node,)))) as source:
            first.setdefault(source.header(block).hash, node.number)
    if len(first) > 1:
        one, other, *_ = first.values()
        raise Unfit(
            f"Nodes {one} and {other} have different blocks {block:,}: one of them follows another "
            "chain. Compare with a public explorer, and correct `nodes` in ROUTES_FILE."
        )
    return f"the same block {block:,}"


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """How far back a node proves accounts."""

    blocks: int
    seconds: int
    is_all: bool  # to the first block

    def __str__(self) -> str:
        return f"{counted(self.blocks, 'block')}, {_duration(self.seconds)}"


def _reach(chain: Chain, head: ChainHead, windows: list[Window]) -> str:
    """How far back the node proves accounts, which is added to `windows`."""
    if chain.finality is None and head.number and not head.final_number:
        raise Unfit(
            "The node calls no block finalized. Wait if the chain is new; otherwise set `finality` "
            "to a number of blocks."
        )
    wanted = min(head.number - head.final_number, oldest_distance(head))
    with closing(SourceChain(chain)) as source:
        try:
            furthest = proof_window(source, head, first=wanted, answered=False)
        except ChainError as refusal:
            raise Unfit(
                f"The newest final block is {wanted:,} blocks behind the head, and the node does "
                f"not prove that far back. {with_advice(refusal)}"
            ) from None
        seconds = head.timestamp - source.header(head.number - furthest).timestamp
    window = Window(furthest, seconds, is_all=furthest == oldest_distance(head))
    windows.append(window)
    if window.is_all:
        return "eth_getProof reaches back to the first block"
    return f"eth_getProof reaches back {window}"


def _for_users(window: Window, waits: int) -> str:
    """`waits`: seconds until a block can be proven at all."""
    if window.seconds < waits and not window.is_all:
        raise Unfit(
            f"A dispute game counts {_duration(waits)} after its block, and the nodes prove only "
            f"blocks of the last {_duration(window.seconds)}. {MORE_STATE}"
        )
    if window.blocks >= HISTORY_WINDOW:
        most = "every block" if window.is_all else f"blocks of the last {_duration(window.seconds)}"
        return f"{most}; those more than {HISTORY_WINDOW:,} back by hops"
    if window.is_all:
        return "every block"
    return (
        f"only final blocks of the last {_duration(window.seconds)}. Contracts know "
        f"{HISTORY_WINDOW:,} blocks: name a node that keeps more state."
    )


def _duration(seconds: int) -> str:
    for unit, length in (("day", DAY), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(seconds // length, unit)
    return counted(seconds, "second")


# Registries


def _registry(registry: Registry, source: Chain, destination: Chain) -> str:
    with closing(SourceChain(source)) as of, closing(Destination(destination)) as on:
        code = on.code(registry.address)
        if not code:
            raise Unfit(f"There is no contract at {registry.address}. {DEPLOY}")
        if proves_its_code(registry):
            return f"its address proves its code; {_sees(registry, of, on)}; {_ends(registry, on)}"
        if not is_as_built(registry.kind, code):
            raise Unfit(
                f"The contract at {registry.address} is not this version's {registry.kind} "
                f"registry. {DEPLOY}"
            )
        named = as_deployed(on, registry)
        if arguments(named) != arguments(registry):
            _, source_line, _, _, *others = route_lines(named)
            raise Unfit(
                f"It was made with other arguments ({', '.join([source_line, *others])}). The "
                f"registry of your arguments is at {address_of(registry)}: leave `address` out, or "
                "deploy it."
            )
        raise Unfit(UNVERIFIABLE)


def _ends(registry: Registry, destination: Destination) -> str:
    """Until when it takes headers; `Unfit` if that is over, or sooner over for accounts."""
    lowered = time_text(RegistryFacts(destination, registry).state_horizon())
    if lowered != (horizon := time_text(registry.horizon)):
        raise Unfit(
            f"Accounts cannot be proven from {lowered} on: a header of that time was shown not to "
            "hold the state after its block. Header fields can still be proven."
        )
    if registry.horizon <= time.time():
        raise Unfit(f"It has taken no headers since {horizon}. {DEPLOY}")
    return f"takes headers until {horizon}"


def _sees(registry: Registry, source: SourceChain, destination: Destination) -> str:
    """What it learns the source's block hashes from."""
    seen = check_chain(destination, registry.kind)
    match registry.kind:
        case RegistryKind.OPTIMISM:
            number = l1_seen(registry, source, destination)
            return f"sees {source.chain.name} up to block {number:,}"
        case RegistryKind.ATTESTED:
            until = time_text(registry.valid_until)
            if registry.valid_until <= time.time():
                raise Unfit(f"It has taken no attestations since {until}. {DEPLOY}")
            threshold, signers = registry.threshold, len(registry.signers)
            return f"{threshold} of {signers} signers must agree, until {until}"
        case RegistryKind.OUTPUT:
            newest = newest_game(registry, destination)
            said = f"the newest is {newest}" if newest else "there is none yet"
            anchors = registry.anchor_state_registry
            return f"asks the AnchorStateRegistry {anchors} which games are valid; {said}"
        case RegistryKind.NATIVE:
            has_history = seen == HISTORY_WINDOW
            without = "" if has_history else " (the chain has no history contract, EIP-2935)"
            return f"sees {seen} blocks{without}"


# The signer


def _funds(chain: Chain, signer: Signer, needed: int) -> str:
    with closing(Destination(chain)) as destination:
        balance = destination.balance(signer.address)
        price = max(destination.fees().dearest, 1)
        pending = destination.pending(signer.address)
        destination.gas_needed(signer.address, signer.address, b"")  # that nodes try out calls
    has = f"{signer.address} has {short_amount(balance, chain.currency)}"
    if balance < needed * price:
        fact = f"the {needed:,} gas of a fact"
        raise Unfit(f"{has}, too little for {fact} at {gwei(price)}. Send it more.")
    waiting = f"; {counted(pending, 'transaction')} pending" if pending else ""
    return f"{has}, which pays for {balance // price:,} gas at {gwei(price)}{waiting}"
