"""Polls each node's head and checks settled transactions until they are final; at longer intervals,
what changes seldom: finality, ENS, funds and how far back a node proves.

It records them for submissions, pages and `/metrics`. All provers on one database share the polls.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from queries.chain import ens
from queries.chain.errors import ChainError, NodesLimited, NodesUnreachable, NoQuorum
from queries.chain.proof_window import proof_window
from queries.chain.reader import ChainHead, SourceChain
from queries.chain.registry_checks import HISTORY_WINDOW
from queries.config.registries import RegistryKind
from queries.config.routes import Chain
from queries.database.clock import shared_now
from queries.models import ChainRecord, NodeRecord
from queries.prover.context import Chains, record_head
from queries.transactions.lane import Lane

log = logging.getLogger("tacitus.prover")


class Watch:
    """For one thread, whose `chains` it polls."""

    def __init__(self, chains: Chains, stopped: Callable[[], bool] = lambda: False) -> None:
        self._chains, self._stopped = chains, stopped
        self._is_new = True
        registries = chains.routes.registries
        self._sources = {source for source, _ in registries}
        self._destinations = {destination for _, destination in registries}

    def once(self) -> None:
        """Poll the chains that are due."""
        if self._is_new and self._sources:  # the routes file may name other nodes by now
            NodeRecord.objects.update(measured=None)
            self._is_new = False
        for chain_id in sorted(self._sources | self._destinations):
            record = None if self._stopped() else self._claim(chain_id)
            if record:
                is_check = record.checked == record.looked_at
                self._poll(self._chains.chain(chain_id), record, is_check=is_check)
                if self._chains.signer and chain_id in self._destinations:
                    self._check_sent(self._chains.lane(chain_id), is_check=is_check)

    def _claim(self, chain_id: int) -> ChainRecord | None:
        """Claim a poll that is due; a check is due as well if `checked` equals `looked_at`."""
        now, limits = shared_now(), self._chains.limits
        poll = timedelta(seconds=limits.poll_interval)
        check = timedelta(seconds=limits.check_interval)
        record, _ = ChainRecord.objects.get_or_create(chain=chain_id)
        before = record.looked_at
        if before and now < before + poll:
            return None
        # The first check comes with the second poll, because a new prover works first.
        last = record.checked or now - check + poll
        record.looked_at, record.checked = now, now if now >= last + check else last
        unclaimed = ChainRecord.objects.filter(chain=chain_id, looked_at=before)
        return record if unclaimed.update(looked_at=now, checked=record.checked) else None

    def _poll(self, chain: Chain, record: ChainRecord, *, is_check: bool) -> None:
        known_final = record.final_number if record.recorded and not is_check else None
        pool = self._chains.destination(chain.id)
        nodes = {place: pool.of_node(place) for place, _ in enumerate(chain.nodes, 1)}
        heads = {place: _head(node, known_final) for place, node in nodes.items()}
        answered = {place: head for place, head in heads.items() if isinstance(head, ChainHead)}
        furthest = max(answered.values(), key=lambda head: head.number, default=None)
        for place, head in heads.items():
            _note_node(chain.id, place, head, furthest)
        NodeRecord.objects.filter(chain=chain.id, place__gt=len(nodes)).delete()
        if furthest is None:
            return
        record_head(chain.id, furthest)
        if is_check and chain.id in self._sources:
            needed = self._needed_window(chain, furthest)
            ChainRecord.objects.filter(chain=chain.id).update(needed_window=needed)
            for place, head in answered.items():
                if not self._stopped():
                    _check_node(nodes[place], place, head)

    def _check_sent(self, lane: Lane, *, is_check: bool) -> None:
        """Find transactions that a reorg undid after they were settled; note the signer's funds."""
        chain_id, signer = lane.chain_id, lane.signer.address
        try:
            if is_check:
                balance = f"{lane.destination.balance(signer):064x}"
                record = ChainRecord.objects.filter(chain=chain_id)
                record.update(signer=signer, balance=balance)
                record.update(state_horizons=self._state_horizons(chain_id))
            with suppress(NoQuorum):  # the others are checked nevertheless
                lane.check_settled()
            lane.check_final()
        except ChainError as fault:
            log.warning("%s", fault)

    def _state_horizons(self, chain_id: int) -> dict[str, int]:
        routes = self._chains.routes.registries.values()
        here = [each for each in routes if each.destination == chain_id]
        return {each.address: self._chains.facts(each).state_horizon() for each in here}

    def _needed_window(self, chain: Chain, head: ChainHead) -> int:
        """How many blocks back the routes of this source need proofs."""
        registries = self._chains.routes.registries.values()
        if {each.kind for each in registries if each.source == chain.id} == {RegistryKind.NATIVE}:
            return chain.native_finality
        return head.number - head.final_number


def _head(node: SourceChain, known_final: int | None) -> ChainHead | ChainError:
    try:
        return node.head(known_final)
    except ChainError as fault:
        return fault


def _check_node(node: SourceChain, place: int, head: ChainHead) -> None:
    """Whether the node answers for ENS names, and how far back it proves.

    The latter takes some dozens of requests, so it is seldom measured; and stored only if the node
    answered all of them.
    """
    chain, now = node.chain, shared_now()
    row = NodeRecord.objects.filter(chain=chain.id, place=place)
    if chain.ens_registry:
        row.update(answers_for_names=ens.answers_for_names(node))
    if row.filter(measured__gt=now - timedelta(seconds=chain.limits.chain_id_age)).exists():
        return
    try:
        proven = proof_window(node, head, most=HISTORY_WINDOW)
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
        if not isinstance(head, NodesLimited):
            known["measured"] = None  # another node may come back in its place
    else:
        lag = furthest.number - head.number if furthest else None
        known |= {"fault": "", "number": head.number, "lag": lag}
    NodeRecord.objects.update_or_create(chain=chain_id, place=place, defaults=known)
