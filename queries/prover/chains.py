"""Poll chains: read all nodes' heads, follow light clients, check transactions until they are
final, insert the runs of feeds that are due, and store the results.

At longer intervals, check finality, ENS, funds, and how far back a node proves.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from django.db.models import QuerySet

from queries.chain import (
    BlockUnknownError,
    ChainClient,
    ChainError,
    ChainHead,
    NodesUnreachableError,
    NoQuorumError,
    RateLimitedError,
    StateNotAvailableError,
    advance_light_client,
    begin_light_client,
    can_resolve_names,
    first_block_distance,
    measure_gas_rules,
    measure_proof_window,
)
from queries.config.chains import Chain
from queries.database.chain_records import record_head, record_node
from queries.database.clock import shared_now
from queries.database.handler import Handler, Wait, WorkContext
from queries.database.leases import Lease, claim_one
from queries.database.light_clients import light_client_row, store_fault, store_state, stored_state
from queries.feeds.follow import follow_source
from queries.feeds.logs import are_logs_awaited
from queries.models import ChainRecord, LightClient, NodeRecord, SentTransaction
from queries.proving import EMPTY_TRIE_ROOT, HISTORY_RING
from queries.sources import Routes
from queries.transactions.context import ProverContext
from queries.transactions.destination_reorgs import finalize_or_reopen, reopen_undone_rows
from queries.transactions.follow import follow
from queries.transactions.lane import Lane

log = logging.getLogger("tacitus.prover")

MIN_POLL_PAUSE = timedelta(seconds=1)  # if a block is expected that a feed waits for
MIN_DISTANCE = 256  # between blocks whose times are stored


class ChainHandler(Handler[ChainRecord, ProverContext]):
    """Polls the chains of the routes."""

    model = ChainRecord

    def rows(self, context: WorkContext) -> QuerySet[ChainRecord]:
        return ChainRecord.objects.filter(chain__in=_polled_chains(context.routes))

    def claim(self, context: WorkContext) -> Lease[ChainRecord] | None:
        """For two requests, because nobody notices reorgs while a killed prover has the lease."""
        return claim_one(self.rows(context), seconds=2 * context.limits.request_timeout)

    def prepare(self, routes: Routes) -> None:
        now, chains = shared_now(), _polled_chains(routes)
        rows = [ChainRecord(chain=chain, due_at=now) for chain in chains]
        ChainRecord.objects.bulk_create(rows, ignore_conflicts=True)
        ChainRecord.objects.filter(chain__in=chains, due_at=None).update(due_at=now)

    def work(self, lease: Lease[ChainRecord], context: ProverContext) -> Wait:
        return _Poll(lease, context).run()


def _polled_chains(routes: Routes) -> set[int]:
    return {chain for route in routes.registries for chain in route}


class _Poll:
    """One poll of a chain."""

    def __init__(self, lease: Lease[ChainRecord], context: ProverContext) -> None:
        self._lease, self._context, self._record = lease, context, lease.row
        self._chain = context.chain(lease.row.chain)
        registries = context.routes.registries
        self._is_source = any(source == self._chain.id for source, _ in registries)
        self._is_destination = any(destination == self._chain.id for _, destination in registries)

    def run(self) -> Wait:
        now, limits, chain = shared_now(), self._context.limits, self._chain
        interval = timedelta(seconds=limits.check_interval)
        # The first full check comes with the second poll, because a new prover works first.
        last_check = self._record.checked_at or now - interval + timedelta(
            seconds=limits.poll_interval
        )
        is_full_check = now >= last_check + interval
        self._lease.owned_rows().update(
            polled_at=now, checked_at=now if is_full_check else last_check
        )
        self._read_heads(is_full_check=is_full_check)
        pause = timedelta(seconds=limits.poll_interval)
        if self._is_source:
            self._lease.extend()
            expected = follow_source(self._context.client(chain.id))
            pause = min(pause, max(expected or pause, MIN_POLL_PAUSE))
        if self._is_destination:
            self._lease.extend()
            lane = self._context.lane(chain.id)
            self._check_transactions(lane, is_full_check=is_full_check)
            self._lease.extend()
            _follow_others(lane)
        return Wait(delay=max(now + pause - shared_now(), timedelta(0)))

    def _read_heads(self, *, is_full_check: bool) -> None:
        """Store the chain's head and the state of its nodes."""
        chain, record = self._chain, self._record
        if chain.beacon:
            self._follow_light_client(chain)
        elif is_full_check:  # it may have had beacon nodes
            LightClient.objects.filter(chain=chain.id).delete()
        asks_final = is_full_check or not record.recorded_at or are_logs_awaited(chain.id)
        known_final = None if asks_final else record.final_number
        pool = self._context.client(chain.id)
        nodes = dict(enumerate(map(pool.view, pool.nodes), 1))
        heads = {number: self._try_head(node, known_final) for number, node in nodes.items()}
        known_heads = {n: head for n, head in heads.items() if isinstance(head, ChainHead)}
        best_head = max(known_heads.values(), key=lambda head: head.number, default=None)
        for number, head in heads.items():
            record_node(chain.id, number, head, best_head)
        NodeRecord.objects.filter(chain=chain.id, position__gt=len(nodes)).delete()
        if chain_head := self._agreed_head(known_heads.values(), pool):
            self._store_head(chain_head, pool, is_full_check=is_full_check)
            if self._is_destination:
                self._measure_gas(pool)
        if is_full_check and self._is_source:
            for number, head in known_heads.items():
                if not self._context.is_stopped():
                    self._lease.extend()
                    _check_node(nodes[number], number, head)

    def _agreed_head(self, heads: Collection[ChainHead], pool: ChainClient) -> ChainHead | None:
        """The newest head that another node has reached or is close to, so that one node that makes
        up a head misleads no feed. Without such a pair, the newest one, if it is the first that is
        stored, or the other nodes have failed for `quorum_wait`.
        """
        newest_first = sorted(heads, key=lambda head: (head.number, head.timestamp), reverse=True)
        finals = sorted(filter(None, (head.final_number for head in heads)), reverse=True)
        for head, next_head in pairwise(newest_first):
            lag = abs(head.timestamp - next_head.timestamp)
            if lag <= pool.chain.limits.max_lag or head.number - next_head.number == 1:
                final = finals[:2][-1] if finals else 0  # some may not have finalized anything yet
                return replace(next_head, final_number=min(final, next_head.number))

        def reach(node: ChainClient, /, *, number: int) -> bool:
            if node.latest_head().number < number:
                raise BlockUnknownError.create(node.chain.name)
            return True

        for head in newest_first[:1]:
            if len(pool.nodes) == 1 or not self._record.recorded_at:
                return head
            with suppress(ChainError):
                if pool.ask_quorum(reach, number=head.number):
                    return head
        return None

    def _store_head(self, head: ChainHead, pool: ChainClient, *, is_full_check: bool) -> None:
        chain, record = self._chain, self._record
        record_head(chain.id, head)
        columns: dict[str, Any] = {}
        if (seconds := _average_block_seconds(record, head)) != record.block_seconds:
            columns["block_seconds"] = seconds
        if is_full_check and self._is_source:
            _store_block_times(pool, record, head.final_number)
            if not head.finality_fault:  # otherwise the next final block is closer
                columns["needed_window"] = self._needed_window(chain, head)
        if columns:
            ChainRecord.objects.filter(chain=chain.id).update(**columns)

    def _measure_gas(self, pool: ChainClient) -> None:
        """Store what gas pays for, once per `node_check_interval`, because forks change it.

        Not stored if no node answered, so the next poll measures it.
        """
        record, chain, now = self._record, self._chain, shared_now()
        interval = timedelta(seconds=self._context.limits.node_check_interval)
        is_current = record.gas_measured_at and now < record.gas_measured_at + interval
        if is_current or (chain.new_slot_gas and chain.floor_byte_gas):
            return
        columns: dict[str, Any] = {"gas_measured_at": now}
        self._lease.extend()
        try:
            rules = measure_gas_rules(pool)
        except (NodesUnreachableError, RateLimitedError):
            return
        except ChainError as error:
            log.warning("Measuring gas on %s failed: %s.", chain.name, error.code)
        else:
            columns |= {"new_slot_gas": rules.new_slot, "floor_byte_gas": rules.floor_byte}
            known = (record.new_slot_gas, record.floor_byte_gas)
            if known != (rules.new_slot, rules.floor_byte):
                log.info("Gas on %s: %s.", chain.name, rules.sentence)
        ChainRecord.objects.filter(chain=chain.id).update(**columns)

    def _try_head(self, node: ChainClient, known_final: int | None) -> ChainHead | ChainError:
        self._lease.extend()
        try:
            return node.head(known_final)
        except ChainError as error:
            return error

    def _follow_light_client(self, chain: Chain) -> None:
        """Store the newest block that the chain's sync committees show to be final."""
        row, nodes = light_client_row(chain), self._context.beacon_nodes(chain.id)
        try:
            state = stored_state(row, chain) or begin_light_client(nodes)
            store_state(row, advance_light_client(state, nodes, self._context.client(chain.id)))
        except ChainError as error:
            store_fault(row, error.sentence)
            if row.fault != error.sentence:
                log.warning("Following the light client of %s failed: %s", chain.name, error)

    def _check_transactions(self, lane: Lane, *, is_full_check: bool) -> None:
        """Reopen transactions that a reorg undid, and store the signer's funds."""
        chain_id, signer = lane.chain_id, lane.signer.address
        try:
            record = ChainRecord.objects.filter(chain=chain_id)
            if is_full_check or not record.filter(signer=signer).exists():  # another key
                balance = f"{lane.destination.balance(signer):064x}"
                record.update(signer=signer, balance=balance)
                record.update(state_horizons=self._state_horizons(chain_id))
            with suppress(NoQuorumError):  # then check those that are final
                reopen_undone_rows(lane)
            finalize_or_reopen(lane)
        except ChainError as error:
            name = lane.destination.chain.name
            log.warning("Checking transactions on %s failed: %s", name, error)

    def _state_horizons(self, chain_id: int) -> dict[str, int]:
        return {
            registry.address: self._context.registry_reader(registry).state_horizon()
            for registry in self._context.routes.registries.values()
            if registry.destination == chain_id
        }

    def _needed_window(self, chain: Chain, head: ChainHead) -> int:
        """The number of blocks back for which the routes of this source need proofs."""
        registries = self._context.routes.registries.values()
        routes = [registry for registry in registries if registry.source == chain.id]
        is_own = all(registry.is_of_own_past for registry in routes) and bool(routes)
        finality = chain.finality_for(chain.id) if is_own else None
        return head.number - head.final_number if finality is None else finality


