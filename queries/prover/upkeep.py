"""Keep beacon registries awake: a registry that learns no sync committee for its `max_age` refuses
all updates from then on. The operator pays, as no batch has asked for it, also while the daily
budget is spent: an update waits for `resend_after` after the last one, which bounds the cost.

It stores until when each registry stays awake, and why an update that is due was not sent.
"""

from datetime import UTC, datetime, timedelta

from django.db.models import F, Q, QuerySet

from accounts.wording import format_duration
from queries.chain import BeaconNodes, ChainClient
from queries.database.clock import shared_now
from queries.database.handler import Handler, Wait, WorkContext
from queries.database.leases import Lease
from queries.models import RegistryRecord, SentTransaction
from queries.planning.calls import PlannedCall
from queries.sources import (
    REGISTRY_STOPPED,
    BeaconRegistry,
    RegistryStoppedError,
    Routes,
    UpdateCalls,
    joined_calls,
)
from queries.transactions.context import ProverContext
from queries.wait_reasons import Reason


class UpkeepHandler(Handler[RegistryRecord, ProverContext]):
    """Sends the updates that beacon registries need to stay awake."""

    model = RegistryRecord

    def rows(self, context: WorkContext) -> QuerySet[RegistryRecord]:
        condition = Q(pk__in=())
        for registry in _beacon_registries(context.routes):
            condition |= Q(address=registry.address, **registry.route_filter)
        return RegistryRecord.objects.filter(condition)

    def prepare(self, routes: Routes) -> None:
        """Replace the rows of routes' former registries."""
        now = shared_now()
        for registry in _beacon_registries(routes):
            rows = RegistryRecord.objects.filter(**registry.route_filter)
            rows.exclude(address=registry.address).delete()
            columns = {**registry.route_filter, "address": registry.address}
            rows.get_or_create(**columns, defaults={"due_at": now})
            rows.filter(due_at=None).update(due_at=now)

    def work(self, lease: Lease[RegistryRecord], context: ProverContext) -> Wait:
        row, limits = lease.row, context.limits
        route = row.source, row.destination
        registries = _beacon_registries(context.routes)
        registry = next(entry for entry in registries if (entry.source, entry.destination) == route)
        if _updates(registry).filter(confirmed=False).exists():
            return Wait(delay=timedelta(seconds=limits.poll_interval))
        context.rotate(row.failures, registry.destination)
        pause = timedelta(seconds=limits.check_interval)
        try:
            problem = _send_update_if_due(lease, context, registry)
        except RegistryStoppedError as error:
            problem = str(error)
        return Wait(Reason(REGISTRY_STOPPED, problem) if problem else None, pause)


def _beacon_registries(routes: Routes) -> list[BeaconRegistry]:
    registries = routes.registries.values()
    return [registry for registry in registries if isinstance(registry, BeaconRegistry)]


def _updates(registry: BeaconRegistry) -> QuerySet[SentTransaction]:
    """The updates that were sent to keep the registry awake, and cancelled ones."""
    is_update = Q(to=registry.address) | Q(to=F("sender"))  # a cancelled one is an empty transfer
    rows = SentTransaction.objects.filter(is_update, chain=registry.destination)
    return rows.filter(jobs=None, deliveries=None)


def _send_update_if_due(
    lease: Lease[RegistryRecord], context: ProverContext, registry: BeaconRegistry
) -> str:
    """Store until when the registry stays awake. Return a sentence if an update is due and there is
    a reason not to send it, or if none can help because of a fork.
    """
    lane, nodes = context.lane(registry.destination), context.beacon_nodes(registry.source)
    destination = lane.destination
    calls = UpdateCalls(registry, destination, nodes)
    awake_until = calls.awake_until
    if calls.stops_at <= calls.now:  # pages will say that it has stopped
        awake_until = destination.ask_quorum(_awake_until, registry, nodes=nodes)
    lease.owned_rows().update(awake_until=datetime.fromtimestamp(awake_until, UTC))
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
    update = PlannedCall(call.data, recorded_block=recorded.number, voucher=call.voucher)
    gas = destination.estimate_gas(lane.signer.address, registry.address, call.data)
    lease.extend()
    unconfirmed = _updates(registry).filter(confirmed=False)
    lane.send_call(registry.address, update, gas, is_obsolete=unconfirmed.exists)
    return ""


def _awake_until(node: ChainClient, registry: BeaconRegistry, *, nodes: BeaconNodes) -> int:
    return UpdateCalls(registry, node, nodes).awake_until
