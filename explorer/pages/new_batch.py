"""The page of a new batch: its form, what the API says of it, and submitting.

The API's own functions check, estimate and submit, so a page refuses what a program is refused.
"""

import json
import re
import shlex
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import api_keys
from accounts.auth import count_request
from accounts.errors import Refusal
from accounts.reading import KeyChoice, keys_to_choose
from accounts.sessions import account_of
from accounts.wording import LATEST, spoken
from explorer.links import PageLinks
from explorer.pages.errors import too_much_for_a_batch
from explorer.pages.new_batch_form import (
    MOST_BESIDE_SLOTS,
    NewBatch,
    Part,
    TooManyPartsError,
    TooMuchTypedError,
    Written,
    read_form,
    write,
)
from queries.api.estimating import estimated
from queries.api.views import submitted
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.reading.figures import HeadView, heads_of
from queries.routes import Chain, Routes
from queries.schema.batch_rules import BatchLimits
from queries.schema.batch_schema import read_batch
from queries.schema.places import Place
from queries.schema.strict_json import read_json

PROPS = tuple(each.name for each in AccountField)
HEADER_FIELDS = tuple(each.name for each in HeaderField)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch that was taken in, and what was said to it."""

    batch: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BatchDesk:
    """Of the configured routes and limits."""

    routes: Routes
    limits: BatchLimits

    def destinations(self) -> tuple[Chain, ...]:
        reached = {destination for _, destination in self.routes.registries}
        return tuple(chain for chain in self.routes.chains.values() if chain.id in reached)

    def sources_of(self, destination: str) -> tuple[Chain, ...]:
        """The chains whose facts can be read there."""
        return tuple(
            chain
            for chain in self.routes.chains.values()
            if any(
                str(to) == destination and source == chain.id
                for source, to in self.routes.registries
            )
        )

    def is_free(self, destination: str) -> bool:
        return any(chain.free for chain in self.destinations() if str(chain.id) == destination)

    def currency(self, destination: str) -> str:
        """What a fee is counted in there."""
        named = (chain for chain in self.destinations() if str(chain.id) == destination)
        return next((chain.currency for chain in named), "ETH")

    def read(self, content: dict[str, object]) -> None:
        """Refuse what submitting would refuse for every account."""
        read_batch(self._as_sent(content), self.routes, self.limits)

    def estimate(
        self, request: HttpRequest, key_id: str, content: dict[str, object]
    ) -> Mapping[str, Any]:
        """What POST /estimate answers with this key, or its refusal."""
        key = count_request(account_of(request), key_id)
        return estimated(key, self._as_sent(content), self.routes, self.limits).content()

    def submit(
        self, request: HttpRequest, key_id: str, content: dict[str, object], idempotency_key: str
    ) -> Submitted:
        """What POST /submit-batch-query does with this key, or its refusal."""
        key = count_request(account_of(request), key_id)
        batch = submitted(key, self._as_sent(content), idempotency_key, self.routes, self.limits)
        return Submitted(batch.id, tuple(each["sentence"] for each in batch.warnings))

    def make_key(self, request: HttpRequest) -> str:
        """As the dashboard's form does; its id."""
        owner = account_of(request)
        api_keys.count_change(owner)
        return api_keys.add_key(owner, api_keys.FIRST_NAME).id

    def _as_sent(self, content: dict[str, object]) -> object:
        """Read like the body of a request, so that it is bounded and storable like one."""
        return read_json(json.dumps(content).encode(), self.limits.body_bytes)


def path_of(steps: tuple[str | int, ...]) -> str:
    """How a refusal calls this place of a request."""
    return Place(steps).path


# How a block stands, for people, and the mark it is shown with.
STANDING = {
    "PROVEN": ("proven already", "proven"),
    "READY": ("can be proven now", "proven"),
    "NOT_FINAL": ("not final yet: it will wait", "waiting"),
    "NOT_KNOWN": ("its hash is not known on the destination yet: it will wait", "waiting"),
    "OUT_OF_REACH": ("out of reach: it would be rejected", "rejected"),
    "FAILS": ("would be rejected", "rejected"),
}


@dataclass(frozen=True, slots=True)
class ProvenView:
    """Facts that the registry holds already."""

    whose: str  # an address or a name; empty: the header's
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """What one block would take."""

    source: int
    selectors: tuple[str, ...]
    block: int | None
    last_final: int
    words: str
    mark: str
    sentence: str  # why it waits or fails
    proven: tuple[ProvenView, ...]
    gas: int | None
    transactions: int


