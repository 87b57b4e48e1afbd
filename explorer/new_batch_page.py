"""The page of a new batch: the form as it was typed, and what is said to it."""

import json
import shlex
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from django.conf import settings

from accounts.errors import Refusal
from accounts.reading import KeyChoice
from explorer.batch_desk import HEADER_FIELDS, PROPS, BatchDesk, path_of
from explorer.estimate_view import EstimateView
from explorer.form_words import in_words
from explorer.new_batch import MOST_BESIDE_SLOTS, NewBatch, Part, Written, write
from queries.reading.heads import HeadView, heads_of
from queries.routes import Chain

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
