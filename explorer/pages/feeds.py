"""The page of a feed, an account's own feeds, and the forms that change one."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from csp.constants import NONE
from csp.decorators import csp_replace
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_exempt

from accounts.http.errors import RefusalError
from accounts.keys.check import count_form
from accounts.sign_in.sessions import signed_in_account
from accounts.views import signed_in_post
from accounts.wording import DAY, datetime_from_unix, format_count, format_timestamp
from explorer.pages.decoding import DecodedValue
from explorer.pages.deliveries import DeliverySummary, summarize_deliveries
from explorer.pages.fact_kinds import decode_fact
from explorer.pages.feed_values import FeedValues, Gauge, feed_gauges, feed_values, reading_text
from explorer.pages.formatting import AmountError, editable_amount, parse_amount, rough_duration
from explorer.pages.links import PageLinks
from explorer.pages.lists import cursor_of, parse_ulid
from explorer.pages.live import LivePage, content_digest, render_live
from explorer.pages.sentences import Sentence, batch_sentence
from queries import reading
from queries.feeds.bodies import payment_currency
from queries.feeds.budget import reserved_in_a_day
from queries.feeds.manage import change_feed, end_feed, run_now
from queries.feeds.outcomes import MAX_FAILED_RUNS
from queries.reading import (
    MAX_COUNTED_RUNS,
    Cursor,
    FeedRunView,
    FeedView,
    HeadView,
    Page,
    RepeatedBatch,
    RunDetails,
    feed_changes,
    own_feed_changes,
    read_chain_heads,
)
from queries.sources import Routes
from queries.statuses import ENDED_STATUSES, OPEN_DELIVERIES, BatchStatus, DeliveryState, FeedState
from queries.wait_reasons import Reason, WaitCode

RUNS_PER_PAGE = 30  # the newest are those that are summed up
FEEDS_PER_PAGE, LISTED_OUTCOMES = 20, 10
MAX_LISTED_DELIVERIES = 3  # of a run
MONTH = 30 * DAY
MIN_FOLDED_RUNS = 3
MIN_PACE_RUNS = 5  # from which the pace of a feed without an interval is known
DUE_NOW = "due now"
SUCCESS, FAILURE, OPEN = "proven", "rejected", "moving"  # CSS classes of marks
OUTCOME_WORDS = {SUCCESS: "succeeded", FAILURE: "failed", OPEN: "goes on"}


@dataclass(frozen=True, slots=True)
class NextRun:
    """When a feed runs next."""

    moment: datetime | None = None  # None if it is a block
    block: int | None = None
    remaining_text: str = ""  # such as `in 79 blocks, about 16 minutes`; empty if not known
    condition: str = ""  # if it may not run then, or runs for logs
    waits_for_budget: bool = False
    budget_frees_at: datetime | None = None  # about; None: not known


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the table."""

    run: FeedRunView
    details: RunDetails
    due: str  # the block's number, or the time
    mark: str  # CSS class of its outcome
    value: DecodedValue | None
    delivery_summary: DeliverySummary | None

    @property
    def reason(self) -> Reason | None:
        """Why it failed, or why a delivery waits."""
        return self.run.error or self.details.reason

    @property
    def problem(self) -> str:
        """What did not succeed, of one run or of several; empty if all did, or may still."""
        if self.run.error:
            return "refused"
        if self.run.status == BatchStatus.REJECTED:
            return "REJECTED"
        if not self.reason:
            return ""
        if DeliveryState.FAILED in self.run.deliveries:
            return "with a failed delivery"
        is_refused = self.reason.code == WaitCode.CONTRACT_REFUSES
        return f"with a {'refused' if is_refused else 'waiting'} delivery"

    @property
    def gas(self) -> int:
        return sum(share.gas or 0 for share in self.details.shares)

    @property
    def transactions(self) -> Sequence[str]:
        """The hashes of its deliveries' first transactions."""
        hashes = (delivery.transaction_hash for delivery in self.details.deliveries)
        return list(filter(None, hashes))[:MAX_LISTED_DELIVERIES]


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Consecutive runs, newest first, that did not succeed for the same reason; or one run."""

    rows: Sequence[RunRow]

    @property
    def newest(self) -> RunRow:
        return self.rows[0]

    @property
    def oldest(self) -> RunRow:
        return self.rows[-1]

    @property
    def is_folded(self) -> bool:
        return len(self.rows) >= MIN_FOLDED_RUNS


def run_groups(rows: Iterable[RunRow]) -> Iterator[RunGroup]:
    """Fold what differs in numbers only, such as the block that a reason names."""
    for key, group in groupby(rows, _group_key):
        equal_rows = list(group)
        if key and len(equal_rows) >= MIN_FOLDED_RUNS:
            yield RunGroup(equal_rows)
        else:
            yield from (RunGroup([row]) for row in equal_rows)


def _group_key(row: RunRow) -> tuple[str, ...]:
    """Empty for a run without a problem."""
    if not row.problem or not row.reason:
        return ()
    return row.problem, row.reason.code, re.sub("[0-9]+", "0", row.reason.sentence)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the newest runs went."""

    marks: Sequence[tuple[str, str]]  # CSS classes and words, the oldest first

    @property
    def success_count(self) -> int:
        return sum(mark == SUCCESS for mark, _ in self.marks)

    @property
    def ended_count(self) -> int:
        return sum(mark != OPEN for mark, _ in self.marks)


