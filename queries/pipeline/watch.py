"""Polls each node's head and checks transactions whose blocks became final; at longer intervals,
what changes seldom: finality, ENS, funds and how far back a node proves.

It records them for submissions, pages and `/metrics`. All provers on one database share the polls.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

from django.db.models import Q, Value
from django.db.models.functions import Coalesce

from queries.chain import ens
from queries.chain.deploy import HISTORY_WINDOW
from queries.chain.errors import ChainError, NodesLimited, NodesUnreachable
from queries.chain.setup_check import proof_window
from queries.chain.source import ChainHead
from queries.models import ChainRecord, NodeRecord
from queries.pipeline.chains import Chains, record_head
from queries.pipeline.queue import shared_now
from queries.registries import RegistryKind
from queries.routes import Chain

log = logging.getLogger("tacitus.prover")


class Watch:
    """For one thread, whose `chains` it polls."""

    def __init__(self, chains: Chains, stopped: Callable[[], bool] = lambda: False) -> None:
        self._chains, self._routes, self._stopped = chains, chains.routes, stopped
        self._poll_interval = timedelta(seconds=chains.limits.poll_interval)
        self._check_interval = timedelta(seconds=chains.limits.check_interval)

    def once(self) -> None:
        """Poll the chains that are due."""
        for chain_id in sorted({each for route in self._routes.registries for each in route}):
            if not self._stopped() and self._claim(chain_id):
                self._poll(self._routes.chains[chain_id])
                self._check_final(chain_id)

    def _claim(self, chain_id: int) -> bool:
        now = shared_now()
        ChainRecord.objects.get_or_create(chain=chain_id)
        is_due = Q(looked_at=None) | Q(looked_at__lte=now - self._poll_interval)
        due = ChainRecord.objects.filter(is_due, chain=chain_id)
        # The first check comes with the second poll, because a new prover works first.
        first = now - self._check_interval + self._poll_interval
        return due.exists() and bool(
            due.update(looked_at=now, checked=Coalesce("checked", Value(first)))
        )

    def _claim_check(self, chain_id: int) -> bool:
        now = shared_now()
        due = ChainRecord.objects.filter(chain=chain_id, checked__lte=now - self._check_interval)
        return bool(due.update(checked=now))

    def _poll(self, chain: Chain) -> None:
        is_check = self._claim_check(chain.id)
        is_source = any(source == chain.id for source, _ in self._routes.registries)
        known = ChainRecord.objects.filter(chain=chain.id, recorded__isnull=False).first()
        known_final = known.final_number if known and not is_check else None
        places = range(1, len(chain.nodes) + 1)
        heads = {place: self._head(chain, place, known_final) for place in places}
        answered = {place: head for place, head in heads.items() if isinstance(head, ChainHead)}
        furthest = max(answered.values(), key=lambda head: head.number, default=None)
        for place, head in heads.items():
            _note_node(chain.id, place, head, furthest)
        NodeRecord.objects.filter(chain=chain.id, place__gt=len(places)).delete()
        if furthest and is_source:
            record_head(chain.id, furthest)
        if is_check:
            self._check_balance(chain)
        if is_check and furthest and is_source:
            needed = self._needed_window(chain, furthest)
            ChainRecord.objects.filter(chain=chain.id).update(needed_window=needed)
            for place, head in answered.items():
                if not self._stopped():
                    self._check_node(chain, place, head)

    def _head(self, chain: Chain, place: int, known_final: int | None) -> ChainHead | ChainError:
        try:
            return self._chains.destination(chain.id).of_node(place).head(known_final)
        except ChainError as fault:
            return fault

    def _check_final(self, chain_id: int) -> None:
        """Find transactions that a reorg undid after they were settled."""
        if self._chains.signer is None or all(to != chain_id for _, to in self._routes.registries):
            return
        try:
            self._chains.lane(chain_id).check_final()
        except ChainError as fault:
            log.warning("%s", fault)

    def _check_balance(self, chain: Chain) -> None:
        signer = self._chains.signer
        if signer is None or all(to != chain.id for _, to in self._routes.registries):
            return
        try:
            balance = self._chains.destination(chain.id).balance(signer.address)
        except ChainError as fault:
            log.warning("%s", fault)
            return
        record = ChainRecord.objects.filter(chain=chain.id)
        record.update(signer=signer.address, balance=f"{balance:064x}")

    def _needed_window(self, chain: Chain, head: ChainHead) -> int:
        """How many blocks back the routes of this source need proofs."""
        kinds = {each.kind for each in self._routes.registries.values() if each.source == chain.id}
        if kinds == {RegistryKind.NATIVE}:
            return chain.native_finality
        return head.number - head.final_number

    def _check_node(self, chain: Chain, place: int, head: ChainHead) -> None:
        """Whether the node answers for ENS names, and how far back it proves.

        The latter takes about thirty requests, so it is seldom measured; and stored only if the
        node answered all of them.
        """
        source = self._chains.destination(chain.id).of_node(place)
        row = NodeRecord.objects.filter(chain=chain.id, place=place)
        if chain.ens_registry:
            row.update(answers_for_names=ens.answers_for_names(source))
        now = shared_now()
        if row.filter(measured__gt=now - timedelta(seconds=chain.limits.chain_id_age)).exists():
            return
        try:
            proven = proof_window(source, head, most=HISTORY_WINDOW)
        except (NodesUnreachable, NodesLimited) as fault:
            log.warning("%s", fault)
            return
        except ChainError:
            proven = -1
        row.update(proof_window=proven, measured=now)


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
