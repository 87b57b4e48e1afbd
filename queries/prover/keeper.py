"""Keeps beacon registries awake: a registry that learns no sync committee for its `max_age` refuses
all updates from then on. The operator pays, as no batch has asked for it, also while the daily
budget is spent: an update waits for `resend_after` after the last one, which bounds the cost.

It stores until when each registry stays awake, and why an update that is due was not sent.
"""

import logging
from datetime import UTC, datetime, timedelta

from django.db.models import F, Q, QuerySet

from accounts.wording import format_duration
from queries.chain.beacon_node import BeaconNodes
from queries.chain.beacon_updates import RegistryStoppedError, UpdateCalls, joined_calls
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError
from queries.config.registries import Registry, RegistryKind
from queries.database.clock import shared_now
from queries.database.registry_records import store_registry_state
from queries.models import SentTransaction
from queries.planning.calls import ProveCall
from queries.planning.dry_runs import GasEstimate
from queries.transactions.budget import price_calls
from queries.transactions.context import ProverContext
from queries.transactions.follow import follow

log = logging.getLogger("tacitus.prover")


def keep_awake(context: ProverContext, destination: int, *, is_full_check: bool) -> None:
    """Follow the updates that were sent to this chain's beacon registries, and send those that are
    due: once half of `max_age` has passed since the end of the last period that a registry knows.
    """
    fault = ""
    try:
        is_pending = _follow_updates(context, destination)
    except ChainError as error:
        is_pending, fault = False, str(error)
    if is_pending or not (is_full_check or fault):
        return
    for registry in context.routes.registries.values():
        if registry.kind is RegistryKind.BEACON and registry.destination == destination:
            _update_if_due(context, registry, fault)


def _follow_updates(context: ProverContext, destination: int) -> bool:
    """Whether an update is on its way. Follows whatever no job and no delivery follows: cancelled
    updates, those of a former signer and what fills a gap, because later nonces wait for them.
    """
    lane = context.lane(destination)
    updates = SentTransaction.objects.filter(chain=destination, confirmed=False)
    rows = updates.filter(jobs=None, deliveries=None).order_by("nonce")
    return rows.exists() and follow(lane, rows, lane.destination.latest_head().number)


def _updates(registry: Registry) -> QuerySet[SentTransaction]:
    """The updates that were sent to keep the registry awake, and cancelled ones."""
    is_update = Q(to=registry.address) | Q(to=F("sender"))  # a cancelled one is an empty transfer
    rows = SentTransaction.objects.filter(is_update, chain=registry.destination)
    return rows.filter(jobs=None, deliveries=None)


def _update_if_due(context: ProverContext, registry: Registry, fault: str) -> None:
    """Store the registry's state. With a fault of its last update, send none."""
    try:
        fault = fault or _send_update_if_due(context, registry)
    except (ChainError, RegistryStoppedError) as error:
        fault = str(error)
    store_registry_state(registry, fault=fault)
    if fault:
        log.warning("Keeping the registry %s awake: %s", registry.address, fault)


def _send_update_if_due(context: ProverContext, registry: Registry) -> str:
    """Store until when the registry stays awake. Return a sentence if an update is due and there is
    a reason not to send it, or if none can help because of a fork.
    """
    lane, nodes = context.lane(registry.destination), context.beacon_nodes(registry.source)
    destination = lane.destination
    calls = UpdateCalls(registry, destination, nodes)
    awake_until = calls.awake_until
    if calls.stops_at <= calls.now:  # pages will say that it has stopped
        awake_until = destination.ask_quorum(_awake_until, registry, nodes=nodes)
    store_registry_state(registry, awake_until=datetime.fromtimestamp(awake_until, UTC))
    calls.check_not_stopped(calls.now)
    if calls.now - calls.known_until < registry.max_age // 2:
        return calls.stops_at_fork.sentence if calls.stops_at_fork else ""
    call = joined_calls(calls.until(nodes.finality_update(calls.until)))
    # A node that denies what was sent must not make us pay again and again.
    recent = shared_now() - timedelta(seconds=registry.resend_after)
    if _updates(registry).filter(signed_at__gt=recent).exists():
        duration = format_duration(registry.resend_after)
        return f"The registry needs another update than that of the last {duration}."
    recorded = context.client(registry.source).header_by_hash(call.block_hash)
    gas = destination.estimate_gas(lane.signer.address, registry.address, call.data)
    (data_fee,) = destination.data_fees([call.data])
    prove_call = ProveCall(call.data, recorded_block=recorded.number)
    estimates = {prove_call: GasEstimate(gas, data_fee)}
    priced_calls = price_calls(destination, destination.latest_head(), estimates, {})
    unconfirmed = _updates(registry).filter(confirmed=False)
    lane.sign_and_send([], registry.address, priced_calls, unconfirmed.exists)
    return ""


def _awake_until(node: ChainClient, registry: Registry, *, nodes: BeaconNodes) -> int:
    return UpdateCalls(registry, node, nodes).awake_until