@dataclass(frozen=True, slots=True)
class RunCosts:
    """What the newest runs that are DONE or REJECTED have cost so far."""

    gas: int  # on average
    spent: int  # wei, on average
    month: int | None  # wei at that pace; None: not known, or the feed is not active


@dataclass(frozen=True, slots=True)
class DeliveryTotals:
    """What became of the deliveries of a feed's runs."""

    text: str  # such as `41 of 43`
    notes: str  # such as `2 refused`


@dataclass(frozen=True, slots=True)
class FeedPage:
    feed: FeedView
    repeated: RepeatedBatch | None
    sentence: Sentence
    frequency: str
    next_run: NextRun | None
    runs: Page[RunGroup]
    newest_rows: Sequence[RunRow]  # whatever page of runs is shown
    outcomes: Outcomes
    values: FeedValues
    gauges: Sequence[Gauge]
    reading: str  # what was read last; or empty
    deliveries: DeliveryTotals | None
    costs: RunCosts | None
    reserved: int  # wei in the last 24 hours
    currency: str  # of the destination
    destination: int | None
    is_free: bool  # the operator pays
    is_owner: bool

    @property
    def title(self) -> str:
        return self.feed.name or str(self.sentence)

    @property
    def last_run_at(self) -> datetime | None:
        """When the newest value's batch was submitted, if that is among the newest runs."""
        newest = (row.run.submitted_at for row in self.newest_rows if row.value)
        return next(newest, None)

    @property
    def typed_budget(self) -> str:
        """As in the field of its form."""
        budget = self.feed.budget
        return "" if budget is None else editable_amount(budget, self.currency)


def feed_sentence(feed: FeedView, repeated: RepeatedBatch | None, links: PageLinks) -> Sentence:
    """What is repeated and how often: `balance of 0xd8dA…6045 · Demo A, every 300 blocks`."""
    subject = batch_sentence(repeated.summary, links).subject if repeated else "a batch"
    return Sentence(subject, f"{links.chain_name(feed.source)}, {feed.trigger.frequency}")


def feed_sentences(feeds: Iterable[FeedView], links: PageLinks) -> Mapping[str, Sentence]:
    return {
        feed.id: feed_sentence(feed, reading.repeated_batch(feed, links.routes), links)
        for feed in feeds
    }


def feed_words(feed: FeedView, routes: Routes) -> str:
    """The feed's sentence as text, for the API."""
    return str(feed_sentence(feed, reading.repeated_batch(feed, routes), PageLinks(routes)))


def next_run(feed: FeedView, head: HeadView | None) -> NextRun | None:
    """None unless the feed is active."""
    if feed.state is not FeedState.ACTIVE:
        return None
    condition = feed.trigger.next_run_condition
    if feed.is_over_budget:
        return NextRun(waits_for_budget=True, budget_frees_at=feed.budget_frees_at)
    if feed.next is None:
        return NextRun(condition=condition)
    if feed.next.is_time:
        moment = datetime_from_unix(feed.next.number)
        return NextRun(moment, condition=condition)
    text = ""
    if head and (blocks_left := feed.next.number - head.number) > 0:
        text = f"in {format_count(blocks_left, 'block')}"
        if head.block_seconds:
            text += f", about {rough_duration(blocks_left * head.block_seconds)}"
    elif head:
        text = DUE_NOW
    return NextRun(None, feed.next.number, text, condition)


def _runs_in_a_month(
    feed: FeedView, head: HeadView | None, runs: Sequence[FeedRunView]
) -> float | None:
    """By its interval or its newest runs; None if that is not known, or it is not active."""
    if feed.state is not FeedState.ACTIVE:
        return None
    seconds = feed.trigger.seconds_between_runs(head.block_seconds if head else None)
    if seconds is None and len(runs) >= MIN_PACE_RUNS:
        seconds = (timezone.now() - runs[-1].submitted_at).total_seconds() / (len(runs) - 1)
    return MONTH / seconds if seconds else None


