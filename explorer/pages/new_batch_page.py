"""The page of a new batch, as its templates show it: choices, the estimate, and errors by field."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import ClassVar

from django.conf import settings
from django.utils import timezone

from accounts.http.errors import RefusalError
from accounts.reading import KeyView
from accounts.wording import MINUTE
from explorer.pages.formatting import rough_duration
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import BLOCKS, DEFAULT_COUNTS, UNITS, NewBatch
from queries.config.chains import Chain
from queries.config.measured_costs import account_cost
from queries.facts import fact_count
from queries.planning.estimate import BatchEstimate, BlockEstimate
from queries.proving import OSAKA, AccountField, HeaderField
from queries.reading import HeadView, RouteFigures, route_figures
from queries.schema.batch_checks import BatchLimits
from queries.schema.checked_batch import CheckedBatch
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
    max_upload_bytes: ClassVar = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    @cached_property
    def json(self) -> str:
        return self.form.json or json.dumps(self.form.content(), indent=2)

    @property
    def units(self) -> tuple[str, ...]:
        """Of a feed's interval. Times first if the source makes several blocks a second."""
        times = tuple(unit for unit in UNITS if unit != BLOCKS)
        return (*times, BLOCKS) if self.has_fast_blocks else UNITS

    @property
    def has_fast_blocks(self) -> bool:
        """Whether the source makes several blocks a second."""
        return self.blocks_a_minute > MINUTE

    @property
    def blocks_a_minute(self) -> int:
        """How many the source makes, as provers measured it; 0 if that is not known."""
        pace = self.head.block_seconds if self.head else None
        return round(MINUTE / pace) if pace else 0

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