def _follow_others(lane: Lane) -> None:
    """Follow what no job and no delivery follows: updates of beacon registries, cancelled ones,
    those of a former signer and what fills a gap, because later nonces wait for them.
    """
    rows = SentTransaction.objects.filter(chain=lane.chain_id, confirmed=False)
    others = rows.filter(jobs=None, deliveries=None).order_by("nonce")
    if others.exists():
        follow(lane, others, lane.destination.latest_head().number)


def _store_block_times(client: ChainClient, record: ChainRecord, final: int) -> None:
    """Store the times of 64 to 128 final blocks at equal distances, and of a new one, from which
    pages estimate the others: the time between blocks may have changed. Also store whether block 0
    has accounts.

    Asks only for times that are not stored, and only if the new one is missing.
    """
    distance = max(1 << max(final.bit_length() - 7, 0), MIN_DISTANCE)
    newest = final - final % min(distance, HISTORY_RING + 1)
    times: dict[int, int] = dict(record.block_times)
    if newest in times:
        return
    # Some chains give their block 0 the time 0, so block 1 says when they began.
    old = {0, min(1, final), *range(distance, newest, distance)}
    has_accounts = record.genesis_has_accounts
    try:
        with suppress(BlockUnknownError, StateNotAvailableError):  # dropped (EIP-4444)
            for number in sorted(old - times.keys(), reverse=True):
                header = client.header(number)
                times[number] = header.timestamp
                if number == 0:
                    has_accounts = header.state_root != EMPTY_TRIE_ROOT
        times[newest] = client.header(newest).timestamp
    except ChainError as error:
        log.warning("Reading old times of %s failed: %s.", client.chain.name, error.code)
    block_times = [(number, times[number]) for number in sorted({*old, newest} & times.keys())]
    ChainRecord.objects.filter(chain=client.chain.id).update(
        block_times=block_times, genesis_has_accounts=has_accounts
    )