def outcome_mark(run: FeedRunView) -> str:
    """CSS class: it has succeeded, with its deliveries; has failed; or goes on."""
    is_refused = run.error or run.status == BatchStatus.REJECTED
    if is_refused or DeliveryState.FAILED in run.deliveries:
        return FAILURE
    is_delivering = any(state in OPEN_DELIVERIES for state in run.deliveries)
    return OPEN if is_delivering or run.status != BatchStatus.DONE else SUCCESS


def _outcomes(runs: Iterable[FeedRunView]) -> Outcomes:
    """`runs`: the newest first."""
    marks = [(outcome_mark(run), run) for run in runs]
    return Outcomes([(mark, f"{_due(run)} {OUTCOME_WORDS[mark]}") for mark, run in marks[::-1]])


def _due(run: FeedRunView) -> str:
    number = run.selector.number
    log = "" if run.log_index is None else f", log {run.log_index}"
    return format_timestamp(number) if run.selector.is_time else f"{number:,}{log}"


def feed(request: HttpRequest, feed_id: str, links: PageLinks) -> HttpResponse:
    account = signed_in_account(request) if request.user.is_authenticated else None
    changes = feed_changes(feed_id, RUNS_PER_PAGE)
    digest = content_digest(account, changes)

    def context() -> dict[str, object]:
        view = reading.public_feed(feed_id)
        if view is None:
            raise Http404
        is_owner = account is not None and reading.owns_feed(account, feed_id)
        page = _feed_page(view, cursor_of(request, parse_ulid), links, is_owner=is_owner)
        return {"page": page, "max_failed_runs": MAX_FAILED_RUNS}

    return render_live(request, LivePage("feed.html", "parts/feed.html", digest), context)


@xframe_options_exempt
@csp_replace({"script-src": [NONE], "frame-ancestors": ["*"]})  # type: ignore[arg-type]  # of URLs
def feed_embed(request: HttpRequest, feed_id: str, links: PageLinks) -> HttpResponse:
    """A small page for frames of other sites. It does not depend on who is signed in."""
    view = reading.public_feed(feed_id)
    if view is None:
        raise Http404
    repeated = reading.repeated_batch(view, links.routes)
    newest_runs = reading.newest_runs(feed_id, RUNS_PER_PAGE)
    context = {
        "feed": view,
        "title": view.name or str(feed_sentence(view, repeated, links)),
        "values": feed_values(feed_id, links),
        "last_run_at": next(
            (run.submitted_at for run in newest_runs if run.status == BatchStatus.DONE), None
        ),
        "registry": links.registry(view.source, repeated.destination) if repeated else None,
    }
    return render(request, "feed_embed.html", context)


def _feed_page(
    view: FeedView, cursor: Cursor | None, links: PageLinks, *, is_owner: bool
) -> FeedPage:
    newest_runs = reading.run_details_page(view.id, cursor=None, limit=RUNS_PER_PAGE)
    runs = newest_runs
    if cursor is not None:
        runs = reading.run_details_page(view.id, cursor=cursor, limit=RUNS_PER_PAGE)
    newest_rows = [_run_row(details, links) for details in newest_runs.rows]
    repeated = reading.repeated_batch(view, links.routes)
    head = read_chain_heads([view.source]).get(view.source)
    destination = _destination(repeated, newest_runs.rows)
    chain = links.routes.chains.get(destination or 0)
    return FeedPage(
        feed=view,
        repeated=repeated,
        sentence=feed_sentence(view, repeated, links),
        frequency=view.trigger.frequency,
        next_run=next_run(view, head),
        runs=runs.with_rows(run_groups(_run_row(details, links) for details in runs.rows)),
        newest_rows=newest_rows,
        outcomes=_outcomes(row.run for row in newest_rows),
        values=feed_values(view.id, links),
        gauges=feed_gauges(view, links),
        reading=reading_text(view, links),
        deliveries=_delivery_totals(view),
        costs=_costs(newest_rows, _runs_in_a_month(view, head, [row.run for row in newest_rows])),
        reserved=reserved_in_a_day(view.id),
        currency=links.currency(destination or 0),
        destination=destination,
        is_free=bool(chain and chain.free),
        is_owner=is_owner,
    )


def _destination(repeated: RepeatedBatch | None, runs: Iterable[RunDetails]) -> int | None:
    """None if this server no longer accepts the batch, and none was submitted."""
    if repeated:
        return repeated.destination
    return next((run.destination for run in runs if run.destination is not None), None)


def _run_row(details: RunDetails, links: PageLinks) -> RunRow:
    run, value = details.run, details.value
    decoded = decode_fact(value, links.currency(value.source)) if value else None
    summary = (
        summarize_deliveries(
            run.deliveries, sum(delivery.is_refused for delivery in details.deliveries)
        )
        if run.status == BatchStatus.DONE
        else None
    )
    return RunRow(run, details, _due(run), outcome_mark(run), decoded, summary)


