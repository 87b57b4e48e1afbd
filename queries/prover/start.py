"""Set-up and start-up checks of a prover with either engine. Errors address the operator."""

import sys
from collections.abc import Callable
from functools import partial

from django.conf import settings
from django.core.management.base import CommandError

from accounts.database_state import require_schema
from queries.chain import open_signer
from queries.database.chain_records import measure_again
from queries.prover.handlers import HANDLERS
from queries.sources import Routes, read_routes
from queries.transactions.context import ProverContext
from queries.webhooks.post import MAX_DELIVERY_SECONDS

# A tenth of Python's default: a thread that proves thousands of facts must not delay other threads
# after each response of a database or node.
SWITCH_SECONDS = 0.0005


def prover_routes() -> Routes:
    """Read the routes file; require a registry, leases that are long enough, and a database."""
    routes = read_routes(settings.ROUTES_FILE)
    if not routes.registries:
        raise CommandError(
            "ROUTES_FILE is not set, or names no registry. Run tacitus init and "
            "tacitus deploy_registry."
        )
    # Else another prover would take a job whose webhook or request to a node has not ended.
    min_lease = max(routes.limits.request_timeout, MAX_DELIVERY_SECONDS)
    if min_lease >= settings.PROVER_LEASE_SECONDS:
        raise CommandError(
            f"PROVER_LEASE_SECONDS is {settings.PROVER_LEASE_SECONDS}; a webhook or a node may "
            f"take {min_lease:g} seconds (request_timeout)."
        )
    require_schema()
    return routes


def start_prover() -> Callable[[], ProverContext]:
    """Return what makes the contexts of this program's threads."""
    routes = prover_routes()
    signer = open_signer(settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD)
    sys.setswitchinterval(SWITCH_SECONDS)
    measure_again()
    for handlers in HANDLERS.values():
        for handler in handlers:
            handler.prepare(routes)
    return partial(ProverContext, routes, signer=signer, block_waits={})
