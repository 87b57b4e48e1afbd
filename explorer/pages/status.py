"""Whether the service works, in a sentence, and what that rests on."""

from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.shared.wording import format_count
from explorer.pages.formatting import age
from explorer.pages.links import PageLinks
from queries.reading.service_status import (
    LATE_FACTOR,
    MAX_COUNTED,
    ChainStatus,
    ServiceStatus,
    service_status,
)


def status(request: HttpRequest, links: PageLinks) -> HttpResponse:
    is_full = settings.STATUS_PAGE == "FULL" or request.user.is_staff
    chains = [chain for _, chain in sorted(links.routes.chains.items())]
    state = service_status(chains, with_budgets=is_full)
    context = {
        "links": links,
        "state": state,
        "problems": list(_problems(state, links)),
        "is_full": is_full,
        "has_budgets": any(chain.budget_left is not None for chain in state.chains),
        "max_counted": MAX_COUNTED,
    }
    return render(request, "status.html", context)


def _problems(state: ServiceStatus, links: PageLinks) -> Iterator[str]:
    """Sentences, the one that delays most first."""
    if not state.chains:
        yield "No chain is configured yet."
        return
    if state.last_poll is None:
        yield "Nothing is proven: no prover has been seen yet."
        return
    if not state.has_prover:
        silence = age((timezone.now() - state.last_poll).total_seconds()).removesuffix(" ago")
        yield f"Nothing is proven at the moment: no prover has been seen for {silence}."
        return
    for chain in state.chains:
        if problem := _chain_problem(chain, links):
            yield problem
    if state.late:
        is_many = state.late > MAX_COUNTED
        count = f"More than {MAX_COUNTED:,} batches" if is_many else _batches(state.late)
        verb = "has" if state.late == 1 else "have"
        yield f"{count} {verb} waited more than {LATE_FACTOR} times as long as usual."


def _batches(number: int) -> str:
    return format_count(number, "batch", "batches")


def _chain_problem(chain: ChainStatus, links: PageLinks) -> str:
    name = chain.chain.name
    is_destination = any(
        destination == chain.chain.id for _, destination in links.routes.registries
    )
    what = f"Proving on {name}" if is_destination else f"Proving the state of {name}"
    if not chain.is_answered:
        if chain.head is None:
            return f"{what} is delayed: none of its nodes has answered yet."
        silence = age((timezone.now() - chain.head.seen).total_seconds()).removesuffix(" ago")
        return f"{what} is delayed: none of its nodes has answered for {silence}."
    return f"{what} waits: its daily budget is spent." if chain.budget_left == 0 else ""
