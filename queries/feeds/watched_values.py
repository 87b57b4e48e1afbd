"""Feeds that run `when` a value has changed: read the values at the head of their source, once in
`FEED_SECONDS`.

What is read is not proven: a node that lies can cause a run or prevent one, and what the run proves
is what is true.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery, Value
from eth_utils.address import to_checksum_address

from accounts.http.errors import RefusalError
from accounts.wording import quote_text
from queries.chain import ChainClient, ChainError, HistoryPrunedError, StateNotAvailableError
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, batch_of, scheduled_run
from queries.feeds.outcomes import HAS_FAILED, IS_OPEN
from queries.feeds.runs import (
    NewRun,
    end_past_feeds,
    insert_runs,
    replace_waiting_run,
    unclaimed_runs,
)
from queries.feeds.trigger import ChainTrigger, interval_frequency, next_due, refuse_short_interval
from queries.models import ChainRecord, Fact, Feed, FeedRun, Query
from queries.schema.bodies import ADDRESS, SLOT, slot_word
from queries.schema.checked_batch import CheckedBatch
from queries.schema.feed_bodies import ValueTriggerBody
from queries.schema.paths import WHOLE_BODY
from queries.schema.templates import slot_name
from queries.statuses import FeedState

log = logging.getLogger("tacitus.prover")

FEEDS_AT_ONCE = 100  # in a statement
_VALUE = re.compile(rf"({ADDRESS})\.(BALANCE|NONCE|{SLOT.pattern})")


class WatchedValue(ChainTrigger):
    """`when` a value has changed that the batch asks for."""

    code, member = "VALUE", "when"
    compares_values = True
    next_run_condition = "if the value has changed"
    body: ValueTriggerBody
    path = WHOLE_BODY.child(member)

    @cached_property
    def account_and_fact(self) -> tuple[str, str]:
        """BALANCE, NONCE or a slot of an account. Raises `RefusalError`."""
        match = _VALUE.fullmatch(self.body.value)
        if not match:
            raise self._refusal(
                "but must be 0xACCOUNT.BALANCE, 0xACCOUNT.NONCE or 0xACCOUNT.0xSLOT."
            )
        account, name = match.groups()
        fact = slot_name(slot_word(name)) if name.startswith("0x") else name
        return to_checksum_address(account), fact

    def _refusal(self, problem: str) -> RefusalError:
        path = self.path.child("value")
        return path.refusal(FeedCode.FEED_MALFORMED, f"is {quote_text(self.body.value)}, {problem}")

    @property
    def frequency(self) -> str:
        by = f" by {self.content['by']}" if "by" in self.content else ""
        least = ""
        if "heartbeat" in self.content:
            least = f", and at least {interval_frequency(self.content['heartbeat'])}"
        return f"when it changes{by}, read {interval_frequency(self.content['every'])}{least}"

    @property
    def interval(self) -> int:
        return self.body.every.count

    def check_interval(self, source: int, block_seconds: float | None) -> None:
        path = self.path.child("every")
        refuse_short_interval(self.body.every, path, "value may be read", source, block_seconds)

    def check_batch(self, batch: CheckedBatch) -> None:
        address, fact = self.account_and_fact
        (block,) = batch.blocks
        for account in block.accounts:
            names = {prop.name for prop in account.props} | set(map(slot_name, account.slots))
            if account.account == address and fact in names:
                return
        raise self._refusal("which the batch does not ask for.")

    @classmethod
    def insert_runs(cls, source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
        rows = Feed.objects.filter(pk__in=[feed.pk for feed in feeds])
        head_time = datetime.fromtimestamp(record.timestamp, UTC)
        end_past_feeds(rows.filter(until__lt=head_time))
        current = [feed for feed in feeds if not feed.until or feed.until >= head_time]
        if current:
            _insert_runs_of_values(source, record, current)


def _insert_runs_of_values(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
    """Insert the runs of feeds whose value at the head differs enough from the last one. Older
    states are not read, because nodes may have dropped them.

    A run that still waits is about the newest value, or is deleted if the change is undone.
    """
    ids = [feed.pk for feed in feeds]
    submitted = FeedRun.objects.filter(
        feed=OuterRef("pk"), submitted_at__isnull=False, read_time__isnull=False
    )
    last_time = Subquery(submitted.order_by("-id").values("read_time")[:1])
    rows = list(
        Feed.objects.filter(pk__in=ids).select_related("open_run").annotate(last_time=last_time)
    )
    watched = [WatchedValue.stored(feed.request) for feed in rows]
    facts = [(*trigger.account_and_fact, record.number) for trigger in watched]
    waiting = FeedRun.objects.filter(feed__in=ids, submitted_at=None)
    have_waiting = set(waiting.values_list("feed", flat=True))
    idle, changed = [], []
    for feed, value in zip(rows, source.numbers(facts), strict=True):
        if feed.read_value != (text := f"{value:064x}"):
            feed.read_value = text
            changed.append(feed)
        if _has_changed(feed, value, record):
            run = scheduled_run(record.number)
            run = replace(run, value=value, read_time=record.timestamp)
            _insert_run(feed, run, is_waiting=feed.pk in have_waiting)
        else:
            if feed.pk in have_waiting:
                _delete_waiting_run(feed)
            idle.append(feed.pk)
    Feed.objects.bulk_update(changed, ["read_value"], batch_size=FEEDS_AT_ONCE)
    number = Value(record.number)
    following = number - number % F("interval") + F("interval")
    idle_feeds = Feed.objects.filter(pk__in=idle, due__lte=record.number)
    idle_feeds.update(due=following, waits_for="")


def _has_changed(feed: Feed, value: int, record: ChainRecord) -> bool:
    """Whether the value differs enough, or the heartbeat is over."""
    body = WatchedValue.stored(feed.request).body
    last_value = (feed.open_run.value if feed.open_run else "") or feed.last_value
    if last_value:
        has_changed = body.by.is_reached(int(last_value, 16), value)
    else:
        has_changed = feed.open_run is None
    last_time: int | None = vars(feed)["last_time"]
    if body.heartbeat and last_time is not None:
        has_changed |= record.timestamp >= last_time + body.heartbeat.count
    return has_changed


def _insert_run(feed: Feed, run: DueRun, *, is_waiting: bool) -> None:
    with transaction.atomic():
        rows = Feed.objects.filter(pk=feed.pk, due=feed.due, state=FeedState.ACTIVE)
        if not rows.select_for_update(no_key=True).exists():
            return
        if is_waiting:
            replace_waiting_run(feed, run)  # unless a worker is submitting it
        else:
            insert_runs([NewRun(feed, run)])
        rows.update(due=next_due(run.due, feed.interval), waits_for="")


def _delete_waiting_run(feed: Feed) -> None:
    with transaction.atomic():
        list(Feed.objects.filter(pk=feed.pk).select_for_update(no_key=True))
        unclaimed_runs(feed).delete()


def store_proven_values(source: ChainClient) -> None:
    """Store what runs for changed values have proven: later values are compared with that, once the
    newest run has ended, and until then with the value that it was made for.

    If the newest run has failed, that is the value of the last one that succeeded, so the change
    makes another run. So does a run that proves another value than the one it was made for, because
    a reorg moved the change, or because a contract names an older block. If the contract still
    names the block of the run before, another run would prove the same: then the value that was
    read stands until it changes further.
    """
    feeds = Feed.objects.filter(source=source.chain.id, trigger=WatchedValue.code)
    open_feeds = feeds.exclude(state=FeedState.ENDED).exclude(open_run=None)
    is_open = Exists(FeedRun.objects.filter(IS_OPEN, pk=OuterRef("open_run")))
    for feed in open_feeds.annotate(is_open=is_open):
        try:
            if (value := _last_proven_value(source, feed)) is not None:
                run = feed.open_run_id if feed.is_open else None
                if (value, run) != (feed.last_value, feed.open_run_id):
                    row = Feed.objects.filter(pk=feed.pk, open_run=feed.open_run_id)
                    row.update(last_value=value, open_run=run)
        except ChainError as error:
            log.warning("Reading what feed %s has proven failed: %s", feed.pk, error)


def _last_proven_value(source: ChainClient, feed: Feed) -> str | None:
    """As `Feed.last_value`; None if it is not known yet, or the value that was read stands."""
    succeeded = feed.runs.filter(~IS_OPEN, ~HAS_FAILED).order_by("-id")
    runs = list(succeeded[:2])
    if not runs:
        return feed.last_value
    query, *earlier = (Query.objects.get(batch=run.batch_id, position=0) for run in runs)
    if runs[0].pk == feed.open_run_id and query.block in {other.block for other in earlier}:
        return None
    account, fact = WatchedValue.stored(feed.request).account_and_fact
    if batch_of(feed.request).get("prove", True):
        facts = Fact.objects.filter(job=query.job_id, account=account, name=fact)
        word = facts.values_list("word", flat=True).first()
        return word.hex() if word else None  # a reorg may have removed it for now
    if runs[0].pk != feed.open_run_id:
        return feed.last_value  # a node need not be asked again
    try:
        (number,) = source.numbers([(account, fact, query.block or 0)])
    except (HistoryPrunedError, StateNotAvailableError):
        return runs[0].value or feed.last_value
    return f"{number:064x}"
