"""The page of a new batch or feed, as its templates show it: choices, the estimate, and errors."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import ClassVar

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from accounts.http.errors import RefusalError
from accounts.reading import KeyView
from accounts.wording import DAY, MINUTE
from explorer.pages.delivery_fields import ArgumentField, DeliveryFields, Option, digest
from explorer.pages.feed_fields import TIME_UNITS, FeedFields
from explorer.pages.formatting import rough_duration
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import NewBatch, destination_currency
from queries.config.chains import Chain
from queries.config.measured_costs import account_cost
from queries.facts import fact_count
from queries.feeds.trigger import Trigger
from queries.planning.estimate import BatchEstimate, BlockEstimate
from queries.proving import OSAKA, AccountField, HeaderField
from queries.reading import HeadView, RouteFigures, route_figures
from queries.schema.batch_checks import BatchLimits
from queries.schema.bodies import MAX_DELIVERIES
from queries.schema.checked_batch import CheckedBatch
from queries.schema.event_values import log_placeholders
from queries.schema.strict_json import read_json
from queries.sources import Registry
from queries.statuses import Readiness

# Replacements of the API's sentences, by code and kind of field.
CHAIN_ID = re.compile(r"\bchain ([0-9]{1,19})\b")  # in sentences of the API
FORM_SENTENCES = {
    ("empty_request", "account"): (
        "Name an account, or choose fields of the block's header, or name logs."
    ),
    ("empty_request", "props"): "Choose fields or slots of the account.",
    ("selector_malformed", "block"): (
        "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
    ),
    ("fee_too_low", "fee"): (
        "Proving to this destination is not free. Enter the maximum to spend; the estimate shows "
        "how much is needed."
    ),
}
# What is named while the user has yet to fill in a field, by its name without numbers.
MISSING = {
    "to": "the contract to call",
    "function": "the function to call",
    "emitter": "the contract whose event starts a run",
    "event": "the event that starts a run",
    "watched": "an account's balance, nonce or slot to watch",
}
LABELS = {"props": "One of these", "slots": "One of these", "header": "One of these"}
POLL_SECONDS = 15  # of an estimate that waits for the block
MAX_ARGUMENT_LENGTH = 100_000  # characters; shells limit the length of an argument
MONTH = 30 * DAY
BLOCKS_BETWEEN_RUNS, BLOCKS_BETWEEN_READINGS = 300, 20  # that are filled in


@dataclass(frozen=True, slots=True)
class DeliveryPart:
    """A delivery, as its template shows it."""

    number: int
    fields: DeliveryFields
    arguments: Sequence[ArgumentField]

    @property
    def error_names(self) -> Mapping[str, str]:
        """Of its fields, by their names without its number."""
        return {name: f"{name}-{self.number}" for name in ("to", "function", "gas")}

    @property
    def digest(self) -> str:
        """It differs if another function or another menu is shown."""
        shown = [(line.label, line.type, line.menu) for line in self.arguments]
        return digest((shown, self.fields.functions, bool(self.fields.parsed_function)))


@dataclass(frozen=True, slots=True)
class EventValue:
    """A parameter of the event that a feed runs for."""

    placeholder: str
    type: str
    name: str
    text: str = ""  # that filters it, as typed

    @property
    def topic(self) -> str:
        """The field that filters the parameter; empty if it is not indexed."""
        return f"topic-{self.placeholder[-1]}" if self.placeholder.startswith("$topic") else ""


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class NewBatchPage:
    """The context of its templates."""

    form: NewBatch
    links: PageLinks
    limits: BatchLimits
    keys: list[KeyView]
    heads: Mapping[int, HeadView]
    notice: str = ""
    json_notice: str = ""  # why the JSON stays JSON
    new_delivery: int | None = None  # its number, if one was just added
    refusal: RefusalError | None = None
    refusal_sentence: str = ""  # in the words of the form
    missing: str = ""  # what the user has yet to fill in
    estimate: BatchEstimate | None = None
    trigger: Trigger | None = None  # of a feed that is valid
    is_valid: bool = False  # as the API checks it
    errors: dict[str, str] = field(default_factory=dict)  # by field
    warnings: dict[str, str] = field(default_factory=dict)  # by field
    checks_on_load: bool = False
    current_digests: Mapping[str, str] = field(default_factory=dict)  # of parts that are shown

    props: ClassVar = tuple(AccountField.__members__)
    header_fields: ClassVar = tuple(HeaderField.__members__)
    poll_seconds: ClassVar = POLL_SECONDS
    max_upload_bytes: ClassVar = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    @cached_property
    def json(self) -> str:
        return self.form.json or json.dumps(self.form.content(), indent=2)

    @property
    def is_feed(self) -> bool:
        return self.form.feed is not None

    @property
    def url_name(self) -> str:
        return "new-feed" if self.is_feed else "new-batch"

    @property
    def url(self) -> str:
        return reverse(self.url_name)

    @property
    def check_url(self) -> str:
        return reverse(f"check-{self.url_name}")

    @property
    def time_units(self) -> Sequence[str]:
        return TIME_UNITS

    @property
    def blocks_a_minute(self) -> int:
        """How many the source makes, as provers measured it; 0 if that is not known."""
        pace = self.head.block_seconds if self.head else None
        return round(MINUTE / pace) if pace else 0

    @cached_property
    def deliveries(self) -> list[DeliveryPart]:
        """At least one, which may be blank."""
        facts = self.form.facts
        return [
            DeliveryPart(number, delivery, delivery.arguments(number, facts))
            for number, delivery in enumerate(self.form.deliveries or (DeliveryFields(),))
        ]

    @property
    def can_add_delivery(self) -> bool:
        return len(self.deliveries) < MAX_DELIVERIES

    @property
    def has_deliveries(self) -> bool:
        return any(not part.fields.is_blank for part in self.deliveries)

    @cached_property
    def watchable(self) -> list[Option]:
        return self.form.facts.watchable

    @cached_property
    def event_values(self) -> list[EventValue]:
        event, feed = self.form.facts.event, self.form.feed
        texts = [*(feed.topics if feed else ()), *(64 * [""])]
        return [
            EventValue(placeholder, kind.to_type_str(), name, text)
            for (placeholder, kind, name), text in zip(
                log_placeholders(event) if event else (), texts, strict=False
            )
        ]

    @property
    def digests(self) -> dict[str, str]:
        """Of the parts whose fields depend on others, by their names."""
        parts = {f"call-{part.number}": part.digest for part in self.deliveries}
        if self.is_feed:
            values = [(value.placeholder, value.type, value.name) for value in self.event_values]
            parts |= {"watching": digest(self.watchable), "log": digest(values)}
        return parts

    @property
    def outdated_parts(self) -> Sequence[str]:
        """The parts that the browser shows in another form; not while a function is being typed."""
        feed = self.form.feed
        unfinished = {
            f"call-{part.number}"
            for part in self.deliveries
            if part.fields.function.strip() and not part.fields.parsed_function
        }
        if feed and feed.event.strip() and not self.event_values:
            unfinished.add("log")
        return [
            name
            for name, value in self.digests.items()
            if self.current_digests.get(name) != value and name not in unfinished
        ]

    @property
    def outdated_calls(self) -> Sequence[DeliveryPart]:
        return [part for part in self.deliveries if f"call-{part.number}" in self.outdated_parts]

    @property
    def field_names(self) -> Sequence[str]:
        """Those that may have an error."""
        if self.form.json:
            return "json", "key"
        names = "source", "destination", "account", "props", "slots", "header", "logs"
        calls = [name for part in self.deliveries for name in part.error_names.values()]
        args = [argument.error_name for part in self.deliveries for argument in part.arguments]
        feed = self.form.feed.field_paths.values() if self.form.feed else ("block",)
        more = ("own-log", "budget") if self.is_feed else ()
        topics = [value.topic for value in self.event_values if value.topic]
        shown = [name for name in feed if not name.startswith("topic-")]
        return (
            *names,
            *dict.fromkeys((*shown, *topics)),
            *more,
            *calls,
            *args,
            "fee",
            "webhook",
            "key",
        )

    @property
    def amounts(self) -> Mapping[str, int]:
        return self.form.amounts

    @property
    def opens_payment(self) -> bool:
        """Whether something is filled in that is folded otherwise."""
        feed, form = self.form.feed, self.form
        limits = (form.budget, feed.until, feed.catch_up) if feed else ()
        is_free = self.destination is not None and self.destination.free
        return not is_free or any((form.fee, form.webhook, *limits))

    @property
    def month_cost(self) -> int:
        """What runs cost at most in 30 days, in wei; 0 if it is not known."""
        pace = self.head.block_seconds if self.head else None
        seconds = self.trigger.seconds_between_runs(pace) if self.trigger else None
        price = self.estimate.max_cost if self.estimate else 0
        return round(price * MONTH / seconds) if seconds else 0

    @property
    def curl_data(self) -> str:
        if self.form.is_blank or len(self.json) > MAX_ARGUMENT_LENGTH:
            return "@batch.json"
        return shlex.quote(self.form.json or json.dumps(self.form.content()))

    @property
    def body(self) -> object:
        """The JSON, parsed with the limits of a request's body."""
        return read_json(self.json.encode(), self.limits.body_bytes)

    @property
    def destinations(self) -> list[Chain]:
        destinations = {destination for _, destination in self.links.routes.registries}
        return [chain for chain in self.links.routes.chains.values() if chain.id in destinations]

    @property
    def sources(self) -> list[Chain]:
        """The chains whose facts can be read at the destination."""
        routes, chains = self.links.routes.registries, self.links.routes.chains
        return [chains[source] for source, target in routes if str(target) == self.form.destination]

    @property
    def destination(self) -> Chain | None:
        return _find_chain(self.form.destination, self.destinations)

    @property
    def source(self) -> Chain | None:
        return _find_chain(self.form.source, self.sources)

    @property
    def head(self) -> HeadView | None:
        return self.heads.get(self.source.id) if self.source else None

    @property
    def chosen_key(self) -> KeyView | None:
        return next((key for key in self.keys if key.row.id == self.form.key), None)

    @property
    def sufficient_fee(self) -> int:
        return _sufficient_fee(self.estimate) if self.estimate else 0

    @cached_property
    def blocks(self) -> list[tuple[BlockEstimate, str]]:
        """The estimate's blocks, with how long until they are final."""
        blocks = self.estimate.blocks if self.estimate else ()
        return [(block, self._time_until_final(block)) for block in blocks]

    def _time_until_final(self, block: BlockEstimate) -> str:
        head, is_waiting = self.heads.get(block.source), block.readiness is Readiness.NOT_FINAL
        if not is_waiting or not block.block or not (head and head.block_seconds):
            return ""
        blocks_left = max(block.block - block.last_final, 1)
        return rough_duration(ceil(blocks_left * head.block_seconds))

    @property
    def readiness(self) -> Readiness:
        """The readiness of the block that is furthest from being proven; READY without blocks."""
        readiness = (block.readiness for block, _ in self.blocks)
        return max(readiness, key=list(Readiness).index, default=Readiness.READY)

    @property
    def block_error(self) -> str:
        """The error of the first block that would be rejected; empty if none would be."""
        return next((block.sentence for block, _ in self.blocks if block.is_rejected), "")

    @cached_property
    def expectations(self) -> list[tuple[Registry, RouteFigures, int]]:
        """Each route's registry, the figures of its batches, and the gas to prove one balance."""
        if self.estimate is None:
            return []
        destination = self.estimate.destination
        sources = dict.fromkeys(block.source for block, _ in self.blocks)
        routes = [(source, destination) for source in sources]
        figures = route_figures(routes, timezone.now().date())
        registries = ((route, self.links.registry(*route)) for route in routes)
        chain, head = self.links.routes.chains[destination], self.heads.get(destination)
        rules = chain.gas_rules(head.gas_rules if head else OSAKA)
        return [
            (registry, figures[route], round(account_cost(registry.block_work, 1, rules).gas))
            for route, registry in registries
            if registry
        ]

    @property
    def expected_costs(self) -> tuple[int, int] | None:
        """The least and most wei that batches of about this size took; None if there was none."""
        facts = Counter[int]()
        for block, _ in self.blocks:
            facts[block.source] += sum(map(fact_count, block.queries))
        costs = [
            figures.expected_costs(facts[registry.source])
            for registry, figures, _ in self.expectations
        ]
        known = [cost for cost in costs if cost]
        if not known or len(known) < len(costs):
            return None
        return sum(least for least, _ in known), sum(most for _, most in known)

    def add_refusal(self, refusal: RefusalError) -> "NewBatchPage":
        is_empty = refusal.code == "empty_request"
        name = self.form.field_of(refusal.path, is_empty=is_empty)
        sentence = self._sentence(refusal, name)
        sentence = CHAIN_ID.sub(lambda match: self.links.chain_name(int(match[1])), sentence)
        errors = {name: sentence} if name else {}
        return replace(self, refusal=refusal, refusal_sentence=sentence, errors=errors)

    def _sentence(self, refusal: RefusalError, name: str) -> str:
        """The refusal's sentence in the words of the form, for the field `name` or a line in it."""
        if refusal.code == "idempotency_key_reused":
            return f"This form {refusal.problem} Submit it again for a new one."
        malformed = self.form.malformed_fields.get(name, "")
        sentence = malformed or FORM_SENTENCES.get((refusal.code, name), "")
        if sentence or not refusal.problem or name in {"", "json"}:
            return sentence or refusal.sentence
        label = LABELS.get(name) or self.form.line_of(refusal.path) or "This"
        return f"{label} {refusal.problem}"

    def without_early_errors(self, form: Mapping[str, object]) -> "NewBatchPage":
        """Return the page without an error of an empty field: the user has yet to reach it."""
        name = next(iter(self.errors), "")
        arguments = {
            argument.error_name: f"a value for {argument.label}"
            for part in self.deliveries
            for argument in part.arguments
        }
        label = arguments.get(name) or MISSING.get(name.partition("-")[0], "")
        if self.refusal and self.refusal.code == "empty_request" and self.form.is_blank:
            return replace(self, refusal=None, errors={})
        is_empty = not (form.get(name) or form.get(name.replace("arg-", "menu-")))
        if not (is_empty and label):
            return self
        return replace(self, refusal=None, errors={}, missing=label)

    def add_estimate(self, estimate: BatchEstimate, batch: CheckedBatch) -> "NewBatchPage":
        """Return the page with the estimate; the fee is filled in unless the user entered one."""
        form = self.form
        if not estimate.free and not form.json:
            form = form.fill_in_fee(_sufficient_fee(estimate))
        warnings = {form.field_of(warning.path): warning.sentence for warning in batch.warnings}
        return replace(self, form=form, estimate=estimate, warnings=warnings)

    def correct_choices(self) -> "NewBatchPage":
        """Return the page without choices that the destination lacks; not used on submit.

        A new source gets its last final block, unless the user has entered a block.
        """
        destination = _valid_choice(self.form.destination, self.destinations)
        page = replace(self, form=replace(self.form, destination=destination))
        form, source = page.form, _valid_choice(page.form.source, page.sources)
        currency = destination_currency(destination, self.links)
        page = replace(page, form=replace(form, currency=currency, source=source))
        form = replace(
            form, currency=currency, feed=form.feed and page.fill_in_intervals(form.feed)
        )
        if not page.chosen_key:
            form = replace(form, key=page.keys[0].row.id if page.keys else "")
        is_same = source == form.source and (form.block or form.filled_block)
        if not is_same and form.block.strip() in {"", form.filled_block}:
            head = self.heads.get(int(source)) if source else None
            block = str(head.final) if head else ""
            form = replace(form, block=block, filled_block=block)
        return replace(page, form=replace(form, source=source))

    def fill_in_intervals(self, feed: FeedFields) -> FeedFields:
        """Return the fields with an interval for each trigger that has none yet."""
        blocks = max(BLOCKS_BETWEEN_READINGS, self.blocks_a_minute)
        return replace(
            feed,
            blocks=feed.blocks or str(BLOCKS_BETWEEN_RUNS),
            time=feed.time or "1",
            read_blocks=feed.read_blocks or str(blocks),
        )


def _sufficient_fee(estimate: BatchEstimate) -> int:
    """The fee to submit with: where proving is not free, 0 is refused even if nothing is needed."""
    return 0 if estimate.free else max(estimate.fee_needed, 1)


def _find_chain(text: str, chains: list[Chain]) -> Chain | None:
    return next((chain for chain in chains if str(chain.id) == text), None)


def _valid_choice(text: str, chains: list[Chain]) -> str:
    return text if _find_chain(text, chains) else str(chains[0].id) if chains else ""