@dataclass(frozen=True, slots=True)
class EstimateView:
    """What the whole batch would take."""

    free: bool
    fee_needed: int  # wei, as are all amounts
    complete: bool
    transactions: int
    gas: int
    gas_price: int
    cost: int
    blocks: tuple[BlockView, ...]

    @property
    def is_proven(self) -> bool:
        return all(each.mark == "proven" and each.gas == 0 for each in self.blocks)

    @property
    def waits(self) -> bool:
        return any(each.mark == "waiting" for each in self.blocks)

    @property
    def fails(self) -> bool:
        return any(each.mark == "rejected" for each in self.blocks)


def estimate_view(answer: Mapping[str, Any]) -> EstimateView:
    return EstimateView(
        free=answer["free"],
        fee_needed=int(answer["feeNeeded"]),
        complete=answer["complete"],
        transactions=answer["transactions"],
        gas=int(answer["gas"]),
        gas_price=int(answer["gasPrice"]),
        cost=int(answer["cost"]),
        blocks=tuple(_block(each) for each in answer["blocks"]),
    )


def _block(answer: Mapping[str, Any]) -> BlockView:
    words, mark = STANDING[answer["readiness"]]
    price = answer["price"]
    return BlockView(
        source=int(answer["originChainId"]),
        selectors=tuple(answer["selectors"]),
        block=None if answer["block"] is None else int(answer["block"]),
        last_final=int(answer["lastFinalBlock"]),
        words=words,
        mark=mark,
        sentence=answer["waitsFor"] or answer["error"] or "",
        proven=tuple(
            ProvenView(each["name"] or each["account"] or "", tuple(each["facts"]))
            for each in answer["proven"]
        ),
        gas=int(price["gas"]) if price else None,
        transactions=price["transactions"] if price else 0,
    )


# By the refusal's code, and by the field that it is about.
INSTEAD = {
    ("nothing_asked", "account"): "Name an account, or choose fields of the block's header.",
    ("nothing_asked", "props"): "Choose what is to be proven of the account, or name slots of it.",
    ("selector_malformed", "block"): (
        "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
    ),
    ("fee_too_low", "fee"): (
        "Proving there is not free here. Offer the most that may be spent on the batch, in wei; "
        "the estimate shows how much it takes."
    ),
}
CALLED = {
    "destination": "The destination",
    "fee": "The fee",
    "webhook": "The webhook",
    "key": "The key",
    "source": "The source chain",
    "block": "The block",
    "account": "The account",
    "props": "One of these",
    "slots": "One of the slots",
    "header": "One of the header's fields",
}
_OF_THE_REQUEST = re.compile(r" in data\.[^ ]*\.accounts(?=:)")
_SELECTOR = re.compile("(block|timestamp):([0-9]+)")


def in_words(sentence: str, code: str, path: str, field: str) -> str:
    """The API's sentence about a place that came from this field, such as `slots-2`."""
    kind = field.partition("-")[0]
    if (code, kind) in INSTEAD:
        return INSTEAD[code, kind]
    if code == "block_beyond_head":
        _, _, last = sentence.partition(": ")
        return f"The chain has no such block yet: {_SELECTOR.sub(_spoken, last)}"
    if code == "idempotency_key_reused":
        sentence = sentence.replace("This Idempotency-Key", "This form")
        return sentence.replace("Use a new key for a new batch", "Submit it again for a new one")
    sentence = _OF_THE_REQUEST.sub("", sentence, count=1)
    if kind in CALLED and sentence.startswith(f"{path}: "):
        rest = sentence.removeprefix(f"{path}: ")
        return rest[0].upper() + rest[1:]
    if kind in CALLED and sentence.startswith(f"{path} "):
        return CALLED[kind] + sentence.removeprefix(path)
    return sentence


def _spoken(selector: re.Match[str]) -> str:
    number = int(selector[2])
    if selector[1] == "block":
        return f"block {number:,}"
    return spoken(number) if number > LATEST else f"of {spoken(number)}"


