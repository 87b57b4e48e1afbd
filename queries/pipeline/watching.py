"""What a prover notes of nodes and of the signer's funds, for whoever watches the service.

Only provers talk to nodes, and `/metrics` reads these rows. A thread of its own looks, so that no
proof waits for a node that hangs; and one prover's every now and then, however many there are.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from queries.chain import ens
from queries.chain.destination import Destination
from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead
from queries.chain.nodes import Nodes
from queries.chain.proof_window import proof_window
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.models import ChainRecord, NodeRecord
from queries.pipeline.clock import shared_now
from queries.routes import Chain, RegistryKind, Routes

log = logging.getLogger("tacitus.prover")

LOOKS_EVERY = timedelta(seconds=15)
MEASURES_EVERY = timedelta(minutes=10)
FURTHEST = 8_192  # blocks: as far back as a chain knows its own hashes
TIMEOUT = 4.0  # seconds, for an answer
MEASURES_FOR = 8.0  # seconds at most


@dataclass
class Watch:
    """For one thread, which keeps its connections. Nothing is looked at in its first moments."""

    routes: Routes
    signer: Signer | None
    stopped: Callable[[], bool] = lambda: False
    begins: float = field(
        default_factory=lambda: time.monotonic() + LOOKS_EVERY.total_seconds()
    )  # a prover that just began has more urgent questions
    _nodes: dict[tuple[int, int], SourceChain] = field(default_factory=dict)
    _for_names: dict[tuple[int, int], Nodes] = field(default_factory=dict)
    _destinations: dict[int, Destination] = field(default_factory=dict)

    def once(self) -> bool:
        """Look at what is due. There is never a reason to look again at once."""
        if time.monotonic() >= self.begins:
            for chain_id in sorted({each for route in self.routes.registries for each in route}):
                if not self.stopped() and _claim(chain_id):
                    self._look(self.routes.chains[chain_id])
        return False

    def _look(self, chain: Chain) -> None:
        places = range(1, len(chain.nodes) + 1)
        heads = {place: self._head(chain, place) for place in places}
        known = [head for head in heads.values() if isinstance(head, ChainHead)]
        furthest = max(known, key=lambda head: head.number, default=None)
        is_source = any(source == chain.id for source, _ in self.routes.registries)
        for place, head in heads.items():
            for_names = None
            if is_source and chain.ens_registry and isinstance(head, ChainHead):
                for_names = ens.answers_for_names(self._asked_for_names(chain, place))
            _note_node(chain.id, place, head, furthest, for_names=for_names)
        NodeRecord.objects.filter(chain=chain.id, place__gt=len(places)).delete()
        self._note_chain(chain, furthest)
        if is_source:
            self._measure(chain, heads)

    def _head(self, chain: Chain, place: int) -> ChainHead | ChainError:
        try:
            return self._node(chain, place).head()
        except ChainError as fault:
            return fault

    def _note_chain(self, chain: Chain, head: ChainHead | None) -> None:
        row = ChainRecord.objects.filter(chain=chain.id)
        if head is not None:
            row.update(needed_window=self._needed(chain, head))
        if self.signer is not None and any(to == chain.id for _, to in self.routes.registries):
            try:
                balance = self._destination(chain).balance(self.signer.address)
            except ChainError as fault:
                log.warning("%s", fault)
            else:
                row.update(signer=self.signer.address, balance=f"{balance:064x}")

    def _needed(self, chain: Chain, head: ChainHead) -> int | None:
        """By the routes of this source: a chain proves to itself what is not final yet."""
        kinds = {each.kind for each in self.routes.registries.values() if each.source == chain.id}
        if not kinds:
            return None
        return (
            (chain.finality or 0)
            if kinds == {RegistryKind.NATIVE}
            else (head.number - head.final_number)
        )

    def _measure(self, chain: Chain, heads: dict[int, ChainHead | ChainError]) -> None:
        """Seldom: it takes some thirty questions to each node."""
        rows = NodeRecord.objects.filter(chain=chain.id)
        lately = rows.filter(measured__gt=shared_now() - MEASURES_EVERY)
        known = set(lately.values_list("place", flat=True))
        for place, head in heads.items():
            if place in known or not isinstance(head, ChainHead) or self.stopped():
                continue
            until = time.monotonic() + MEASURES_FOR
            proven, _ = proof_window(self._node(chain, place), head, most=FURTHEST, until=until)
            rows.filter(place=place).update(proof_window=proven, measured=shared_now())

    def _node(self, chain: Chain, place: int) -> SourceChain:
        if (chain.id, place) not in self._nodes:
            alone = replace(chain, nodes=(chain.nodes[place - 1],))
            nodes = Nodes(alone, timeout=TIMEOUT, patience=0, first=place)
            self._nodes[chain.id, place] = SourceChain(alone, nodes=nodes)
        return self._nodes[chain.id, place]

    def _asked_for_names(self, chain: Chain, place: int) -> Nodes:
        """It has as long for an answer as where a batch names accounts."""
        if (chain.id, place) not in self._for_names:
            alone = replace(chain, nodes=(chain.nodes[place - 1],))
            nodes = Nodes(alone, timeout=ens.TIMEOUT, patience=0, first=place)
            self._for_names[chain.id, place] = nodes
        return self._for_names[chain.id, place]

    def _destination(self, chain: Chain) -> Destination:
        if chain.id not in self._destinations:
            nodes = Nodes(chain, timeout=TIMEOUT, patience=0)
            self._destinations[chain.id] = Destination(chain, nodes=nodes)
        return self._destinations[chain.id]

    def close(self) -> None:
        held: Iterable[SourceChain | Nodes | Destination] = (
            *self._nodes.values(),
            *self._for_names.values(),
            *self._destinations.values(),
        )
        for each in held:
            each.close()


def _claim(chain_id: int) -> bool:
    """Whether it is ours to look now. Asked first, and written only where it is due."""
    now = shared_now()
    known = ChainRecord.objects.filter(chain=chain_id)
    looked_at: datetime | None = known.values_list("looked_at", flat=True).first()
    if looked_at is None:
        _, ours = ChainRecord.objects.get_or_create(chain=chain_id, defaults={"looked_at": now})
        return ours
    if looked_at > now - LOOKS_EVERY:
        return False
    return bool(known.filter(looked_at=looked_at).update(looked_at=now))


def _note_node(
    chain_id: int,
    place: int,
    head: ChainHead | ChainError,
    furthest: ChainHead | None,
    *,
    for_names: bool | None,
) -> None:
    number = None if isinstance(head, ChainError) else head.number
    NodeRecord.objects.update_or_create(
        chain=chain_id,
        place=place,
        defaults={
            "recorded": shared_now(),
            "fault": head.code if isinstance(head, ChainError) else "",
            "number": number,
            "answers_for_names": for_names,
            "lag": None if number is None or not furthest else furthest.number - number,
        },
    )
