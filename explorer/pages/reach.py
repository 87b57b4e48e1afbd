"""The form "Can I?" of the routes page: can a block be proven on a route, and when."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from accounts.shared.wording import format_timestamp
from explorer.pages.formatting import rough_duration
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import selector_from_input
from explorer.pages.trust import trust
from queries.config.registries import format_time
from queries.config.routes import Chain
from queries.reading.reach import BlockAt, Reach, ReachCode, Unknown, WaitsUntil, block_reach
from queries.schema.bodies import SELECTOR_PATTERN

MAX_TEXT = 80
BLOCK_HINT = "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
MARKS = {ReachCode.NOW: "proven", **dict.fromkeys(["waits", "not_yet", "unknown"], "waiting")}

# By code, the headline and what else there is to say.
SENTENCES = {
    ReachCode.NOW: ("Now.", "The block is final, and {destination} can know its hash."),
    ReachCode.WAITS: ("It waits{wait} until it is {until}.", "{detail}"),
    ReachCode.NOT_YET: (
        "That {subject} yet.",
        "The newest block of {source} seen here is {head:,}. {expected}",
    ),
    ReachCode.TOO_OLD: (
        "No. The oldest block that works is {oldest:,}.",
        (
            "This server's nodes prove accounts of the last {window:,} blocks of {source}. "
            "Facts that are in the registry already stay readable."
        ),
    ),
    ReachCode.PAST_HORIZON: (
        "No. The block is past the registry's horizon.",
        "It takes accounts of blocks before {horizon} only.",
    ),
    ReachCode.NO_STATE: (
        "Not with this server's nodes.",
        "None of them proves an account of a final block of {source} right now.",
    ),
    ReachCode.NO_ROUTE: (
        "No route leads from {source} to {destination}.",
        "The routes of this server are listed below.",
    ),
    ReachCode.UNKNOWN: ("Your estimate will say.", "{detail}"),
}
WAIT_DETAILS = {
    WaitsUntil.FINAL: "Submit the batch now if you like: it goes on when the block is final.",
    WaitsUntil.ATTESTED: (
        "The registry needs {signers}. Signers sign what batches wait for; how soon is not known "
        "here."
    ),
    WaitsUntil.RECORDED: "A dispute game that covers the block has to be decided first.",
}
UNKNOWN_DETAILS = {
    Unknown.HEAD: "No prover has seen a block of {source} in the last minutes.",
    Unknown.INTERVAL: "The time between blocks of {source} is not known here yet.",
    Unknown.WINDOW: "How far back this server's nodes prove {source} is not measured yet.",
    Unknown.HOPS: (
        "The block is beyond what one proof reaches. Hops lead further back, if a node has the "
        "state of the blocks between."
    ),
    Unknown.GAME: "A dispute game that covers the block should be valid by now.",
}


@dataclass(frozen=True, slots=True)
class ReachAnswer:
    code: ReachCode
    mark: str
    headline: str
    sentence: str
    form_url: str  # of a new batch, filled in; empty if it would be refused


@dataclass(frozen=True, slots=True)
class ReachForm:
    """What the visitor has entered, and the answer."""

    sources: tuple[Chain, ...]
    destinations: tuple[Chain, ...]
    source: int | None
    destination: int | None
    block: str
    error: str = ""
    answer: ReachAnswer | None = None

    @classmethod
    def read(cls, query: QueryDict, links: PageLinks) -> Self:
        routes = links.routes.registries
        sources, destinations = (
            tuple(links.routes.chains[chain] for chain in dict.fromkeys(ids))
            for ids in ((source for source, _ in routes), (target for _, target in routes))
        )
        source = _choice(query.get("source", ""), sources)
        destination = _choice(query.get("to", ""), destinations)
        text = query.get("block", "").strip()[:MAX_TEXT]
        form = (sources, destinations, source, destination, text)
        if "block" not in query or source is None or destination is None:
            return cls(*form)
        wanted = _block_at(text)
        if wanted is None:
            return cls(*form, error=BLOCK_HINT)
        reach = block_reach(links.routes, source, destination, wanted)
        fields = {"source": source, "block": text, "to": destination}
        form_url = f"{reverse('new-batch')}?{urlencode(fields)}" if reach.is_accepted else ""
        headline, sentence = _sentences(reach, wanted, (source, destination), links)
        mark = MARKS.get(reach.code, "rejected")
        return cls(*form, answer=ReachAnswer(reach.code, mark, headline, sentence, form_url))


def _choice(text: str, chains: tuple[Chain, ...]) -> int | None:
    chosen = (chain.id for chain in chains if str(chain.id) == text)
    return next(chosen, chains[0].id if chains else None)


def _block_at(text: str) -> BlockAt | None:
    selector = selector_from_input(text)
    if not re.fullmatch(SELECTOR_PATTERN, selector, re.ASCII):
        return None
    kind, _, digits = selector.partition(":")
    return BlockAt(int(digits), is_time=kind == "timestamp")


def _sentences(
    reach: Reach, wanted: BlockAt, route: tuple[int, int], links: PageLinks
) -> tuple[str, str]:
    names = dict(zip(("source", "destination"), map(links.chain_name, route), strict=True))
    registry, duration = links.registry(*route), rough_duration(reach.seconds or 0)
    detail = ""
    if reach.waits_until:
        signers = trust(registry, links).mark if registry else ""
        detail = WAIT_DETAILS[reach.waits_until].format(signers=signers)
    elif reach.unknown:
        detail = UNKNOWN_DETAILS[reach.unknown].format(**names)
    expected = f"It can be proven in about {duration}." if reach.seconds else ""
    values = {
        **names,
        "detail": detail,
        "expected": expected if reach.is_accepted else "It is too far ahead for a batch today.",
        "head": reach.head.number if reach.head else 0,
        "horizon": format_time(reach.horizon or 0),
        "oldest": reach.oldest,
        "subject": "time has not come" if wanted.is_time else "block does not exist",
        "until": reach.waits_until,
        "wait": f" about {duration}," if reach.seconds else "",
        "window": reach.head.window if reach.head else 0,
    }
    headline, sentence = (text.format(**values).strip() for text in SENTENCES[reach.code])
    if wanted.is_time and reach.block is not None:
        time = format_timestamp(wanted.number)
        sentence = f"At {time} the last block was about {reach.block:,}. {sentence}"
    return headline, sentence
