"""Poll all nodes' heads, check transactions until they are final, and store the results.

At longer intervals, check finality, ENS, funds, and how far back a node proves. Provers on one
database share the polls.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from queries.chain import ens
from queries.chain.errors import ChainError, NodesUnreachableError, NoQuorumError, RateLimitedError
from queries.chain.proof_window import proof_window
from queries.chain.reader import ChainHead, SourceChain
from queries.chain.registry_checks import HISTORY_WINDOW
from queries.config.registries import RegistryKind
from queries.config.routes import Chain
from queries.database.clock import shared_now
from queries.models import ChainRecord, NodeRecord
from queries.prover.context import ProverContext, record_head
from queries.transactions.destination_reorgs import finalize_or_reopen, reopen_undone
from queries.transactions.lane import Lane

log = logging.getLogger("tacitus.prover")


class Watch:
    """Polls the chains of the routes, for one thread."""

    def __init__(
        self, context: ProverContext, is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._context, self._is_stopped = context, is_stopped
        self._is_new = True
        registries = context.routes.registries
        self._sources = {source for source, _ in registries}
        self._destinations = {destination for _, destination in registries}

    def poll_once(self) -> None:
        """Poll the chains that are due."""
        if self._is_new and self._sources:  # the routes file may name other nodes now
            NodeRecord.objects.update(measured_at=None)
            self._is_new = False
        for chain_id in sorted(self._sources | self._destinations):
            record = None if self._is_stopped() else self._claim(chain_id)
            if record:
                is_full_check = record.checked_at == record.polled_at
                self._poll(self._context.chain(chain_id), record, is_full_check=is_full_check)
                if self._context.signer and chain_id in self._destinations:
                    self._check_transactions(
                        self._context.lane(chain_id), is_full_check=is_full_check
                    )

    def _claim(self, chain_id: int) -> ChainRecord | None:
        """Claim a poll that is due; a full check is due too if `checked_at` equals `polled_at`."""
        now, limits = shared_now(), self._context.limits
        poll = timedelta(seconds=limits.poll_interval)
        check = timedelta(seconds=limits.check_interval)
        record, _ = ChainRecord.objects.get_or_create(chain=chain_id)
        last_poll = record.polled_at
        if last_poll and now < last_poll + poll:
            return None
        # The first check comes with the second poll, because a new prover works first.
        last_check = record.checked_at or now - check + poll
        record.polled_at, record.checked_at = now, now if now >= last_check + check else last_check
        rows = ChainRecord.objects.filter(chain=chain_id, polled_at=last_poll)
        return record if rows.update(polled_at=now, checked_at=record.checked_at) else None

    def _poll(self, chain: Chain, record: ChainRecord, *, is_full_check: bool) -> None:
        known_final = record.final_number if record.recorded_at and not is_full_check else None
        pool = self._context.destination(chain.id)
        nodes = {number: pool.node_view(number) for number, _ in enumerate(chain.nodes, 1)}
        heads = {number: _read_head(node, known_final) for number, node in nodes.items()}
        known_heads = {n: head for n, head in heads.items() if isinstance(head, ChainHead)}
        best_head = max(known_heads.values(), key=lambda head: head.number, default=None)
        for number, head in heads.items():
            _store_node(chain.id, number, head, best_head)
        NodeRecord.objects.filter(chain=chain.id, position__gt=len(nodes)).delete()
        if best_head is None:
            return
        record_head(chain.id, best_head)
        if is_full_check and chain.id in self._sources:
            window = self._needed_window(chain, best_head)
            ChainRecord.objects.filter(chain=chain.id).update(needed_window=window)
            for number, head in known_heads.items():
                if not self._is_stopped():
                    _check_node(nodes[number], number, head)

    def _check_transactions(self, lane: Lane, *, is_full_check: bool) -> None:
        """Reopen transactions that a reorg undid, and store the signer's funds."""
        chain_id, signer = lane.chain_id, lane.signer.address
        try:
            if is_full_check:
                balance = f"{lane.destination.balance(signer):064x}"
                record = ChainRecord.objects.filter(chain=chain_id)
                record.update(signer=signer, balance=balance)
                record.update(state_horizons=self._state_horizons(chain_id))
            with suppress(NoQuorumError):  # then check those that are final
                reopen_undone(lane)
            finalize_or_reopen(lane)
        except ChainError as error:
            name = lane.destination.chain.name
            log.warning("Checking transactions on %s failed: %s", name, error)

    def _state_horizons(self, chain_id: int) -> dict[str, int]:
        return {
            registry.address: self._context.facts(registry).state_horizon()
            for registry in self._context.routes.registries.values()
            if registry.destination == chain_id
        }

    def _needed_window(self, chain: Chain, head: ChainHead) -> int:
        """How many blocks back the routes of this source need proofs."""
        registries = self._context.routes.registries.values()
        kinds = {registry.kind for registry in registries if registry.source == chain.id}
        finality = chain.finality_for(chain.id) if kinds == {RegistryKind.NATIVE} else None
        return head.number - head.final_number if finality is None else finality


def _read_head(node: SourceChain, known_final: int | None) -> ChainHead | ChainError:
    try:
        return node.head(known_final)
    except ChainError as error:
        return error


def _check_node(node: SourceChain, number: int, head: ChainHead) -> None:
    """Store whether the node resolves ENS names, and once per `node_check_interval` how far back it
    proves: that takes dozens of requests, and is stored only if the node answered all of them.
    """
    chain, now = node.chain, shared_now()
    row = NodeRecord.objects.filter(chain=chain.id, position=number)
    if chain.ens_registry:
        row.update(can_resolve_names=ens.can_resolve_names(node))
    if row.filter(
        measured_at__gt=now - timedelta(seconds=chain.limits.node_check_interval)
    ).exists():
        return
    try:
        window = proof_window(node, head, max_distance=HISTORY_WINDOW)
    except (NodesUnreachableError, RateLimitedError) as error:
        log.warning(
            "Measuring the proof window of node %s of %s failed: %s.",
            number,
            chain.name,
            error.code,
        )
        return
    except ChainError:
        window = -1
    row.update(proof_window=window, measured_at=now)


def _store_node(
    chain_id: int, number: int, head: ChainHead | ChainError, best_head: ChainHead | None
) -> None:
    columns: dict[str, object] = {"recorded_at": shared_now()}
    if isinstance(head, ChainError):
        columns |= {"fault": head.code, "number": None, "lag": None, "can_resolve_names": None}
        if not isinstance(head, RateLimitedError):
            columns["measured_at"] = None  # another node may come back at its address
    else:
        lag = best_head.number - head.number if best_head else None
        columns |= {"fault": "", "number": head.number, "lag": lag}
    NodeRecord.objects.update_or_create(chain=chain_id, position=number, defaults=columns)
