"""The chains as a worker knows them: connections that it keeps, and what it last saw of them."""

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from queries.chain.destination import Destination
from queries.chain.ens import EnsNames
from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead
from queries.chain.name_turns import NameTurns
from queries.chain.nodes import ENOUGH_NODES
from queries.chain.registry_facts import RegistryFacts
from queries.chain.second_words import SecondWords
from queries.chain.signer import Signer
from queries.chain.source import SourceChain
from queries.models import Batch, BlockJob
from queries.pipeline import heads
from queries.pipeline.day import is_spent
from queries.pipeline.each_head import EachHead, Reached
from queries.pipeline.hanging import Hanging
from queries.pipeline.lane import Lane
from queries.pipeline.last_looks import LastLooks
from queries.pipeline.long_work import LongWork
from queries.pipeline.mined import last_mined_block
from queries.pipeline.resting_chains import RestingChains
from queries.proving.keccak import keccak256
from queries.routes import Chain, Registry, RegistryKind, Routes

log = logging.getLogger("tacitus.prover")

HEAD_IS_FRESH = 0.25  # seconds
NEWEST_IS_FRESH = 0.1  # seconds: for jobs that are looked at one after the other
DAY_IS_FRESH = 1.0  # seconds: likewise; whoever signs adds it up anew
STANDS_STILL_AFTER = 30.0  # seconds without another block
# Seconds between comparisons of the heads of all nodes of a chain, and how many times as long as
# one took.
COMPARED_EVERY, COMPARED_FOR = 30.0, 10
# Seconds in which somebody waits, whatever blocks come: for a transaction or what the destination
# is to know, and for finality, which takes a quarter of an hour where all is well.
LEADS_NOWHERE_AFTER, NEVER_FINAL_AFTER = 600.0, 1_800.0
# Seconds between two looks of a thread at what waits, where thousands of blocks do. Once there are
# many, those of a quarter of an hour ago are forgotten: most of them wait no more, and of a million
# batches an hour they would take hundreds of megabytes.
STILL_WAITS, WAITS_AMONG_MANY, MANY_DOUBTS = 3_600.0, 900.0, 10_000
# No node asks whether it could pay where no price is named.
NOBODY = f"0x{keccak256(b'Tacitus asks what a proof would cost')[-20:].hex()}"