def _average_block_seconds(record: ChainRecord, head: ChainHead) -> float | None:
    """The average time between blocks, in which each poll counts for a tenth."""
    blocks, average = head.number - record.number, record.block_seconds
    if not record.recorded_at or blocks <= 0:
        return average
    seconds = (head.timestamp - record.timestamp) / blocks
    return seconds if average is None else 0.9 * average + 0.1 * seconds


def _check_node(node: ChainClient, position: int, head: ChainHead) -> None:
    """Store whether the node resolves ENS names, and how far back it proves.

    The latter takes up to dozens of requests. It is measured once per `node_check_interval`, and
    again when the node's program or chain changes or the chain has doubled in length. It is stored
    only if the node answered all requests.
    """
    chain, now = node.chain, shared_now()
    row = NodeRecord.objects.filter(chain=chain.id, position=position)
    if chain.ens_registry:
        row.update(can_resolve_names=can_resolve_names(node))
    client = _client_name(node)
    is_current = row.filter(
        measured_at__gt=now - timedelta(seconds=chain.limits.node_check_interval),
        measured_number__range=((head.number + 1) // 2, head.number),
        client=client,
    )
    if is_current.exists():
        return
    try:
        window = _measure_window(node, head)
    except (NodesUnreachableError, RateLimitedError) as error:
        log.warning(
            "Measuring the proof window of node %s of %s failed: %s.",
            position,
            chain.name,
            error.code,
        )
        return
    row.update(proof_window=window, measured_at=now, measured_number=head.number, client=client)


def _client_name(node: ChainClient) -> str:
    """The name of the node's program; empty if the node does not report it."""

    def read_name(version: object) -> str:
        return version.partition("/")[0][:60] if isinstance(version, str) else ""

    try:
        return node.fetch("web3_clientVersion", (), read_name)
    except ChainError:
        return ""


def _measure_window(node: ChainClient, head: ChainHead) -> int:
    """The number of blocks back for which the node proves accounts: its `proof_window`."""
    limit = min(first_block_distance(head), HISTORY_RING)
    for first in (limit, 0):  # most nodes prove either all of these blocks or few
        try:
            window = measure_proof_window(node, head, first=first, max_distance=limit)
        except (NodesUnreachableError, RateLimitedError):
            raise
        except ChainError:
            continue
        return HISTORY_RING if window == limit else window
    return -1
