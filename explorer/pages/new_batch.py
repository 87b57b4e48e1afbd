"""The page of a new batch: its form, the estimate, and submitting.

The API's own functions check, estimate and submit, so the page and the API have the same rules.
"""

import json
import re
import shlex
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.keys import manage
from accounts.keys.check import count_request
from accounts.reading import KeyChoice, key_choices
from accounts.shared.errors import RefusalError
from accounts.shared.wording import format_timestamp
from accounts.sign_in.sessions import signed_in_account
from explorer.pages.errors import batch_too_large
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import BatchJson, FormPart, NewBatch, read_form, write_batch
from queries.api.batches import submit_batch
from queries.api.estimates import BlockEstimateResponse, EstimateResponse, estimate_batch
from queries.config.routes import Chain
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.figures import HeadView, chain_heads
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.strict_json import read_json

# Text and mark by the readiness of a block.
READINESS = {
    "PROVEN": ("proven already", "proven"),
    "READY": ("can be proven now", "proven"),
    "NOT_FINAL": ("not final yet: it will wait", "waiting"),
    "NOT_KNOWN": ("its hash is not known on the destination yet: it will wait", "waiting"),
    "OUT_OF_REACH": ("out of reach: it would be rejected", "rejected"),
    "FAILS": ("would be rejected", "rejected"),
}
# Replacements of the API's sentences, by code and kind of field.
FORM_SENTENCES = {
    ("empty_request", "account"): "Name an account, or choose fields of the block's header.",
    ("empty_request", "props"): "Choose fields or slots of the account.",
    ("selector_malformed", "block"): (
        "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
    ),
    ("fee_too_low", "fee"): (
        "Proving to this destination is not free. Enter the maximum to spend on the batch, in wei; "
        "the estimate shows how much is needed."
    ),
}
FIELDS = ("destination", "fee", "webhook", "key")
PART_FIELDS = ("source", "block", "account", "props", "slots", "header")
DEFAULT_PROPS = ("BALANCE",)
MAX_WARNINGS = 5  # on the page that follows a submission
_PARENT_PATH = re.compile(r" in data\.\S*(?=: )")
_SELECTOR = re.compile(r"(block|timestamp):([0-9]{1,20})\b")


def form_sentence(refusal: RefusalError, name: str) -> str:
    """The refusal's sentence in the words of the form, for the field `name`."""
    kind, sentence = name.partition("-")[0], refusal.sentence
    if (refusal.code, kind) in FORM_SENTENCES:
        return FORM_SENTENCES[refusal.code, kind]
    if refusal.code == "idempotency_key_reused":
        sentence = sentence.replace("This Idempotency-Key", "This form")
        return sentence.replace("Use a new key for a new batch", "Submit it again for a new one")
    if name and sentence.startswith(refusal.path):
        value = "One of these" if kind in {"props", "slots", "header"} else "This"
        rest = sentence.removeprefix(refusal.path)
        sentence = rest[2].upper() + rest[3:] if rest.startswith(": ") else value + rest
    return _SELECTOR.sub(_selector_text, _PARENT_PATH.sub("", sentence))


