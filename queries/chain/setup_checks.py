"""Whether everything that proving needs is there: nodes, their reach, registries, funds.

Each finding is a line for an operator: what was looked at, whether it is ok, and what to do.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from accounts.counting import counted
from queries.chain.advice import with_advice
from queries.chain.amounts import gwei, whole_units
from queries.chain.destination import Destination
from queries.chain.errors import ChainError, NodesUnreachable
from queries.chain.heads import ChainHead
from queries.chain.nodes import Nodes
from queries.chain.proof_window import oldest, proof_window, refused_at
from queries.chain.registry_checks import NotOk, check_registry
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.routes import Chain, NodeAddress, Registry, Routes
from queries.schema.wording import listed

PROOF_GAS = 200_000  # of a header and an account
FEWEST_PROOFS = 10
OLD = 3600  # seconds after which a newest block looks like a node that stands still
MOST_APART = 20  # blocks between two nodes of a chain, as the alert TacitusNodeIsBehind has it
TIMEOUT, PATIENCE = 4.0, 2.0  # seconds, for whether a node answers at all
DOES_NOT_ANSWER, AS_ABOVE = "the node does not answer", "first mend what is said above"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    subject: str
    ok: bool
    said: str


def findings(routes: Routes, signer: Signer | None) -> Iterator[Finding]:
    """Everything that can be looked at, one after the other; each takes a moment."""
    sources = {registry.source for registry in routes.registries.values()}
    destinations = {registry.destination for registry in routes.registries.values()}
    seen_by_others = {source for source, destination in routes.registries if source != destination}
    answering: dict[int, Chain] = {}
    for chain in routes.chains.values():
        asked = chain
        if chain.finality is None and chain.id not in seen_by_others:
            # For itself alone nothing need be final, and contracts see the hash before theirs.
            asked = replace(chain, finality=1)
        answers = yield from _nodes(asked, proves=chain.id in sources)
        answering[chain.id] = replace(chain, nodes=answers)
    for registry in routes.registries.values():
        ends = answering[registry.source], answering[registry.destination]
        subject = f"registry of {ends[0].name} on {ends[1].name}"
        yield _found(subject, lambda r=registry, e=ends: _registry(r, *e), *ends)  # type: ignore[misc]
    for chain in answering.values():
        if signer is not None and chain.id in destinations:
            subject = f"signer on {chain.name}"
            yield _found(subject, lambda c=chain: _funds(c, signer), chain)  # type: ignore[misc]


def _nodes(chain: Chain, *, proves: bool) -> Generator[Finding, None, tuple[NodeAddress, ...]]:
    """What is found of each, and of all beside one another; returns those that answer.

    Nothing more is asked of the others, or a node that hangs were waited for again and again.
    """
    answering: dict[int, NodeAddress] = {}
    for number, node in enumerate(chain.nodes, 1):
        subject, alone = f"{chain.name}, node {number}", replace(chain, nodes=(node,))
        try:
            head = _head(alone)
        except ChainError as error:
            yield Finding(subject, ok=False, said=with_advice(error))
            if proves:
                why = DOES_NOT_ANSWER if isinstance(error, NodesUnreachable) else AS_ABOVE
                yield Finding(f"{subject}, proofs", ok=False, said=f"Not asked: {why}.")
            continue
        answering[number] = node
        yield _found(subject, lambda h=head: _age(h))  # type: ignore[misc]
        if proves:
            yield _found(f"{subject}, proofs", lambda c=alone: _reach(c))  # type: ignore[misc]
    if len(answering) > 1:
        yield _found(f"{chain.name}, nodes together", lambda: _together(chain, answering))
    return tuple(answering.values())


def _found(subject: str, look: Callable[[], str], *of: Chain) -> Finding:
    """Unless one of these chains has no node that could be asked."""
    silent = next((chain.name for chain in of if not chain.nodes), None)
    if silent is not None:
        return Finding(subject, ok=False, said=f"Not asked: no node of {silent} answers.")
    try:
        return Finding(subject, ok=True, said=look())
    except NotOk as problem:
        return Finding(subject, ok=False, said=str(problem))
    except ChainError as error:
        return Finding(subject, ok=False, said=with_advice(error))


def _head(chain: Chain) -> ChainHead:
    """With little patience; that its chain id is right is asked before anything else is."""
    nodes = Nodes(chain, timeout=TIMEOUT, patience=PATIENCE)
    with closing(Destination(chain, nodes=nodes)) as node:
        return node.head()


def _age(head: ChainHead) -> str:
    age = int(time.time()) - head.timestamp
    if age > OLD:
        raise NotOk(
            f"Its newest block, {head.number:,}, is {counted(age, 'second')} old. Look whether the "
            "node keeps up with the chain."
        )
    return f"block {head.number:,}, {counted(max(age, 0), 'second')} old"


def _together(chain: Chain, nodes: Mapping[int, NodeAddress]) -> str:
    """Whether one is behind the others, asked at nearly the same moment."""
    heads = {number: _head(replace(chain, nodes=(node,))).number for number, node in nodes.items()}
    furthest = max(heads, key=lambda number: heads[number])
    behind = {number: heads[furthest] - head for number, head in heads.items()}
    late = [f"node {number} is {lag:,}" for number, lag in behind.items() if lag > MOST_APART]
    if late:
        raise NotOk(
            f"{listed(late).capitalize()} blocks behind node {furthest}. That a fact is on chain "
            "two nodes must say, and one that is behind is waited for: take it out of ROUTES_FILE "
            "until it has caught up, or batches stay open."
        )
    return f"at most {counted(max(behind.values()), 'block')} apart"


def _reach(chain: Chain) -> str:
    """How far back the node proves accounts."""
    with closing(SourceChain(chain)) as source:
        head = source.head()
        if chain.finality is None and head.number and not head.final_number:
            raise NotOk(
                "The node calls no block finalized. Set `finality` to a number of blocks, if the "
                "chain is older than its first final block."
            )
        furthest, refusal = proof_window(source, head)
        wanted = head.number - head.final_number
        if refusal and furthest < wanted:
            refusal = refused_at(source, head, wanted)
            if refusal:
                raise NotOk(
                    f"Blocks are final {wanted:,} back from the newest, and the node does not "
                    f"prove that far. {refusal.sentence} Take a node that keeps more state."
                )
            furthest = wanted
    if furthest == oldest(head):
        return "eth_getProof reaches back to the first block"
    return f"eth_getProof reaches back {counted(furthest, 'block')}, or some more"


def _registry(registry: Registry, source: Chain, destination: Chain) -> str:
    with closing(SourceChain(source)) as of, closing(Destination(destination)) as on:
        return check_registry(registry, of, on)


def _funds(chain: Chain, signer: Signer) -> str:
    with closing(Destination(chain)) as destination:
        has = destination.balance(signer.address)
        fees = destination.fees()
    balance = whole_units(has, chain.currency)
    proofs = has // (PROOF_GAS * max(fees.dearest, 1))
    if proofs < FEWEST_PROOFS:
        raise NotOk(
            f"{signer.address} has {balance}, which may pay for {counted(proofs, 'proof')} at "
            f"{gwei(fees.dearest)}. Send it more."
        )
    return f"{signer.address} has {balance}, for {counted(proofs, 'proof')} of an account or more"