FIELDS = ("destination", "fee", "webhook", "key")
PART_FIELDS = ("source", "block", "account", "props", "slots", "header")
ASKED_AT_FIRST = ("BALANCE",)


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
    desk: BatchDesk
    site_url: str
    keys: tuple[KeyChoice, ...]
    heads: Mapping[int, HeadView]
    refusal: Refusal | None = None
    refused_with: str = ""  # its sentence, in the form's words
    estimate: EstimateView | None = None
    faults: Mapping[str, str] = field(default_factory=dict)  # what was refused, by field
    warnings: Mapping[str, str] = field(default_factory=dict)  # likewise
    newest: int | None = None  # the number of a part that was just added
    # Whether the browser shall ask what is said to it as soon as it shows the form.
    check_at_once: bool = False

    props = PROPS
    header_fields = HEADER_FIELDS
    most_beside_slots = MOST_BESIDE_SLOTS
    longest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # bytes of it that are read

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
    def field_names(self) -> tuple[str, ...]:
        """Beside each of which something may be said."""
        numbers = [part.number for part in self.form.parts]
        of_parts = (f"{name}-{number}" for number in numbers for name in PART_FIELDS)
        return (*FIELDS, *of_parts)

    @property
    def is_free(self) -> bool:
        return self.desk.is_free(self.form.destination)

    @property
    def currency(self) -> str:
        return self.desk.currency(self.form.destination)

    @property
    def destinations(self) -> tuple[Chain, ...]:
        return self.desk.destinations()

    @property
    def sources(self) -> tuple[Chain, ...]:
        return self.desk.sources_of(self.form.destination)

    @property
    def parts(self) -> tuple[PartView, ...]:
        sources = {str(chain.id): chain for chain in self.sources}
        return tuple(
            PartView(part, place, source := sources.get(part.source), self._head(source))
            for place, part in enumerate(self.form.parts, 1)
        )

    @property
    def has_blank_part(self) -> bool:
        return any(part.is_blank for part in self.form.parts)

    @property
    def chosen_key(self) -> KeyChoice | None:
        return next((key for key in self.keys if key.id == self.form.key), None)

    def _head(self, source: Chain | None) -> HeadView | None:
        return self.heads.get(source.id) if source else None

    def refused(self, refusal: Refusal) -> "NewBatchPage":
        name = self.written.field_at(refusal.path, refusal.code, path_of)
        sentence = in_words(refusal.sentence, refusal.code, refusal.path, name)
        faults = {name: sentence} if name else {}
        return replace(self, refusal=refusal, refused_with=sentence, faults=faults)

    @property
    def is_begun(self) -> bool:
        """Whether what was refused is more than that a part is still blank."""
        return not (self.refusal and self.refusal.code == "nothing_asked" and self.has_blank_part)

    def with_fee_of(self, estimate: EstimateView) -> "NewBatchPage":
        """The fee that is needed, where none of the person's own stands there."""
        form = self.form
        if not estimate.free and form.fee.strip() in {"", form.filled_fee}:
            fee = str(estimate.fee_needed)
            form = replace(form, fee=fee, filled_fee=fee)
        return replace(self, form=form, estimate=estimate)


def page_of(
    form: NewBatch, desk: BatchDesk, keys: tuple[KeyChoice, ...], site_url: str
) -> NewBatchPage:
    """As it was typed."""
    form = replace(form, idempotency_key=form.idempotency_key or new_idempotency_key())
    return NewBatchPage(form, desk, site_url, keys, heads_of(desk.routes.chains.keys()))


def arranged(page: NewBatchPage) -> NewBatchPage:
    """With a choice that there is, wherever one is to be made: another destination has other
    sources. Only for a form that is shown again, never for one that is submitted.
    """
    form, desk, keys = page.form, page.desk, page.keys
    destination = _one_of(form.destination, desk.destinations())
    sources = desk.sources_of(destination)
    key = form.key if page.chosen_key else keys[0].id if keys else ""
    parts = tuple(_filled(part, sources, page.heads) for part in form.parts)
    return replace(page, form=replace(form, destination=destination, parts=parts, key=key))


def first_form() -> NewBatch:
    return NewBatch((Part(0, props=ASKED_AT_FIRST),))


def new_idempotency_key() -> str:
    return f"page-{uuid.uuid4()}"


