"""Whether the service works, in a sentence, and what that rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.wording import format_timestamp
from explorer.pages.charts import ended_batches_chart
from explorer.pages.formatting import elapsed, quantity
from explorer.pages.links import PageLinks
from explorer.pages.live import LivePage, content_digest, render_live
from explorer.pages.wait_hints import remaining_texts
from queries.reading import (
    LATE_FACTOR,
    MAX_COUNTED_BATCHES,
    MIN_CHART_DAYS,
    ChainStatus,
    LateBatches,
    PeriodTotals,
    RegistryState,
    batch_view,
    chain_changes,
    chain_statuses,
    duration_quantile,
    minute_of,
    open_batch_count,
    read_late_batches,
    read_registry_states,
    recent_batches,
)
from queries.wait_reasons import Reason


def status(request: HttpRequest, links: PageLinks) -> HttpResponse:
    is_full = settings.STATUS_PAGE == "FULL" or request.user.is_staff
    now, open_count = timezone.now(), open_batch_count()
    changes = chain_changes(links.routes.chains)
    digest = content_digest(is_full, minute_of(now), open_count, changes)

    def context() -> dict[str, object]:
        return _status_context(links, now.date(), open_count, is_full=is_full)

    return render_live(request, LivePage("status.html", "parts/status.html", digest), context)


def _status_context(
    links: PageLinks, today: date, open_count: int, *, is_full: bool
) -> dict[str, object]:
    chains = [chain for _, chain in sorted(links.routes.chains.items())]
    statuses = chain_statuses(chains, with_budgets=is_full)
    registries = read_registry_states(links.routes.registries.values())
    days, late = recent_batches(today), read_late_batches()
    has_chart = len(days) >= MIN_CHART_DAYS
    return {
        "chains": [(row, chain_state(row)) for row in statuses],
        "waiting": open_count,
        "max_counted": MAX_COUNTED_BATCHES,
        "usual_seconds": duration_quantile(today),
        "history": "" if has_chart else history_sentence(days),
        "history_chart": ended_batches_chart(days) if has_chart else None,
        "is_full": is_full,
        "last_poll": _last_poll(statuses),
        "registries": registries,
        "problems": [*problems(statuses, late), *registry_problems(registries, links)],
        "late_cause": late_cause(late, links),
    }


def problems(statuses: Sequence[ChainStatus], late: LateBatches) -> list[str]:
    """Sentences, the one that delays most first; empty if everything works."""
    last_poll = _last_poll(statuses)
    if not statuses:
        sentences = ["No chain is configured yet."]
    elif last_poll is None:
        sentences = ["Nothing is proven: no prover has been seen yet."]
    elif not any(row.is_polled for row in statuses):
        duration = silence(last_poll)
        sentences = [f"Nothing is proven at the moment: no prover has been seen {duration}."]
    else:
        sentences = [sentence for row in statuses if (sentence := chain_state(row).problem)]
    if late.count:
        count = quantity(min(late.count, MAX_COUNTED_BATCHES), "batch,batches")
        have = "has" if late.count == 1 else "have"
        sentences.append(f"{count} {have} waited more than {LATE_FACTOR} times as long as usual.")
    return sentences


@dataclass(frozen=True, slots=True)
class LateCause:
    """The commonest reason of late batches, for `parts/status.html`."""

    count: int
    total: int
    route: str
    reason: Reason
    missing: str  # such as `0 of 2 signatures, waiting for 0xd8dA…6045`


def late_cause(late: LateBatches, links: PageLinks) -> LateCause | None:
    if late.reason is None:
        return None
    source = links.chain_name(late.source) if late.source else "several chains"
    route = f"{source} → {links.chain_name(late.destination)}"
    batch = batch_view(late.oldest)
    texts = remaining_texts([batch], links, timezone.now()) if batch else {}
    missing = texts.get(late.oldest, "")
    return LateCause(late.reason_count, late.count, route, late.reason, missing)


def registry_problems(states: Sequence[RegistryState], links: PageLinks) -> list[str]:
    """A sentence for each beacon registry that has stopped, or stops soon."""
    sentences = []
    for state in states:
        source, destination = (
            links.routes.chains[chain].name
            for chain in (state.registry.source, state.registry.destination)
        )
        if state.has_stopped:
            subject = f"Newer blocks of {source} are no longer proven on {destination}"
            sentences.append(f"{subject}: the registry has stopped for good.")
        elif state.awake_until is None:
            subject = f"newer blocks of {source} are proven on {destination}"
            sentences.append(f"It is not known until when {subject}.")
        elif state.stops_soon:
            until = format_timestamp(int(state.awake_until.timestamp()))
            subject = f"Newer blocks of {source} are proven on {destination} only until {until}"
            sentences.append(f"{subject}, unless the operator acts.")
    return sentences


def history_sentence(days: Mapping[date, PeriodTotals]) -> str:
    """How many batches ended in these days; empty if none did."""
    if not days:
        return ""
    done_count = sum(totals.done_batches for totals in days.values())
    rejected_count = sum(totals.rejected_batches for totals in days.values())
    period = "today" if len(days) == 1 else f"in the last {len(days)} days"
    counts = [f"{quantity(done_count, 'batch was,batches were')} DONE {period}"]
    if rejected_count:
        counts.append(f"{rejected_count:,} {'was' if rejected_count == 1 else 'were'} rejected")
    return "; ".join(counts) + "."


@dataclass(frozen=True, slots=True)
class ChainState:
    mark: str  # CSS class
    words: str
    seconds: float | None = None  # so far; follows the words
    problem: str = ""  # a sentence


def chain_state(row: ChainStatus) -> ChainState:
    subject = f"Proving with {row.chain.name} is delayed"
    if not row.is_answered:
        start = row.head.recorded_at if row.head else None
        words = "no answer for" if start else "not seen yet"
        duration = silence(start) if start else "yet"
        problem = f"{subject}: none of its nodes has answered {duration}."
        return ChainState("rejected", words, _seconds_since(start), problem)
    if start := row.stalled_since:
        words = "no new block for"
        problem = f"{subject}: it has had no new block {silence(start)}, although its nodes answer."
        return ChainState("rejected", words, _seconds_since(start), problem)
    if row.finality_fault:
        problem = f"{subject}. {row.finality_fault}"
        return ChainState("rejected", "finality unknown", problem=problem)
    if row.is_stopped:
        cause = "its operator has to check who else uses the signer's key"
        problem = f"Proving on {row.chain.name} has stopped: {cause}."
        return ChainState("rejected", "stopped", problem=problem)
    if row.budget_left == 0:
        words = "its daily budget is spent"
        return ChainState("waiting", words, problem=f"Proving on {row.chain.name} waits: {words}.")
    return ChainState("proven", "works")


def silence(start: datetime) -> str:
    return f"for {elapsed((timezone.now() - start).total_seconds())}"


def _seconds_since(start: datetime | None) -> float | None:
    return (timezone.now() - start).total_seconds() if start else None


def _last_poll(statuses: Sequence[ChainStatus]) -> datetime | None:
    return max((row.polled_at for row in statuses if row.polled_at), default=None)
