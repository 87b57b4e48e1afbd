"""The page of a new batch, or of a feed that repeats it: the form, the estimate, and submitting.

The same functions check, estimate and submit for the API, so both have the same rules.
"""

import json
import re
import shlex
import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import ClassVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.http.errors import RefusalError
from accounts.keys.check import count_request
from accounts.reading import KeyView, active_keys
from accounts.sign_in.sessions import signed_in_account
from explorer.pages.errors import batch_too_large
from explorer.pages.formatting import rough_duration
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import (
    DEFAULT_COUNTS,
    UNITS,
    NewBatch,
    form_from_batch,
    form_from_link,
    read_form,
)
from queries.config.chains import Chain
from queries.config.measured_costs import account_cost
from queries.error_codes import EndpointCode
from queries.facts import fact_count
from queries.feeds.bodies import one_block, run_body, scheduled_run
from queries.feeds.manage import check_feed, create_feed
from queries.feeds.triggers import requested_trigger
from queries.intake.submit import check_batch, check_fee, submit_batch
from queries.planning import on_request
from queries.planning.estimate import BatchEstimate, BlockEstimate
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.batch_details import stored_request
from queries.reading.chain_heads import HeadView, chain_heads
from queries.reading.figures import RouteFigures, route_figures
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.checked_batch import CheckedBatch
from queries.schema.strict_json import read_json
from queries.sources.registry import Registry
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
        "Proving to this destination is not free. Enter the maximum to spend on the batch, in wei; "
        "the estimate shows how much is needed."
    ),
}
# By field, for a text that is not a number or a time.
MALFORMED_SENTENCES = {
    "repeat-count": "Enter a whole number.",
    "until": "Enter a time in UTC, such as 2027-01-31 or 2027-01-31 18:00.",
}
WEI = re.compile("[0-9]{5,78}")  # less than 10,000 is shown in wei anyway
POLL_SECONDS = 15  # of an estimate that waits for the block
MAX_WARNINGS = 5  # on the page that follows a submission
MAX_ARGUMENT_LENGTH = 100_000  # characters; shells limit the length of an argument