def _filled(part: Part, sources: tuple[Chain, ...], heads: Mapping[int, HeadView]) -> Part:
    """With the last final block, where no other was typed and the chain has become another."""
    source = _one_of(part.source, sources)
    if source == part.source or part.block.strip() not in {"", part.filled}:
        return replace(part, source=source)
    head = heads.get(int(source)) if source else None
    block = str(head.final) if head else ""
    return replace(part, source=source, block=block, filled=block)


def _one_of(text: str, chains: tuple[Chain, ...]) -> str:
    ids = [str(chain.id) for chain in chains]
    return text if text in ids else ids[0] if ids else ""


MOST_WARNINGS = 5  # of those that go along to the batch's page
REMOVE = "remove-"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(request: HttpRequest, desk: BatchDesk, links: PageLinks) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, arranged(_page(request, desk, first_form())), links)
    try:
        page = _page(request, desk, _form(request, desk))
    except TooMuchTypedError:
        return too_much_for_a_batch(request, desk.limits)
    chosen = request.POST.get("do", "")
    if chosen == "submit":
        return _submitted(request, page, links)
    change = CHANGES.get(chosen.partition("-")[0], _as_it_is)
    page = arranged(change(request, page))
    if chosen == "check":
        page = _checked(request, page)
    return _shown(request, page, links)


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, desk: BatchDesk, links: PageLinks) -> HttpResponse:
    """While one types: what is said to the form, and nothing of the form itself."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    try:
        page = _page(request, desk, _form(request, desk))
    except TooMuchTypedError:
        return too_much_for_a_batch(request, desk.limits)
    checked = _checked(request, page)
    # Who has only begun to type knows that there is more to come.
    shown = {"page": checked if checked.is_begun else page, "links": links}
    return render(request, "new_batch/said.html", shown)


def _form(request: HttpRequest, desk: BatchDesk) -> NewBatch:
    try:
        return read_form(request.POST, desk.limits)
    except TooManyPartsError:
        raise BadRequest from None


def _page(request: HttpRequest, desk: BatchDesk, form: NewBatch) -> NewBatchPage:
    site_url = f"{request.scheme}://{request.get_host()}"
    return page_of(form, desk, keys_to_choose(account_of(request)), site_url)


def _shown(request: HttpRequest, page: NewBatchPage, links: PageLinks) -> HttpResponse:
    """The whole page, or the form alone where a script asks for it."""
    if request.headers.get("HX-Request") != "true":
        return render(request, "new_batch/page.html", {"page": page, "links": links})
    # At once, because what is typed while the form is exchanged is noticed by nobody else.
    page = replace(page, check_at_once=page.refusal is None)
    return render(request, "new_batch/form.html", {"page": page, "links": links})


def _checked(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    content = page.written.content
    try:
        if not page.keys:
            page.desk.read(content)
            return page
        answer = page.desk.estimate(request, page.form.key, content)
    except Refusal as refusal:
        return page.refused(refusal)
    warnings = {
        page.written.field_at(each["path"], "", path_of): each["sentence"]
        for each in answer["warnings"]
    }
    return replace(page, warnings=warnings).with_fee_of(estimate_view(answer))


def _submitted(request: HttpRequest, page: NewBatchPage, links: PageLinks) -> HttpResponse:
    form = page.form
    try:
        taken = page.desk.submit(request, form.key, page.written.content, form.idempotency_key)
    except Refusal as refusal:
        # Under a key that another batch came with, nothing else could ever be submitted.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=new_idempotency_key()))
        return _shown(request, page.refused(refusal), links)
    for sentence in taken.warnings[:MOST_WARNINGS]:
        messages.warning(request, sentence)
    return redirect("batch", taken.batch)


Change = Callable[[HttpRequest, NewBatchPage], NewBatchPage]


def _as_it_is(_request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    return page


def _with_another_part(_request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    if page.form.is_full:
        return page
    form = page.form.with_another_part()
    return replace(page, form=form, newest=form.parts[-1].number)


def _without_a_part(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    number = request.POST["do"].removeprefix(REMOVE)
    return replace(page, form=page.form.without_part(number))


def _with_a_key(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    try:
        made = page.desk.make_key(request)
    except Refusal as refusal:
        return page.refused(refusal)
    keys = keys_to_choose(account_of(request))
    return replace(page, keys=keys, form=replace(page.form, key=made))


CHANGES: dict[str, Change] = {
    "add": _with_another_part,
    "remove": _without_a_part,
    "key": _with_a_key,
}
