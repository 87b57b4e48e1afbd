"""What `check_setup` asks of nodes, registries and the signer before provers need them.

`with_advice` adds to an error what an operator can do about it.
"""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from accounts.wording import counted
from queries.amounts import gwei, short_amount
from queries.chain.deploy import (
    HISTORY_WINDOW,
    Unfit,
    as_deployed,
    check_chain,
    is_as_built,
    l1_seen,
    newest_game,
)
from queries.chain.errors import (
    ChainError,
    FeesTooHigh,
    MethodMissing,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
    StateOfAnotherBlock,
)
from queries.chain.sender import BASE_GAS, Destination
from queries.chain.signer import Signer
from queries.chain.source import ChainHead, SourceChain
from queries.registries import Registry, RegistryKind, arguments, proves_its_code, time_text
from queries.routes import Chain, NodeAddress, Routes
from queries.schema.wording import listed

DEPLOY = "Deploy one with manage.py deploy_registry."
UNVERIFIABLE = (
    "unverifiable: the code is as built, but not at the address that proves what its constructor "
    "wrote"
)
ANOTHER_NODE = "Name another node in ROUTES_FILE."
ADVICE: dict[type[ChainError], str] = {
    NodesUnreachable: "Check that it runs, and that `nodes` in ROUTES_FILE has its address.",
    NodesOfAnotherChain: "Correct `nodes` in ROUTES_FILE, or the chain's id.",
    NodesLimited: "Wait, or name a node in ROUTES_FILE that takes more.",
    NodesRefuse: ANOTHER_NODE,
    NodesLie: ANOTHER_NODE,
    MethodMissing: ANOTHER_NODE,
    FeesTooHigh: "Wait, or raise `dearest_gas_gwei`.",
}


def with_advice(error: ChainError) -> str:
    """The error's sentence, and what the operator can do."""
    return f"{error.sentence} {ADVICE.get(type(error), '')}".rstrip()


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    subject: str
    ok: bool
    said: str
    is_answered: bool = True  # by the node that was asked
    is_hint: bool = False  # nothing was checked, and nothing is wrong


def findings(routes: Routes, signer: Signer | None) -> Iterator[Finding]:
    """Everything that can be checked, one after the other; each takes a time_text."""
    sources = {source for source, _ in routes.registries}
    destinations = {destination for _, destination in routes.registries}
    seen_by_others = {source for source, destination in routes.registries if source != destination}
    answering: dict[int, Chain] = {}
    for chain in routes.chains.values():
        asked = chain
        if chain.id not in seen_by_others:
            asked = replace(chain, finality=chain.native_finality)
        nodes = yield from _nodes(asked, proves=chain.id in sources)
        answering[chain.id] = replace(chain, nodes=nodes)
    for registry in routes.registries.values():
        ends = answering[registry.source], answering[registry.destination]
        if all(chain.nodes for chain in ends):
            subject = f"registry of {ends[0].name} on {ends[1].name}"
            yield _found(subject, partial(_registry, registry, *ends))
    for chain in (answering[each] for each in answering if each in destinations):
        if signer is not None and chain.nodes:
            yield _found(f"signer on {chain.name}", partial(_funds, chain, signer))
        if chain.most_a_day is None and not chain.free:
            said = (
                f"Nothing bounds what {chain.name} costs in a day. Set `most_a_day` in ROUTES_FILE "
                "if its gas costs money."
            )
            yield Finding(f"budget on {chain.name}", ok=True, said=said, is_hint=True)


def _nodes(chain: Chain, *, proves: bool) -> Generator[Finding, None, tuple[NodeAddress, ...]]:
    """Each node alone, and all of them together. Returns those that answer.

    Only these are asked anything more, so that a node that hangs is waited for once.
    """
    answering: dict[int, NodeAddress] = {}
    for number, node in enumerate(chain.nodes, 1):
        subject, alone = f"{chain.name}, node {number}", replace(chain, nodes=(node,))
        finding = _found(subject, partial(_age, alone))
        yield finding
        if not finding.is_answered:
            continue
        answering[number] = node
        if proves:
            yield _found(f"{subject}, proofs", partial(_reach, alone))
    if len(answering) > 1:
        yield _found(f"{chain.name}, nodes together", partial(_together, chain, answering))
    return tuple(answering.values())


def _found(subject: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, ok=True, said=check())
    except Unfit as problem:
        return Finding(subject, ok=False, said=str(problem))
    except ChainError as error:
        return Finding(subject, ok=False, said=with_advice(error), is_answered=False)


# Nodes


def _head(chain: Chain) -> ChainHead:
    with closing(SourceChain(chain)) as node:
        return node.head()


def _age(chain: Chain) -> str:
    head = _head(chain)
    age = max(int(time.time()) - head.timestamp, 0)
    said = f"block {head.number:,}, {counted(age, 'second')} old"
    if age > chain.limits.head_max_age:
        raise Unfit(f"Its newest block is {said}. Check that the node keeps up with the chain.")
    return said


def _together(chain: Chain, nodes: Mapping[int, NodeAddress]) -> str:
    """How far their heads are apart, asked at nearly the same time_text."""
    heads = {number: _head(replace(chain, nodes=(node,))) for number, node in nodes.items()}
    furthest = max(heads, key=lambda number: heads[number].timestamp)
    behind = {number: heads[furthest].timestamp - head.timestamp for number, head in heads.items()}
    late = [
        f"node {number} is {counted(lag, 'second')}"
        for number, lag in behind.items()
        if lag > chain.limits.lag
    ]
    if late:
        raise Unfit(
            f"{listed(late).capitalize()} behind node {furthest}. Provers use such a node last, "
            "and two nodes must agree that a fact is on chain: remove it from ROUTES_FILE until "
            "it has caught up."
        )
    return f"at most {counted(max(behind.values()), 'second')} apart"