def _selector_text(match: re.Match[str]) -> str:
    number = int(match[2])
    if match[1] == "timestamp":
        return format_timestamp(number)
    return f"{'block' if match.start() else 'Block'} {number:,}"


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the form, with its source chain's configuration and state."""

    input: FormPart
    position: int  # from 1
    source: Chain | None
    head: HeadView | None

    @property
    def takes_names(self) -> bool:
        return bool(self.source and self.source.ens_registry)


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
class NewBatchPage:
    """The context of its templates."""

    form: NewBatch
    links: PageLinks
    limits: BatchLimits
    site_url: str
    keys: tuple[KeyChoice, ...]
    heads: Mapping[int, HeadView]
    refusal: RefusalError | None = None
    refusal_sentence: str = ""  # in the words of the form
    estimate: EstimateResponse | None = None
    errors: dict[str, str] = field(default_factory=dict)  # by field
    warnings: dict[str, str] = field(default_factory=dict)  # by field
    new_part: int | None = None  # number of a part that was just added
    checks_on_load: bool = False

    props: ClassVar = tuple(AccountField.__members__)
    header_fields: ClassVar = tuple(HeaderField.__members__)
    max_upload_bytes: ClassVar = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    @cached_property
    def batch_json(self) -> BatchJson:
        return write_batch(self.form)

    @property
    def json(self) -> str:
        return json.dumps(self.batch_json.content, indent=2)

    @property
    def curl_data(self) -> str:
        return shlex.quote(json.dumps(self.batch_json.content))

    @property
    def body(self) -> object:
        """The JSON, parsed with the limits of a request's body."""
        return read_json(json.dumps(self.batch_json.content).encode(), self.limits.body_bytes)

    @property
    def field_names(self) -> list[str]:
        """The fields that can have an error or a warning."""
        parts = product(self.form.parts, PART_FIELDS)
        return [*FIELDS, *(f"{name}-{part.number}" for part, name in parts)]

    @property
    def destinations(self) -> list[Chain]:
        destinations = {destination for _, destination in self.links.routes.registries}
        return self._configured_chains(destinations)

    @property
    def sources(self) -> list[Chain]:
        """The chains whose facts can be read at the destination."""
        routes = self.links.routes.registries
        return self._configured_chains(
            {source for source, target in routes if str(target) == self.form.destination}
        )

    def _configured_chains(self, ids: set[int]) -> list[Chain]:
        return [chain for chain in self.links.routes.chains.values() if chain.id in ids]

    @property
    def destination(self) -> Chain | None:
        chains = (chain for chain in self.destinations if str(chain.id) == self.form.destination)
        return next(chains, None)

    @property
    def parts(self) -> tuple[PartView, ...]:
        sources = {str(chain.id): chain for chain in self.sources}
        return tuple(
            PartView(part, position, source, self.heads.get(source.id) if source else None)
            for position, part in enumerate(self.form.parts, 1)
            for source in [sources.get(part.source)]
        )

    @property
    def chosen_key(self) -> KeyChoice | None:
        return next((key for key in self.keys if key.id == self.form.key), None)

    @property
    def blocks(self) -> Iterator[tuple[BlockEstimateResponse, str, str]]:
        """The blocks of the estimate, with the text and mark of their readiness."""
        for block in self.estimate.blocks if self.estimate else ():
            yield block, *READINESS[block.readiness]

    @property
    def marks(self) -> set[str]:
        return {mark for *_, mark in self.blocks}

    @property
    def is_proven(self) -> bool:
        return all(block.readiness == "PROVEN" for block, *_ in self.blocks)

    def add_refusal(self, refusal: RefusalError) -> "NewBatchPage":
        name = self.batch_json.field_for(refusal)
        sentence = form_sentence(refusal, name)
        errors = {name: sentence} if name else {}
        return replace(self, refusal=refusal, refusal_sentence=sentence, errors=errors)

    @property
    def has_input(self) -> bool:
        """False if the only error is that a part is still blank."""
        is_empty = self.refusal and self.refusal.code == "empty_request"
        return not (is_empty and any(part.is_blank for part in self.form.parts))

    def add_estimate(self, estimate: EstimateResponse) -> "NewBatchPage":
        """Fills in the needed fee, unless the user has entered another one."""
        form = self.form
        if not estimate.free and form.fee.strip() in {"", form.filled_fee}:
            fee = str(estimate.fee_needed)
            form = replace(form, fee=fee, filled_fee=fee)
        warnings = {
            self.batch_json.field_at_path(warning.path): warning.sentence
            for warning in estimate.warnings
        }
        return replace(self, form=form, estimate=estimate, warnings=warnings)

    def correct_choices(self) -> "NewBatchPage":
        """Replaces choices that the new destination does not offer; not used on submit."""
        destination = _valid_choice(self.form.destination, self.destinations)
        page = replace(self, form=replace(self.form, destination=destination))
        key = page.form.key if page.chosen_key else page.keys[0].id if page.keys else ""
        parts = tuple(page.fill_in_block(part) for part in page.form.parts)
        return replace(page, form=replace(page.form, parts=parts, key=key))

    def fill_in_block(self, part: FormPart) -> FormPart:
        """Fills in the last final block of a new source, unless the user has entered a block."""
        source = _valid_choice(part.source, self.sources)
        if source == part.source or part.block.strip() not in {"", part.filled}:
            return replace(part, source=source)
        head = self.heads.get(int(source)) if source else None
        block = str(head.final) if head else ""
        return replace(part, source=source, block=block, filled=block)


