"""The page of a new batch: its form, what the API says of it, and submitting.

The API's own functions check, estimate and submit, so a page refuses what a program is refused.
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
from accounts.reading import KeyChoice, keys_to_choose
from accounts.shared.errors import Refusal
from accounts.shared.wording import spoken
from accounts.sign_in.sessions import account_of
from explorer.pages.errors import too_much_for_a_batch
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import NewBatch, Part, Written, read_form, write
from queries.api.batches import submit_batch
from queries.api.estimates import BlockEstimateResponse, EstimateResponse, estimate_batch
from queries.config.routes import Chain
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.figures import HeadView, heads_of
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.strict_json import read_json

# How a block stands, for people, and the mark it is shown with.
STANDING = {
    "PROVEN": ("proven already", "proven"),
    "READY": ("can be proven now", "proven"),
    "NOT_FINAL": ("not final yet: it will wait", "waiting"),
    "NOT_KNOWN": ("its hash is not known on the destination yet: it will wait", "waiting"),
    "OUT_OF_REACH": ("out of reach: it would be rejected", "rejected"),
    "FAILS": ("would be rejected", "rejected"),
}
# Instead of the API's sentence, by its code and the kind of field.
INSTEAD = {
    ("nothing_asked", "account"): "Name an account, or choose fields of the block's header.",
    ("nothing_asked", "props"): "Choose what is to be proven of the account, or name slots of it.",
    ("selector_malformed", "block"): (
        "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
    ),
    ("fee_too_low", "fee"): (
        "Proving to this destination is not free. Offer the most that may be spent on the batch, "
        "in wei; the estimate shows how much is needed."
    ),
}
FIELDS = ("destination", "fee", "webhook", "key")
PART_FIELDS = ("source", "block", "account", "props", "slots", "header")
ASKED_AT_FIRST = ("BALANCE",)
MOST_WARNINGS = 5  # shown on the batch's page after it was submitted
_HOLDER = re.compile(r" in data\.\S*(?=: )")
_SELECTOR = re.compile(r"(block|timestamp):([0-9]{1,20})\b")


def in_words(refusal: Refusal, name: str) -> str:
    """The refusal's sentence, as it stands beside the field of this name."""
    kind, sentence = name.partition("-")[0], refusal.sentence
    if (refusal.code, kind) in INSTEAD:
        return INSTEAD[refusal.code, kind]
    if refusal.code == "idempotency_key_reused":
        sentence = sentence.replace("This Idempotency-Key", "This form")
        return sentence.replace("Use a new key for a new batch", "Submit it again for a new one")
    if name and sentence.startswith(refusal.path):
        value = "One of these" if kind in {"props", "slots", "header"} else "This"
        said = sentence.removeprefix(refusal.path)
        sentence = said[2].upper() + said[3:] if said.startswith(": ") else value + said
    return _SELECTOR.sub(_selector_in_words, _HOLDER.sub("", sentence))


