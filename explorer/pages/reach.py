"""The form "Can I?" of the routes page: can a block be proven on a route, and when."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

from django.http import QueryDict

from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import selector_from_input
from queries.config.chains import Chain
from queries.reading import BlockReadiness, block_readiness
from queries.selectors import Selector, parse_selector

MAX_TEXT = 80


@dataclass(frozen=True, slots=True)
class ReachForm:
    """The visitor's input and the answer, for `parts/reach_answer.html`."""

    sources: tuple[Chain, ...]
    destinations: tuple[Chain, ...]
    source: int | None
    destination: int | None
    block: str
    is_sent: bool = False
    selector: Selector | None = None  # None if the text is not a block
    answer: BlockReadiness | None = None

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
        selector = parse_selector(selector_from_input(text))
        route = links.routes, source, destination
        answer = block_readiness(*route, selector) if selector else None
        return cls(*form, is_sent=True, selector=selector, answer=answer)

    @property
    def new_batch(self) -> str:
        """The query string that fills in the form of a new batch."""
        fields = {"source": self.source, "block": self.block, "to": self.destination}
        return urlencode(fields)


def _choice(text: str, chains: tuple[Chain, ...]) -> int | None:
    matches = (chain.id for chain in chains if str(chain.id) == text)
    return next(matches, chains[0].id if chains else None)