def _reach(chain: Chain) -> str:
    """How far back the node proves accounts."""
    with closing(SourceChain(chain)) as source:
        head = source.head()
        if chain.finality is None and head.number and not head.final_number:
            raise Unfit(
                "The node calls no block finalized. Set `finality` to a number of blocks, if the "
                "chain is older than its first final block."
            )
        wanted = min(head.number - head.final_number, _oldest(head))
        try:
            furthest = proof_window(source, head, first=wanted)
        except ChainError as refusal:
            if isinstance(refusal, StateOfAnotherBlock):
                _check_meaning(source)
            raise Unfit(
                f"Blocks are final {wanted:,} back from the newest, and the node does not prove "
                f"that far. {refusal.sentence} Use a node that keeps more state."
            ) from None
    if furthest == _oldest(head):
        return "eth_getProof reaches back to the first block"
    return f"eth_getProof reaches back {counted(furthest, 'block')}, or some more"


def _check_meaning(source: SourceChain) -> None:
    """Whether the newest block's state is what its header says; a node has that in any case."""
    head = source.head()
    try:
        proof_window(source, head, most=0)
    except StateOfAnotherBlock:
        raise Unfit(
            f"eth_getProof of the newest block, {head.number:,}, does not fit the state root in "
            "its header, which registries take for the state after the block. Name another node in "
            "ROUTES_FILE; if all do so, a fork has changed what the header means, and registries "
            "must not be used for this chain."
        ) from None


def proof_window(
    source: SourceChain, head: ChainHead, *, first: int = 0, most: float = math.inf
) -> int:
    """The longest distance tried that the node proves. Raised: why it does not prove `first`, or
    could not be asked.

    Distances double from `first` up to `most`.
    """
    proven, distance, any_account = -1, first, bytes(20)
    while distance > proven:
        try:
            source.account_proofs(source.header(head.number - distance), [(any_account, ())])
        except (NodesUnreachable, NodesLimited):
            raise
        except ChainError:
            if distance == first:
                raise
            break
        proven, distance = distance, int(min(2 * distance or 1, _oldest(head), most))
    return proven


def _oldest(head: ChainHead) -> int:
    """The distance of block 1. Some nodes cannot prove block 0, and no batch needs it."""
    return max(head.number - 1, 0)


# Registries


def _registry(registry: Registry, source: Chain, destination: Chain) -> str:
    with closing(SourceChain(source)) as of, closing(Destination(destination)) as on:
        sees = _sees(registry, of, on)
    if proves_its_code(registry):
        return f"its address proves its code; {sees}"
    return f"{UNVERIFIABLE}; {sees}"


def _sees(registry: Registry, source: SourceChain, destination: Destination) -> str:
    code = destination.code(registry.address)
    if not code:
        raise Unfit(f"There is no contract at {registry.address}. {DEPLOY}")
    if not is_as_built(registry.kind, code):
        raise Unfit(
            f"The contract at {registry.address} is not this version's {registry.kind} registry. "
            + DEPLOY
        )
    seen = check_chain(destination, registry.kind)
    if registry.kind is RegistryKind.OPTIMISM:
        number = l1_seen(registry, source, destination)
        return f"sees {source.chain.name} up to block {number:,}"
    if registry.kind is RegistryKind.ATTESTED:
        return _signers(registry, destination)
    if registry.kind is RegistryKind.OUTPUT:
        return _games(registry, destination)
    without = "" if seen == HISTORY_WINDOW else " (the chain has no history contract, EIP-2935)"
    return f"sees {seen} blocks{without}"


def _named(registry: Registry, destination: Destination) -> Registry:
    """What the contract says of itself; its source is the route's."""
    named = as_deployed(destination, registry)
    if named.source != registry.source:
        raise Unfit(f"It keeps the facts of another chain than {registry.source}. {DEPLOY}")
    return named


def _signers(registry: Registry, destination: Destination) -> str:
    named = _named(registry, destination)
    until = time_text(named.valid_until)
    if arguments(named) != arguments(registry):
        raise Unfit(
            "ROUTES_FILE names other signers, another threshold or another `valid_until` than the "
            f"registry has: {named.threshold} of {', '.join(named.signers)}, until {until}."
        )
    if named.valid_until <= time.time():
        raise Unfit(f"It takes no attestations since {until}. {DEPLOY}")
    return f"{named.threshold} of {len(named.signers)} signers must agree, until {until}"


def _games(registry: Registry, destination: Destination) -> str:
    anchors = _named(registry, destination).anchor_state_registry
    if anchors != registry.anchor_state_registry:
        raise Unfit(
            f"ROUTES_FILE names another `anchor_state_registry` than the registry has: {anchors}."
        )
    newest = newest_game(registry, destination)
    said = f"asks the AnchorStateRegistry {anchors} which games are valid"
    return f"{said}; its newest one is {newest}" if newest else f"{said}; none is yet"


# The signer


def _funds(chain: Chain, signer: Signer) -> str:
    with closing(Destination(chain)) as destination:
        balance = destination.balance(signer.address)
        price = max(destination.fees().dearest, 1)
    has = f"{signer.address} has {short_amount(balance, chain.currency)}"
    if balance < (BASE_GAS + chain.new_slot_gas) * price:  # no proof takes less
        raise Unfit(f"{has}, too little for a proof at {gwei(price)}. Send it more.")
    return f"{has}, which pays for {balance // price:,} gas at {gwei(price)}"