def _selector_in_words(found: re.Match[str]) -> str:
    number = int(found[2])
    return f"block {number:,}" if found[1] == "block" else spoken(number)


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the form, with what there is to choose and to know in it."""

    typed: Part
    place: int  # as people count them
    source: Chain | None
    head: HeadView | None  # where a prover has seen one

    @property
    def takes_names(self) -> bool:
        return bool(self.source and self.source.ens_registry)


@dataclass(frozen=True)  # without slots, so that what is written is kept
class NewBatchPage:
    """All that its templates show."""

    form: NewBatch
    links: PageLinks
    limits: BatchLimits
    site_url: str
    keys: tuple[KeyChoice, ...]
    heads: Mapping[int, HeadView]
    refusal: Refusal | None = None
    refused_with: str = ""  # its sentence, in the form's words
    estimate: EstimateResponse | None = None
    faults: dict[str, str] = field(default_factory=dict)  # what was refused, by field
    warnings: dict[str, str] = field(default_factory=dict)  # likewise
    newest: int | None = None  # the number of a part that was just added
    check_at_once: bool = False  # whether the browser asks for an estimate once it has the form

    props: ClassVar = tuple(AccountField.__members__)
    header_fields: ClassVar = tuple(HeaderField.__members__)
    longest: ClassVar = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # bytes of it that are read

    @cached_property
    def written(self) -> Written:
        return write(self.form)

    @property
    def json(self) -> str:
        return json.dumps(self.written.content, indent=2)

    @property
    def curl_data(self) -> str:
        """As a shell takes it, whatever was typed."""
        return shlex.quote(json.dumps(self.written.content))

    @property
    def sent(self) -> object:
        """Read like the body of a request, so that it is bounded and storable like one."""
        return read_json(json.dumps(self.written.content).encode(), self.limits.body_bytes)

    @property
    def field_names(self) -> list[str]:
        """The fields that can show a fault or a warning."""
        of_parts = product(self.form.parts, PART_FIELDS)
        return [*FIELDS, *(f"{name}-{part.number}" for part, name in of_parts)]

    @property
    def destinations(self) -> list[Chain]:
        reached = {destination for _, destination in self.links.routes.registries}
        return self._chains(reached)

    @property
    def sources(self) -> list[Chain]:
        """The chains whose facts can be read at the destination."""
        proven = {
            source
            for source, destination in self.links.routes.registries
            if str(destination) == self.form.destination
        }
        return self._chains(proven)

    def _chains(self, ids: set[int]) -> list[Chain]:
        return [each for each in self.links.routes.chains.values() if each.id in ids]

    @property
    def destination(self) -> Chain | None:
        chosen = (each for each in self.destinations if str(each.id) == self.form.destination)
        return next(chosen, None)

    @property
    def parts(self) -> tuple[PartView, ...]:
        sources = {str(chain.id): chain for chain in self.sources}
        return tuple(
            PartView(part, place, source, self.heads.get(source.id) if source else None)
            for place, part in enumerate(self.form.parts, 1)
            for source in [sources.get(part.source)]
        )

    @property
    def chosen_key(self) -> KeyChoice | None:
        return next((key for key in self.keys if key.id == self.form.key), None)

    @property
    def blocks(self) -> Iterator[tuple[BlockEstimateResponse, str, str]]:
        """Of the estimate, each with how it stands and its mark."""
        for block in self.estimate.blocks if self.estimate else ():
            yield block, *STANDING[block.readiness]

    @property
    def marks(self) -> set[str]:
        return {mark for *_, mark in self.blocks}

    @property
    def is_proven(self) -> bool:
        return all(block.readiness == "PROVEN" for block, *_ in self.blocks)

    def refused(self, refusal: Refusal) -> "NewBatchPage":
        name = self.written.field_of(refusal)
        sentence = in_words(refusal, name)
        faults = {name: sentence} if name else {}
        return replace(self, refusal=refusal, refused_with=sentence, faults=faults)

    @property
    def is_begun(self) -> bool:
        """Whether what was refused is more than that a part is still blank."""
        asks_nothing = self.refusal and self.refusal.code == "nothing_asked"
        return not (asks_nothing and any(part.is_blank for part in self.form.parts))

    def estimated(self, estimate: EstimateResponse) -> "NewBatchPage":
        """With the fee that is needed, where the person has written none."""
        form = self.form
        if not estimate.free and form.fee.strip() in {"", form.filled_fee}:
            fee = str(estimate.fee_needed)
            form = replace(form, fee=fee, filled_fee=fee)
        warnings = {self.written.field_at(each.path): each.sentence for each in estimate.warnings}
        return replace(self, form=form, estimate=estimate, warnings=warnings)

    def arranged(self) -> "NewBatchPage":
        """With invalid choices replaced by valid ones: another destination has other sources.

        Only for a form that is shown again, never for one that is submitted.
        """
        destination = _one_of(self.form.destination, self.destinations)
        page = replace(self, form=replace(self.form, destination=destination))
        key = page.form.key if page.chosen_key else page.keys[0].id if page.keys else ""
        parts = tuple(page._filled(part) for part in page.form.parts)  # noqa: SLF001  (its own)
        return replace(page, form=replace(page.form, parts=parts, key=key))

    def _filled(self, part: Part) -> Part:
        """With the last final block, where no other was typed and the chain has become another."""
        source = _one_of(part.source, self.sources)
        if source == part.source or part.block.strip() not in {"", part.filled}:
            return replace(part, source=source)
        head = self.heads.get(int(source)) if source else None
        block = str(head.final) if head else ""
        return replace(part, source=source, block=block, filled=block)


def _one_of(text: str, chains: list[Chain]) -> str:
    ids = [str(chain.id) for chain in chains]
    return text if text in ids else ids[0] if ids else ""


def _new_idempotency_key() -> str:
    return f"page-{uuid.uuid4()}"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    if request.method != "POST":
        form = NewBatch((Part(0, props=ASKED_AT_FIRST),))
        return _shown(request, _page(request, form, links, limits).arranged())
    page = _page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return too_much_for_a_batch(request, limits)
    chosen, _, number = request.POST.get("do", "").partition("-")
    match chosen:
        case "submit":
            return _submitted(request, page)
        case "check":
            return _shown(request, _checked(request, page.arranged()))
        case "add" if not page.form.is_full:
            form = page.form.with_another_part()
            page = replace(page, form=form, newest=form.parts[-1].number)
        case "remove":
            page = replace(page, form=page.form.without_part(number))
        case "key":
            page = _with_a_key(request, page)
    return _shown(request, page.arranged())


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    """While one types: what is said to the form, and nothing of the form itself."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    page = _page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return too_much_for_a_batch(request, limits)
    checked = _checked(request, page)
    # Someone who has just begun to type knows that there is more to come.
    shown = {"page": checked if checked.is_begun else page, "links": links}
    return render(request, "new_batch/said.html", shown)