def form_sentence(
    refusal: RefusalError, name: str, line: str = "", malformed: Collection[str] = ()
) -> str:
    """The refusal's sentence in the words of the form, for the field `name` or a line in it.
    `malformed`: fields whose text is not a number or a time.
    """
    sentence = FORM_SENTENCES.get((refusal.code, name))
    if refusal.code == "idempotency_key_reused":
        return f"This form {refusal.problem} Submit it again for a new one."
    if name in malformed:
        sentence = MALFORMED_SENTENCES[name]
    if sentence or not refusal.problem or name in {"", "json"}:
        return sentence or refusal.sentence
    label = "One of these" if name in {"props", "slots", "header"} else line or "This"
    return f"{label} {refusal.problem}"


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class NewBatchPage:
    """The context of its templates."""

    form: NewBatch
    links: PageLinks
    limits: BatchLimits
    keys: list[KeyView]
    heads: Mapping[int, HeadView]
    notice: str = ""
    refusal: RefusalError | None = None
    refusal_sentence: str = ""  # in the words of the form
    estimate: BatchEstimate | None = None
    errors: dict[str, str] = field(default_factory=dict)  # by field
    warnings: dict[str, str] = field(default_factory=dict)  # by field
    checks_on_load: bool = False

    props: ClassVar = tuple(AccountField.__members__)
    header_fields: ClassVar = tuple(HeaderField.__members__)
    poll_seconds: ClassVar = POLL_SECONDS
    units: ClassVar = UNITS
    max_upload_bytes: ClassVar = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    @cached_property
    def json(self) -> str:
        return self.form.json or json.dumps(self.form.content(), indent=2)

    @property
    def amounts(self) -> Mapping[str, int]:
        """The fee and the budget in wei, those that read better in another unit."""
        texts = {"fee": self.form.fee.strip(), "budget": self.form.budget.strip()}
        return {name: int(text) for name, text in texts.items() if WEI.fullmatch(text)}

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
        return [
            (registry, figures[route], round(account_cost(registry.block_work, 1).gas))
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
        line = self.form.line_of(refusal.path)
        sentence = form_sentence(refusal, name, line, self.form.malformed_fields)
        sentence = CHAIN_ID.sub(lambda match: self.links.chain_name(int(match[1])), sentence)
        errors = {name: sentence} if name else {}
        return replace(self, refusal=refusal, refusal_sentence=sentence, errors=errors)

    def add_estimate(self, estimate: BatchEstimate, batch: CheckedBatch) -> "NewBatchPage":
        """Return the page with the estimate; the fee is filled in unless the user entered one."""
        form = self.form
        if not estimate.free and form.fee.strip() in {"", form.filled_fee}:
            fee = str(_sufficient_fee(estimate))
            form = replace(form, fee=fee, filled_fee=fee)
        warnings = {form.field_of(warning.path): warning.sentence for warning in batch.warnings}
        return replace(self, form=form, estimate=estimate, warnings=warnings)

    def correct_choices(self) -> "NewBatchPage":
        """Return the page without choices that the destination lacks; not used on submit.

        A new source gets its last final block, unless the user has entered a block.
        """
        destination = _valid_choice(self.form.destination, self.destinations)
        page = replace(self, form=replace(self.form, destination=destination))
        form, source = page.form, _valid_choice(page.form.source, page.sources)
        if form.repeats and not form.repeat_count.strip():
            form = replace(form, repeat_count=DEFAULT_COUNTS.get(form.repeat, "1"))
        if not page.chosen_key:
            form = replace(form, key=page.keys[0].row.id if page.keys else "")
        is_same = source == form.source and (form.block or form.filled_block)
        if not is_same and form.block.strip() in {"", form.filled_block}:
            head = self.heads.get(int(source)) if source else None
            block = str(head.final) if head else ""
            form = replace(form, block=block, filled_block=block)
        return replace(page, form=replace(form, source=source))


def _sufficient_fee(estimate: BatchEstimate) -> int:
    """The fee to submit with: where proving is not free, 0 is refused even if nothing is needed."""
    return 0 if estimate.free else max(estimate.fee_needed, 1)


def _find_chain(text: str, chains: list[Chain]) -> Chain | None:
    return next((chain for chain in chains if str(chain.id) == text), None)


def _valid_choice(text: str, chains: list[Chain]) -> str:
    return text if _find_chain(text, chains) else str(chains[0].id) if chains else ""


def _new_idempotency_key() -> str:
    return f"page-{uuid.uuid4()}"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    if request.method != "POST":
        form, notice = _first_form(request, links)
        page = _new_batch_page(request, form, links, limits)
        return _form_response(request, replace(page, notice=notice).correct_choices())
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    action = request.POST.get("do", "")
    if action == "submit":
        return _submit(request, page)
    page = page.correct_choices()
    if action == "json":
        page = replace(page, form=replace(page.form, json=page.json))
    return _form_response(request, _check_or_estimate(request, page) if action == "check" else page)


def _first_form(request: HttpRequest, links: PageLinks) -> tuple[NewBatch, str]:
    """The form when it is opened, and a notice about it."""
    if "batch" not in request.GET:
        return form_from_link(request.GET, links)
    request_of_batch = stored_request(signed_in_account(request), request.GET["batch"])
    if request_of_batch is None:
        raise Http404
    return form_from_batch(request_of_batch)


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    """The estimate and the errors while the user types; the form itself is not replaced."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    checked_page = _check_or_estimate(request, page)
    # No errors about fields that the user has not reached yet.
    refusal = checked_page.refusal
    is_empty = refusal is not None and refusal.code == "empty_request"
    context = {"page": page if is_empty and page.form.is_blank else checked_page}
    return render(request, "new_batch/check.html", context)


def _new_batch_page(
    request: HttpRequest, form: NewBatch, links: PageLinks, limits: BatchLimits
) -> NewBatchPage:
    form = replace(form, idempotency_key=form.idempotency_key or _new_idempotency_key())
    keys, heads = active_keys(signed_in_account(request)), chain_heads(links.routes.chains.keys())
    return NewBatchPage(form, links, limits, keys, heads)


def _form_response(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    """The whole page, or only the form for htmx."""
    template = "new_batch/page.html"
    checks_on_load = bool(request.GET) and not page.form.is_blank
    if request.headers.get("HX-Request") == "true":
        # Text typed while htmx swaps the form fires no event, so check again on load.
        template, checks_on_load = "new_batch/form.html", True
    page = replace(page, checks_on_load=checks_on_load and page.refusal is None)
    return render(request, template, {"page": page})


def _check_or_estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The checks of the request, and the estimate of the batch or of a run of the feed."""
    if not page.form.makes_feed:
        return _estimate(request, page)
    refusal = _feed_refusal(page)
    if refusal and refusal.code != EndpointCode.FEE_TOO_LOW.code:
        return page.add_refusal(refusal)
    run_form = _form_of_run(page)
    if run_form is None:
        return page.add_refusal(refusal) if refusal else page
    run_page, form = _estimate(request, replace(page, form=run_form)), page.form
    if not form.json:
        form = replace(form, fee=run_page.form.fee, filled_fee=run_page.form.filled_fee)
    page = replace(run_page, form=form)
    # Again, now that the fee may be filled in.
    refusal = _feed_refusal(page) if page.estimate else None
    return page.add_refusal(refusal) if refusal else page


def _feed_refusal(page: NewBatchPage) -> RefusalError | None:
    """Why the feed would be refused, as POST /feeds says it."""
    try:
        check_feed(page.body, page.links.routes, page.limits)
    except RefusalError as refusal:
        return refusal
    return None


def _form_of_run(page: NewBatchPage) -> NewBatch | None:
    """The form of a batch with the newest final block for that of each run; None if not known."""
    if not page.form.json:
        return replace(page.form, repeat="", block=str(page.head.final)) if page.head else None
    content = json.loads(page.form.json)
    if not requested_trigger(content).can_run_now:  # its placeholders have no values yet
        return None
    try:
        chain, _ = one_block(content["batch"])
    except (AttributeError, KeyError, TypeError, ValueError):  # refused when it is submitted
        return None
    head = page.heads.get(page.links.chains_by_name().get(chain.lower(), 0))
    if head is None:
        return None
    run = scheduled_run(head.final)
    return replace(page.form, json=json.dumps(run_body(content["batch"], run)))


def _estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The result of POST /estimate; only the checks of the request if the user has no key."""
    routes, limits = page.links.routes, page.limits
    try:
        if not page.keys:
            read_batch(page.body, routes, limits)
            return page
        key = count_request(signed_in_account(request), page.form.key)
        batch = read_batch(page.body, routes, limits, needs_fee=False)
        page = page.add_estimate(on_request.estimate(key, batch, routes), batch)
        # As when it is submitted, now that the fee may be filled in.
        batch = check_batch(page.body, routes, limits)
        check_fee(batch, free=routes.chains[batch.destination].free)
    except RefusalError as refusal:
        return page.add_refusal(refusal)
    return page


def _submit(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    form, routes = page.form, page.links.routes
    try:
        key = count_request(signed_in_account(request), form.key)
        if form.makes_feed:
            feed, first_batch = create_feed(key.owner, page.body, routes, page.limits)
            _show_warnings(request, [warning.sentence for warning in first_batch.warnings])
            return redirect("feed", feed.id)
        batch = submit_batch(key.owner, page.body, form.idempotency_key, routes, page.limits)
    except RefusalError as refusal:
        # The idempotency key is malformed or belongs to another batch: give the form a new one.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=_new_idempotency_key()))
        return _form_response(request, page.add_refusal(refusal))
    _show_warnings(request, [warning["sentence"] for warning in batch.warnings])
    return redirect("batch", batch.id)


def _show_warnings(request: HttpRequest, sentences: Sequence[str]) -> None:
    for sentence in sentences[:MAX_WARNINGS]:
        messages.warning(request, sentence)
