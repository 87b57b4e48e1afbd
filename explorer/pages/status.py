"""Whether the service works, in a sentence, and what that rests on."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from explorer.pages.formatting import age, quantity
from explorer.pages.links import PageLinks
from queries.reading.service_status import LATE_FACTOR, MAX_COUNTED, ServiceStatus, service_status
from queries.reading.waits import PROVER_TIMEOUT


def status(request: HttpRequest, links: PageLinks) -> HttpResponse:
    is_full = settings.STATUS_PAGE == "FULL" or request.user.is_staff
    chains = [chain for _, chain in sorted(links.routes.chains.items())]
    state = service_status(chains, with_budgets=is_full)
    last_poll = max((row.polled_at for row in state.chains if row.polled_at), default=None)
    context: dict[str, object] = {"links": links, "state": state, "max_counted": MAX_COUNTED}
    context |= {"is_full": is_full, "last_poll": last_poll}
    context["problems"] = list(_problems(state, last_poll))
    return render(request, "status.html", context)


def _problems(state: ServiceStatus, last_poll: datetime | None) -> Iterator[str]:
    """Sentences, the one that delays most first."""
    if not state.chains:
        yield "No chain is configured yet."
    elif last_poll is None:
        yield "Nothing is proven: no prover has been seen yet."
    elif timezone.now() - last_poll > PROVER_TIMEOUT:
        yield f"Nothing is proven at the moment: no prover has been seen {_silence(last_poll)}."
    else:
        for row in state.chains:
            if not row.is_answered:
                silence = _silence(row.head.seen) if row.head else "yet"
                delay = f"Proving with {row.chain.name} is delayed"
                yield f"{delay}: none of its nodes has answered {silence}."
            elif row.budget_left == 0:
                yield f"Proving on {row.chain.name} waits: its daily budget is spent."
    if state.late:
        count = quantity(min(state.late, MAX_COUNTED), "batch,batches")
        have = "has" if state.late == 1 else "have"
        yield f"{count} {have} waited more than {LATE_FACTOR} times as long as usual."


def _silence(since: datetime) -> str:
    return "for " + age((timezone.now() - since).total_seconds()).removesuffix(" ago")