def _page(
    request: HttpRequest, form: NewBatch, links: PageLinks, limits: BatchLimits
) -> NewBatchPage:
    """As it was typed."""
    form = replace(form, idempotency_key=form.idempotency_key or _new_idempotency_key())
    site_url = f"{request.scheme}://{request.get_host()}"
    keys, heads = keys_to_choose(account_of(request)), heads_of(links.routes.chains.keys())
    return NewBatchPage(form, links, limits, site_url, keys, heads)


def _shown(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    """The whole page, or the form alone where a script asks for it."""
    template = "new_batch/page.html"
    if request.headers.get("HX-Request") == "true":
        template = "new_batch/form.html"
        # At once, because what is typed while the form is exchanged raises no event in the new one.
        page = replace(page, check_at_once=page.refusal is None)
    return render(request, template, {"page": page, "links": page.links})


def _checked(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """What POST /estimate says; without a key, only the checks that are the same for everyone."""
    routes, limits = page.links.routes, page.limits
    try:
        if not page.keys:
            read_batch(page.sent, routes, limits)
            return page
        key = count_request(account_of(request), page.form.key)
        return page.estimated(estimate_batch(key, page.sent, routes, limits))
    except Refusal as refusal:
        return page.refused(refusal)


def _submitted(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    """What POST /submit-batch-query does."""
    form, routes = page.form, page.links.routes
    try:
        key = count_request(account_of(request), form.key)
        batch = submit_batch(key, page.sent, form.idempotency_key, routes, page.limits)
    except Refusal as refusal:
        # Under a key that another batch came with, nothing else could ever be submitted.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=_new_idempotency_key()))
        return _shown(request, page.refused(refusal))
    for each in batch.warnings[:MOST_WARNINGS]:
        messages.warning(request, each["sentence"])
    return redirect("batch", batch.id)


def _with_a_key(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """As the dashboard's form does."""
    owner = account_of(request)
    try:
        manage.count_change(owner)
        made = manage.add_key(owner, manage.FIRST_NAME)
    except Refusal as refusal:
        return page.refused(refusal)
    return replace(page, keys=keys_to_choose(owner), form=replace(page.form, key=made.id))