def _costs(rows: Iterable[RunRow], runs_in_a_month: float | None) -> RunCosts | None:
    """None if no run has ended; its deliveries may go on."""
    ended_runs = [row for row in rows if row.run.status in ENDED_STATUSES]
    if not ended_runs:
        return None
    spent = sum(row.details.spent for row in ended_runs)
    month = round(spent * runs_in_a_month / len(ended_runs)) if runs_in_a_month else None
    gas = sum(row.gas for row in ended_runs) // len(ended_runs)
    return RunCosts(gas, spent // len(ended_runs), month)


def _delivery_totals(feed: FeedView) -> DeliveryTotals | None:
    """None if nothing was delivered or tried yet."""
    counts = reading.delivery_counts(feed.id)
    delivered, failed = counts.get(DeliveryState.DELIVERED, 0), counts.get(DeliveryState.FAILED, 0)
    refused = feed.refused.count if feed.refused else 0
    to_come = max(sum(counts.get(state, 0) for state in OPEN_DELIVERIES) - refused, 0)
    parts = [
        (failed, "failed"),
        (refused, "refused"),
        (counts.get(DeliveryState.SKIPPED, 0), "skipped"),
        (to_come, "to come"),
    ]
    if to_come == sum(counts.values()):
        return None
    notes = [f"{count:,} {word}" for count, word in parts if count]
    if sum(counts.values()) >= MAX_COUNTED_RUNS:
        notes.append(f"in the newest {MAX_COUNTED_RUNS:,} runs")
    text = f"{delivered:,} of {delivered + failed + refused:,}"
    return DeliveryTotals(text, ", ".join(notes))


@login_required
def own_feeds(request: HttpRequest, links: PageLinks) -> HttpResponse:
    account = signed_in_account(request)
    changes = own_feed_changes(account, FEEDS_PER_PAGE, LISTED_OUTCOMES)
    digest = content_digest(changes)

    def context() -> dict[str, object]:
        cursor = cursor_of(request, parse_ulid)
        page = reading.feed_page(account, cursor=cursor, limit=FEEDS_PER_PAGE)
        heads = read_chain_heads({feed.source for feed in page.rows})
        runs = {feed.id: reading.newest_runs(feed.id, LISTED_OUTCOMES) for feed in page.rows}
        return {
            "feeds": page,
            "sentences": feed_sentences(page.rows, links),
            "next_runs": {feed.id: next_run(feed, heads.get(feed.source)) for feed in page.rows},
            "values": reading.newest_values(runs),
            "outcomes": {feed: _outcomes(newest) for feed, newest in runs.items()},
            "max_feeds": settings.FEEDS_PER_ACCOUNT,
        }

    return render_live(request, LivePage("own_feeds.html", "parts/feed_list.html", digest), context)


# By action: the sentence that says what has happened.
CHANGES = {
    "run": "A run for the newest block is submitted.",
    "pause": "The feed is paused.",
    "resume": "The feed is active again.",
    "budget": "The budget is changed.",
    "rename": "The name is changed.",
    "end": "The feed has ended. Its batches stay.",
}


def _currency(feed_id: str, links: PageLinks) -> str:
    """The coin of the chain that the feed's runs are paid on."""
    view = reading.public_feed(feed_id)
    return payment_currency(view.batch, links.routes) if view else "ETH"


@signed_in_post
def change_own_feed(
    request: HttpRequest, feed_id: str, action: str, links: PageLinks
) -> HttpResponse:
    account, message = signed_in_account(request), CHANGES[action]
    text = request.POST.get(action, "")
    try:
        count_form(account)
        if action == "run":
            _, is_new = run_now(account, feed_id, links.routes)
            message = message if is_new else "The newest block has a run already."
        elif action == "budget":
            budget = parse_amount(text, _currency(feed_id, links))
            change_feed(account, feed_id, {"budget": str(budget)}, links.routes)
        elif action == "rename":
            change_feed(account, feed_id, {"name": text.strip() or None}, links.routes)
        elif action == "end":
            end_feed(account, feed_id)
        else:
            state = FeedState.PAUSED if action == "pause" else FeedState.ACTIVE
            change_feed(account, feed_id, {"state": state.value}, links.routes)
    except (RefusalError, AmountError) as error:
        messages.error(request, f"{error}" if isinstance(error, AmountError) else error.sentence)
        if not reading.owns_feed(account, feed_id):
            return redirect("own-feeds")
    else:
        messages.success(request, message)
    return redirect("feed", feed_id)
