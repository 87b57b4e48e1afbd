"""Polls each node's head, and at longer intervals what changes seldom: finality, ENS, funds and how
far back a node proves.

It records them for submissions, pages and `/metrics`. All provers on one database share the polls.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q

from queries.chain import ens
from queries.chain.errors import ChainError
from queries.chain.node_pool import NodePool
from queries.chain.sender import Destination
from queries.chain.setup_check import proof_window
from queries.chain.signer import Signer
from queries.chain.source import ChainHead, SourceChain
from queries.models import ChainRecord, Head, NodeRecord
from queries.pipeline.chains import record_head
from queries.pipeline.clock import shared_now
from queries.routes import Chain, RegistryKind, Routes

log = logging.getLogger("tacitus.prover")

HISTORY_BLOCKS = 8_192  # a chain knows its own hashes this far back (EIP-2935)
WINDOW_AGE = timedelta(hours=6)  # a measured proof window is kept for so long


@dataclass
class Watch:
    """For one thread, which keeps its connections."""

    routes: Routes
    signer: Signer | None
    stopped: Callable[[], bool] = lambda: False
    checks_from: float | None = None  # by the monotonic clock; a new prover works first
    _pools: dict[int, NodePool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.checks_from is None:
            self.checks_from = time.monotonic() + self.routes.limits.poll_interval

    def once(self) -> bool:
        """Poll the chains that are due. Never a reason to come back at once."""
        for chain_id in sorted({each for route in self.routes.registries for each in route}):
            if not self.stopped() and self._claim(chain_id):
                self._poll(self.routes.chains[chain_id])
        return False

    def _claim(self, chain_id: int) -> bool:
        now = shared_now()
        due = Q(looked_at__lte=now - timedelta(seconds=self.routes.limits.poll_interval))
        record = ChainRecord.objects.filter(chain=chain_id)
        if not record.exists():
            return ChainRecord.objects.get_or_create(chain=chain_id, defaults={"looked_at": now})[1]
        return record.filter(due).exists() and bool(record.filter(due).update(looked_at=now))

    def _claim_check(self, chain_id: int) -> bool:
        now = shared_now()
        due = Q(checked__lte=now - timedelta(seconds=self.routes.limits.check_interval))
        record = ChainRecord.objects.filter(Q(checked=None) | due, chain=chain_id)
        is_time = self.checks_from is not None and time.monotonic() >= self.checks_from
        return is_time and bool(record.update(checked=now))

    def _poll(self, chain: Chain) -> None:
        is_check = self._claim_check(chain.id)
        is_source = any(source == chain.id for source, _ in self.routes.registries)
        known = Head.objects.filter(chain=chain.id).first()
        known_final = known.final_number if known and not is_check else None
        places = range(1, len(chain.nodes) + 1)
        heads = {place: self._head(chain, place, known_final) for place in places}
        answered = [head for head in heads.values() if isinstance(head, ChainHead)]
        furthest = max(answered, key=lambda head: head.number, default=None)
        for place, head in heads.items():
            _note_node(chain.id, place, head, furthest)
        NodeRecord.objects.filter(chain=chain.id, place__gt=len(places)).delete()
        if furthest and is_source:
            record_head(chain.id, furthest)
        if is_check:
            self._check(chain, furthest, is_source=is_source)
            if is_source:
                self._check_nodes(chain, heads)

    def _head(self, chain: Chain, place: int, known_final: int | None) -> ChainHead | ChainError:
        try:
            return SourceChain(chain, nodes=self._pool(chain, place)).head(known_final)
        except ChainError as fault:
            return fault

    def _check(self, chain: Chain, head: ChainHead | None, *, is_source: bool) -> None:
        row = ChainRecord.objects.filter(chain=chain.id)
        if head is not None and is_source:
            row.update(needed_window=self._needed_window(chain, head))
        if self.signer is not None and any(to == chain.id for _, to in self.routes.registries):
            try:
                destination = Destination(chain, nodes=self._pool(chain))
                balance = destination.balance(self.signer.address)
            except ChainError as fault:
                log.warning("%s", fault)
            else:
                row.update(signer=self.signer.address, balance=f"{balance:064x}")

    def _needed_window(self, chain: Chain, head: ChainHead) -> int:
        """How many blocks back the routes of this source need proofs."""
        kinds = {each.kind for each in self.routes.registries.values() if each.source == chain.id}
        if kinds == {RegistryKind.NATIVE}:
            return chain.native_finality
        return head.number - head.final_number

    def _check_nodes(self, chain: Chain, heads: dict[int, ChainHead | ChainError]) -> None:
        """Whether each node answers for ENS names, and how far back it proves. The latter takes
        about thirty requests, so it is measured once in `WINDOW_AGE`.
        """
        rows = NodeRecord.objects.filter(chain=chain.id)
        measured = rows.filter(measured__gt=shared_now() - WINDOW_AGE)
        known = set(measured.values_list("place", flat=True))
        for place, head in heads.items():
            if not isinstance(head, ChainHead) or self.stopped():
                continue
            pool, row = self._pool(chain, place), rows.filter(place=place)
            if chain.ens_registry:
                row.update(answers_for_names=ens.answers_for_names(pool))
            if place not in known:
                until = time.monotonic() + chain.limits.request_timeout
                source = SourceChain(chain, nodes=pool)
                proven = proof_window(source, head, most=HISTORY_BLOCKS, until=until)
                row.update(proof_window=proven, measured=shared_now())

    def _pool(self, chain: Chain, place: int = 0) -> NodePool:
        """Of one node; 0 stands for all of them."""
        if chain.id not in self._pools:
            self._pools[chain.id] = NodePool(chain)
        pool = self._pools[chain.id]
        return pool.of_node(place) if place else pool

    def close(self) -> None:
        for each in self._pools.values():
            each.close()


def _note_node(
    chain_id: int, place: int, head: ChainHead | ChainError, furthest: ChainHead | None
) -> None:
    known: dict[str, object] = {"recorded": shared_now()}
    if isinstance(head, ChainError):
        known |= {"fault": head.code, "number": None, "lag": None, "answers_for_names": None}
    else:
        lag = furthest.number - head.number if furthest else None
        known |= {"fault": "", "number": head.number, "lag": lag}
    NodeRecord.objects.update_or_create(chain=chain_id, place=place, defaults=known)
