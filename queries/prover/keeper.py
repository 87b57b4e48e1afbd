"""Keeps beacon registries awake: a registry that learns no sync committee for its `max_age` refuses
all updates from then on. The operator pays, as no batch has asked for it.
"""

import logging
from datetime import timedelta

from queries.chain.beacon_updates import RegistryStoppedError, UpdateCalls, joined_calls
from queries.chain.errors import ChainError
from queries.config.registries import Registry, RegistryKind
from queries.database.clock import shared_now
from queries.planning.calls import ProveCall
from queries.planning.dry_runs import GasEstimate
from queries.prover.context import ProverContext
from queries.proving.beacon import SLOTS_PER_PERIOD
from queries.transactions.budget import DailyBudgetSpentError, price_calls
from queries.transactions.follow import follow

log = logging.getLogger("tacitus.prover")


def keep_awake(context: ProverContext, destination: int, *, is_full_check: bool) -> None:
    """Follow the updates that were sent to this chain's beacon registries, and send those that are
    due: once half of `max_age` has passed since the end of the last period that a registry knows.
    """
    for registry in context.routes.registries.values():
        if registry.kind is not RegistryKind.BEACON or registry.destination != destination:
            continue
        try:
            if not _follow_updates(context, registry) and is_full_check:
                _send_update_if_due(context, registry)
        except RegistryStoppedError as error:
            log.warning("The registry %s: %s", registry.address, error)
        except (ChainError, DailyBudgetSpentError) as error:
            log.warning("An update for the registry %s failed: %s", registry.address, error)


def _follow_updates(context: ProverContext, registry: Registry) -> bool:
    """Whether an update is on its way."""
    lane = context.lane(registry.destination)
    updates = lane.own_rows.filter(to=registry.address, jobs=None, confirmed=False)
    rows = updates.order_by("nonce")
    return rows.exists() and follow(lane, rows, lane.destination.latest_head().number)


def _send_update_if_due(context: ProverContext, registry: Registry) -> None:
    lane, nodes = context.lane(registry.destination), context.beacon_nodes(registry.source)
    destination = lane.destination
    calls = UpdateCalls(registry, destination, nodes)
    update = nodes.finality_update(calls.until)
    period_seconds = SLOTS_PER_PERIOD * registry.seconds_per_slot
    due_after = min(registry.max_age // 2, registry.max_age - 2 * period_seconds)
    if calls.missed_seconds(update) < due_after:
        return
    # A node that denies what was sent must not make us pay again and again.
    recent = shared_now() - timedelta(seconds=registry.max_age / 8)
    if lane.own_rows.filter(to=registry.address, jobs=None, signed_at__gt=recent).exists():
        return
    data = joined_calls(calls.until(update))
    gas = destination.estimate_gas(lane.signer.address, registry.address, data)
    (data_fee,) = destination.data_fees([data])
    estimates = {ProveCall(data): GasEstimate(gas, data_fee)}
    priced_calls = price_calls(destination, destination.latest_head(), estimates, {})
    unconfirmed = lane.own_rows.filter(to=registry.address, jobs=None, confirmed=False)
    lane.sign_and_send([], registry.address, priced_calls, unconfirmed.exists)