@dataclass
class Chains:
    """For one thread: its connections are not shared.

    Without a signer the chains are only asked: nothing is sent to them, and nothing written down.
    """

    routes: Routes
    signer: Signer | None = None
    until: float = math.inf  # by the monotonic clock: then nobody is asked any more
    head_is_fresh: float = HEAD_IS_FRESH
    looks_at_final: float = 0.0  # by the monotonic clock
    settles_until: float = math.inf  # likewise: then a job has its turn
    last_looks: LastLooks = field(default_factory=LastLooks)
    name_turns: NameTurns = field(default_factory=NameTurns)
    long_work: LongWork = field(default_factory=LongWork)
    hanging: Hanging = field(default_factory=Hanging)
    leaves_what_hangs: bool = False  # to another thread
    resting: RestingChains = field(default_factory=RestingChains)
    _sources: dict[int, SourceChain] = field(default_factory=dict)
    _destinations: dict[int, Destination] = field(default_factory=dict)
    _names: dict[int, EnsNames] = field(default_factory=dict)
    _second_words: dict[int, SecondWords] = field(default_factory=dict)
    _each_head: dict[int, EachHead] = field(default_factory=dict)
    _heads: dict[int, tuple[float, ChainHead]] = field(default_factory=dict)
    _newest: dict[int, tuple[float, ChainHead]] = field(default_factory=dict)
    _days: dict[int, tuple[float, bool]] = field(default_factory=dict)
    # By the monotonic clock: when heads are compared, and until when not by the word of one.
    _compares_at: dict[int, float] = field(default_factory=dict)
    _not_by_one_until: dict[int, float] = field(default_factory=dict)
    # The furthest head that each has told of, and when that was; for whom each is doubted, since
    # when and when last.
    _moved: dict[SourceChain | Destination, tuple[int, float]] = field(default_factory=dict)
    _doubted: dict[tuple[SourceChain | Destination, str], tuple[float, float]] = field(
        default_factory=dict
    )
    _many_doubts: int = MANY_DOUBTS

    @property
    def left_out(self) -> list[int]:
        """Jobs that another thread looks at."""
        return self.hanging.left_out if self.leaves_what_hangs else []

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def source(self, chain_id: int) -> SourceChain:
        if chain_id not in self._sources:
            self._sources[chain_id] = SourceChain(self.chain(chain_id), until=self.until)
        return self._sources[chain_id]

    def destination(self, chain_id: int) -> Destination:
        if chain_id not in self._destinations:
            self._destinations[chain_id] = Destination(self.chain(chain_id), until=self.until)
        return self._destinations[chain_id]

    def names(self, chain_id: int) -> EnsNames:
        if chain_id not in self._names:
            chain = self.chain(chain_id)
            self._names[chain_id] = EnsNames(chain, until=self.until, turns=self.name_turns)
        return self._names[chain_id]

    def second_words(self, chain_id: int) -> SecondWords:
        if chain_id not in self._second_words:
            chain = self.chain(chain_id)
            self._second_words[chain_id] = SecondWords(chain, until=self.until)
        return self._second_words[chain_id]

    def each_head(self, chain_id: int) -> EachHead:
        if chain_id not in self._each_head:
            self._each_head[chain_id] = EachHead(self.chain(chain_id), until=self.until)
        return self._each_head[chain_id]

    @property
    def sender(self) -> str:
        """Whose transactions are tried out: the signer's, or nobody's."""
        return NOBODY if self.signer is None else self.signer.address

    def lane(self, chain_id: int) -> Lane:
        if self.signer is None:
            raise RuntimeError("without a signer nothing is sent")
        return Lane(self.destination(chain_id), self.second_words(chain_id), chain_id, self.signer)

    def facts(self, registry: Registry) -> RegistryFacts:
        destination = self.destination(registry.destination)
        if self.signer is not None:
            # Or what one of ours proved would be proven and paid for once more.
            destination.known_up_to = last_mined_block(destination.chain, self.signer.address)
        return RegistryFacts(destination, registry)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, not older than a moment; what submitting compares with is kept."""
        known = self._heads.get(chain_id)
        if known and time.monotonic() < known[0] + self.head_is_fresh:
            return known[1]
        head = self._moving(self.source(chain_id))
        self._heads[chain_id] = (time.monotonic(), head)
        if self.signer is not None:
            heads.record(chain_id, head)
        return head

    def newest(self, destination: int) -> ChainHead:
        """The head that transactions are followed by, not older than a moment; kept nowhere."""
        known = self._newest.get(destination)
        if known and time.monotonic() < known[0] + NEWEST_IS_FRESH:
            return known[1]
        head = self._moving(self.destination(destination))
        self._newest[destination] = (time.monotonic(), head)
        return head

    def day_is_spent(self, destination: int) -> bool:
        """Whether nothing is signed for now, as it was a moment ago: all that waits asks that."""
        known = self._days.get(destination)
        if known and time.monotonic() < known[0] + DAY_IS_FRESH:
            return known[1]
        spent = is_spent(self.chain(destination), self.lane(destination).ours)
        self._days[destination] = (time.monotonic(), spent)
        return spent

    def ask_first(self, turn: int, *chain_ids: int) -> None:
        """The node of this place on each of the lists, counted round."""
        for each in chain_ids:
            self.source(each).ask_first(turn)
            self.destination(each).ask_first(turn)
            self._heads.pop(each, None)
            self._newest.pop(each, None)

    def still_first(self, turn: int, chain_ids: Iterable[int]) -> list[int]:
        """The chains of which the node of this place is first still, on both lists."""
        return [
            each
            for each in sorted(chain_ids)
            if self.source(each).is_first(turn) and self.destination(each).is_first(turn)
        ]

    def doubt(
        self,
        asked: SourceChain | Destination,
        who: BlockJob | Batch | None = None,
        after: float | None = None,
    ) -> None:
        """One waits for what the node that answers tells: it may be behind, or make it up. Where
        that has been so for long, or it stands still, another one is asked first.
        """
        if who is not None:
            after = LEADS_NOWHERE_AFTER if after is None else after
            self._doubt_for(asked, f"{type(who).__name__} {who.pk}", after)
        self._doubt_where_it_stands_still(asked)

    def _doubt_for(self, asked: SourceChain | Destination, who: str, after: float) -> None:
        now, key = time.monotonic(), (asked, who)
        since, last = self._doubted.get(key, (now, now))
        if now > last + STILL_WAITS:
            since = now
        if len(self._doubted) > self._many_doubts:
            self._doubted = {
                each: times
                for each, times in self._doubted.items()
                if now < times[1] + WAITS_AMONG_MANY
            }
            self._many_doubts = max(MANY_DOUBTS, 2 * len(self._doubted))
        self._doubted[key] = since, now
        if now > since + after:
            self._ask_another_first(asked)
            # Else one that tells of a later time would be asked first again at once.
            self._not_by_one_until[asked.chain.id] = now + after

    def _doubt_where_it_stands_still(self, asked: SourceChain | Destination) -> None:
        _, since = self._moved.get(asked, (-1, math.inf))
        if time.monotonic() > since + STANDS_STILL_AFTER:
            self._ask_another_first(asked)

    def _ask_another_first(self, asked: SourceChain | Destination) -> None:
        asked.ask_another_first()
        self._doubted = {key: times for key, times in self._doubted.items() if key[0] is not asked}
        self._moved[asked] = -1, time.monotonic()  # what it told may have been made up

    def _moving(self, asked: SourceChain | Destination) -> ChainHead:
        head = self._answered(asked)
        number, _ = self._moved.get(asked, (-1, 0.0))
        if head.number > number:
            self._moved[asked] = head.number, time.monotonic()
        return head

    def _answered(self, asked: SourceChain | Destination) -> ChainHead:
        """Unless its nodes failed a moment ago, and took long for it."""
        chain_id = asked.chain.id
        if known := self.resting.told(chain_id):
            raise known
        begun = time.monotonic()
        try:
            head = asked.head()
        except ChainError as fault:
            self.resting.failed(chain_id, fault, begun)
            raise
        self.resting.answered(chain_id, begun)
        return head

    def _doubt_who_is_behind(self, chain_id: int) -> None:
        """By two of three; where two answer, one of them is believed."""
        begun = time.monotonic()
        if begun < self._compares_at.get(chain_id, 0.0):
            return
        try:
            reached = self.each_head(chain_id).reached()
            doubted_until = self._not_by_one_until.get(chain_id, 0.0)
            if reached and (reached.of > ENOUGH_NODES or time.monotonic() >= doubted_until):
                self._pass_over_who_is_before(reached, chain_id)
        finally:
            ended = time.monotonic()
            pause = max(COMPARED_EVERY, COMPARED_FOR * (ended - begun))
            self._compares_at[chain_id] = ended + pause

    def _pass_over_who_is_before(self, reached: Reached, chain_id: int) -> None:
        sources, destinations = map(set, zip(*self.routes.registries, strict=True))
        if chain_id in sources and reached.is_ahead_of(self.head(chain_id)):
            self._ask_another_first(self.source(chain_id))
            self._heads.pop(chain_id)
        if chain_id in destinations and reached.is_ahead_of(self.newest(chain_id)):
            self._ask_another_first(self.destination(chain_id))
            self._newest.pop(chain_id)

    def furthest_head(self, chain_id: int) -> ChainHead:
        """Of all that its nodes say: nothing can be checked of a head, and that a block is not
        there is no one node's word.
        """
        found = [self.head(chain_id), *self.each_head(chain_id).told()]
        furthest = max(found, key=lambda each: each.number)
        return replace(furthest, timestamp=max(each.timestamp for each in found))

    def two_tell_heads(self, chain_id: int) -> bool:
        """Now, as far as there are two."""
        nodes = len(self.chain(chain_id).nodes)
        return nodes == 1 or len(self.each_head(chain_id).told()) >= ENOUGH_NODES

    def provable_head(self, registry: Registry) -> ChainHead:
        """With the last block that this registry may be shown as the final one.

        Source and destination of a native route reorganise together, and what DONE waits for
        covers both; so there one confirmation is enough, unless the operator asks for more.
        """
        head = self.head(registry.source)
        if registry.kind is not RegistryKind.NATIVE:
            return head
        return replace(head, final_number=head.number - (self.chain(registry.source).finality or 0))

    def look_at_heads(self) -> None:
        """Those of all source chains, where no worker has for a second; and whether any node is
        behind. Each thread sees to that for itself: whoever waits by such a node may look so often
        that no second goes by.
        """
        sources = {source for source, _ in self.routes.registries}
        for each in sources | {destination for _, destination in self.routes.registries}:
            if self.resting.is_left_alone(each):
                continue
            to_be_told = each in sources and not self.resting.has_slow_head(each)
            try:
                if to_be_told and heads.claim(each):
                    self.head(each)  # submitting compares with it
                    self._doubt_where_it_stands_still(self.source(each))
                self._doubt_who_is_behind(each)
            except ChainError as fault:
                log.warning("%s", fault)

    def close(self) -> None:
        for source in self._sources.values():
            source.close()
        for destination in self._destinations.values():
            destination.close()
        for names in self._names.values():
            names.close()
        for words in self._second_words.values():
            words.close()
        for each in self._each_head.values():
            each.close()
