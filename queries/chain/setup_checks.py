"""Whether everything that proving needs is there: nodes, their reach, registries, funds.

Each finding is a line for an operator: what was looked at, whether it is ok, and what to do.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from queries.chain.advice import with_advice
from queries.chain.amounts import coins, gwei
from queries.chain.destination import Destination
from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead
from queries.chain.registry_checks import NotOk, check_registry
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.routes import Chain, Registry, Routes

NOBODY = bytes(20)
PROOF_GAS = 200_000  # of a header and an account
FEWEST_PROOFS = 10
OLD = 3600  # seconds after which a newest block looks like a node that stands still


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
    for chain in routes.chains.values():
        for number, node in enumerate(chain.nodes, 1):
            subject = f"{chain.name}, node {number}"
            alone = replace(chain, nodes=(node,))
            if chain.finality is None and chain.id not in seen_by_others:
                # For itself alone nothing need be final, and contracts see the hash before theirs.
                alone = replace(alone, finality=1)
            yield _found(subject, lambda c=alone: _node(c))  # type: ignore[misc]
            if chain.id in sources:
                yield _found(f"{subject}, proofs", lambda c=alone: _reach(c))  # type: ignore[misc]
    for registry in routes.registries.values():
        ends = routes.chains[registry.source], routes.chains[registry.destination]
        subject = f"registry of {ends[0].name} on {ends[1].name}"
        yield _found(subject, lambda r=registry, e=ends: _registry(r, *e))  # type: ignore[misc]
    for chain in routes.chains.values():
        if signer is not None and chain.id in destinations:
            subject = f"signer on {chain.name}"
            yield _found(subject, lambda c=chain: _funds(c, signer))  # type: ignore[misc]


def _found(subject: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, ok=True, said=look())
    except NotOk as problem:
        return Finding(subject, ok=False, said=str(problem))
    except ChainError as error:
        return Finding(subject, ok=False, said=with_advice(error))


def _node(chain: Chain) -> str:
    """Its head; that its chain id is right is asked before anything else is."""
    with closing(Destination(chain)) as node:
        head = node.head()
    age = int(time.time()) - head.timestamp
    if age > OLD:
        raise NotOk(
            f"Its newest block, {head.number:,}, is {age:,} seconds old. Look whether the node "
            "keeps up with the chain."
        )
    return f"block {head.number:,}, {max(age, 0)} seconds old"


def _reach(chain: Chain) -> str:
    """How far back the node proves accounts, found by doubling the distance."""
    with closing(SourceChain(chain)) as source:
        head = source.head()
        if chain.finality is None and head.number and not head.final_number:
            raise NotOk(
                "The node calls no block finalized. Set `finality` to a number of blocks, if the "
                "chain is older than its first final block."
            )
        furthest, refusal = _furthest(source, head)
        wanted = head.number - head.final_number
        if refusal and furthest < wanted:
            refusal = _refusal(source, head, wanted)
            if refusal:
                raise NotOk(
                    f"Blocks are final {wanted:,} back from the newest, and the node does not "
                    f"prove that far. {refusal.sentence} Take a node that keeps more state."
                )
            furthest = wanted
    if furthest == _oldest(head):
        return "eth_getProof reaches back to the first block"
    return f"eth_getProof reaches back {furthest:,} blocks, or some more"


def _furthest(source: SourceChain, head: ChainHead) -> tuple[int, ChainError | None]:
    """The furthest distance tried that is proven, and what refused the next one."""
    proven, distance = -1, 0
    while True:
        if refusal := _refusal(source, head, distance):
            return proven, refusal
        if distance == _oldest(head):
            return distance, None
        proven, distance = distance, min(2 * distance or 1, _oldest(head))


def _oldest(head: ChainHead) -> int:
    """The distance of block 1: that of block 0 some nodes cannot prove, and nobody asks for it."""
    return max(head.number - 1, 0)


def _refusal(source: SourceChain, head: ChainHead, distance: int) -> ChainError | None:
    try:
        header = source.header(head.number - distance)
        source.account_proofs(header, [(NOBODY, ())])
    except ChainError as refusal:
        return refusal
    return None


def _registry(registry: Registry, source: Chain, destination: Chain) -> str:
    with closing(SourceChain(source)) as of, closing(Destination(destination)) as on:
        return check_registry(registry, of, on)


def _funds(chain: Chain, signer: Signer) -> str:
    with closing(Destination(chain)) as destination:
        balance = destination.balance(signer.address)
        fees = destination.fees()
    proofs = balance // (PROOF_GAS * max(fees.dearest, 1))
    if proofs < FEWEST_PROOFS:
        raise NotOk(
            f"{signer.address} has {coins(balance)}, which may pay for {proofs} proofs at "
            f"{gwei(fees.dearest)}. Send it more."
        )
    return f"{signer.address} has {coins(balance)}, for {proofs:,} proofs of an account or more"