def _valid_choice(text: str, chains: list[Chain]) -> str:
    ids = [str(chain.id) for chain in chains]
    return text if text in ids else ids[0] if ids else ""


def _new_idempotency_key() -> str:
    return f"page-{uuid.uuid4()}"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    if request.method != "POST":
        form = NewBatch((FormPart(0, props=DEFAULT_PROPS),))
        return _form_response(
            request, _new_batch_page(request, form, links, limits).correct_choices()
        )
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    chosen, _, number = request.POST.get("do", "").partition("-")
    match chosen:
        case "submit":
            return _submit(request, page)
        case "check":
            return _form_response(request, _check(request, page.correct_choices()))
        case "add" if not page.form.is_full:
            form = page.form.add_part()
            page = replace(page, form=form, new_part=form.parts[-1].number)
        case "remove":
            page = replace(page, form=page.form.remove_part(number))
        case "key":
            page = _create_key(request, page)
    return _form_response(request, page.correct_choices())


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    """The estimate and the errors while the user types; the form itself is not replaced."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    checked = _check(request, page)
    # No errors about fields that the user has not reached yet.
    context = {"page": checked if checked.has_input else page, "links": links}
    return render(request, "new_batch/check.html", context)


def _new_batch_page(
    request: HttpRequest, form: NewBatch, links: PageLinks, limits: BatchLimits
) -> NewBatchPage:
    form = replace(form, idempotency_key=form.idempotency_key or _new_idempotency_key())
    site_url = f"{request.scheme}://{request.get_host()}"
    keys, heads = key_choices(signed_in_account(request)), chain_heads(links.routes.chains.keys())
    return NewBatchPage(form, links, limits, site_url, keys, heads)


def _form_response(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    """The whole page, or only the form for htmx."""
    template = "new_batch/page.html"
    if request.headers.get("HX-Request") == "true":
        template = "new_batch/form.html"
        # Input during the swap raises no event in the new form.
        page = replace(page, checks_on_load=page.refusal is None)
    return render(request, template, {"page": page, "links": page.links})


def _check(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The result of POST /estimate; only the checks of the request if the user has no key."""
    routes, limits = page.links.routes, page.limits
    try:
        if not page.keys:
            read_batch(page.body, routes, limits)
            return page
        key = count_request(signed_in_account(request), page.form.key)
        return page.add_estimate(estimate_batch(key, page.body, routes, limits))
    except RefusalError as refusal:
        return page.add_refusal(refusal)


def _submit(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    form, routes = page.form, page.links.routes
    try:
        key = count_request(signed_in_account(request), form.key)
        batch = submit_batch(key, page.body, form.idempotency_key, routes, page.limits)
    except RefusalError as refusal:
        # The key belongs to another batch, so this form needs a new one.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=_new_idempotency_key()))
        return _form_response(request, page.add_refusal(refusal))
    for warning in batch.warnings[:MAX_WARNINGS]:
        messages.warning(request, warning["sentence"])
    return redirect("batch", batch.id)


def _create_key(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    owner = signed_in_account(request)
    try:
        manage.count_change(owner)
        key = manage.add_key(owner, manage.FIRST_NAME)
    except RefusalError as refusal:
        return page.add_refusal(refusal)
    return replace(page, keys=key_choices(owner), form=replace(page.form, key=key.id))
