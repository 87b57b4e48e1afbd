"""What happens to the service during a run: in an order and for times that follow from the seed."""

import random
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

from tests.chaos import lies
from tests.chaos.chains import CHAIN_A, CHAIN_B, DEEPEST, Chains
from tests.chaos.databases import Database
from tests.chaos.happened import Happened
from tests.chaos.nodes_between import NodeBetween, Trouble
from tests.chaos.programs import Program
from tests.chaos.reorganisations import taken_away
from tests.chaos.service import Service

# What a batch may be rejected for where faults like these lasted: none of ours lasts so long that
# a prover gives up, so no cause but that of the batch itself is a true one.
CAUSES: frozenset[str] = frozenset()
PATIENCE = 5.0  # seconds that a node's trouble goes on at most for somebody to come by it
UNHEARD = 20.0  # seconds that a lie goes on at most until somebody hears it
TRIES_MORE = 3  # of what came to nothing
REORGANISED, LIED = "chain reorganised", "node lied"


@dataclass(frozen=True)
class Fault:
    """About to happen. `happen` says how much came of it, counted as `of` says."""

    kind: str
    of: str
    happen: Callable[[], int]


Kind = Callable[[], Fault]


@dataclass
class Faults:
    """Several may happen at once; each ends by itself, and all have ended after `run`."""

    chains: Chains
    nodes: dict[int, list[NodeBetween]]
    database: Database
    service: Service
    chance: random.Random
    longest: float  # seconds that one lasts
    happened: Happened = field(default_factory=Happened)
    _lies: threading.Lock = field(default_factory=threading.Lock)
    _reorganising: threading.Lock = field(default_factory=threading.Lock)

    def run(self, seconds: float, pause: float) -> None:
        """Each kind once, however long that takes, and before any is repeated; at the end what came
        to nothing, alone. A lie that nobody happened to ask for is none.
        """
        until = time.monotonic() + seconds
        under_way: list[threading.Thread] = []
        begun: dict[str, Kind] = {}
        left, rounds = self._shuffled(self._kinds()), 1
        while left or time.monotonic() < until:
            if not left:
                left, rounds = self._shuffled((*self._kinds(), *self._oftener())), rounds + 1
            kind = left.pop()
            fault = kind()
            begun[fault.kind] = kind
            thread = threading.Thread(target=self._bring_about, args=(fault,))
            thread.start()
            under_way.append(thread)
            time.sleep(min(self.chance.expovariate(1 / pause), 3 * pause))
            if rounds > 1 and time.monotonic() >= until:
                break
        for thread in under_way:
            thread.join()
        for _ in range(TRIES_MORE):
            for name in self.happened.in_vain():
                self._bring_about(begun[name]())

    def _shuffled(self, kinds: Iterable[Kind]) -> list[Kind]:
        found = list(kinds)
        self.chance.shuffle(found)
        return found

    def _bring_about(self, fault: Fault) -> None:
        self.happened.begin(fault.kind, fault.of)
        try:
            self.happened.came(fault.kind, fault.happen())
        except Exception as wrong:  # noqa: BLE001
            self.happened.fail(fault.kind, wrong)

    def _kinds(self) -> tuple[Kind, ...]:
        """Each draws its chances at once, so that they do not hang on which thread is faster."""
        return (
            self._kill, self._kill_server, self._kill_signers, self._cut, self._fill_disk,
            self._reorganise, self._stall, self._refuse, self._disappear, self._other_chain,
            self._drop_transactions,
            *(lambda name=name: self._lie(name) for name in sorted(lies.KINDS)),
        )  # fmt: skip

    def _oftener(self) -> tuple[Kind, ...]:
        return self._kill, self._kill, self._reorganise, self._reorganise

    def _lasts(self) -> float:
        return self.chance.uniform(0.2, 1) * self.longest

    def _kill(self) -> Fault:
        prover = self.chance.choice(self.service.provers)
        return self._killing("prover killed (SIGKILL)", [prover], self.chance.uniform(0, 2))

    def _kill_server(self) -> Fault:
        """While clients submit, most likely in the middle of an answer."""
        pause = self.chance.uniform(0, 1)
        return self._killing("web server killed (SIGKILL)", [self.service.server], pause)

    def _kill_signers(self) -> Fault:
        """Often none is left but one, whose word is not enough."""
        signers = self.chance.sample(self.service.signers, 2)
        return self._killing("two of three signers killed (SIGKILL)", signers, self._lasts())

    def _killing(self, kind: str, programs: list[Program], pause: float) -> Fault:
        def happen() -> int:
            alive = sum([each.kill() for each in programs])
            time.sleep(pause)
            for each in programs:
                each.start()
            return alive

        return Fault(kind, "were alive until then", happen)

    def _lasts_or_longer(self) -> float:
        """Now and then for longer than anybody waits: SQLite's writers for each other, or who asks
        a node. In a short turn nothing lasts so long.
        """
        return self._lasts() * self.chance.choice((1, 1, 1, 3))

    def _cut(self) -> Fault:
        seconds, its = self._lasts_or_longer(), self.database
        kind = f"database connections {its.cut_is}"
        return Fault(kind, its.cut_counts, lambda: its.cut(seconds))

    def _fill_disk(self) -> Fault:
        seconds, its = self._lasts() / 2, self.database

        def processes() -> list[int]:
            return [each for program in self.service.programs for each in program.processes]

        kind = f"disk full ({its.full_is})"
        return Fault(kind, its.full_counts, lambda: its.fill_disk(processes, seconds))

    def _reorganise(self) -> Fault:
        chain = self.chance.choice((CHAIN_A, CHAIN_B))
        depth = self.chance.randrange(1, DEEPEST + 1)
        url = self.chains.of(chain).node.url

        def happen() -> int:
            with self._reorganising:
                taken = taken_away(chain, url, depth)
            self.happened.taken_away.append(taken)
            return len(taken.blocks)

        return Fault(REORGANISED, "blocks replaced", happen)

    def _lie(self, name: str) -> Fault:
        chance = random.Random(self.chance.random())  # noqa: S311
        lie = lies.KINDS[name](chance)
        return self._lying(name, lambda _: Trouble(lie=lie), "answers changed")

    def _other_chain(self) -> Fault:
        def trouble(node: NodeBetween) -> Trouble:
            other = CHAIN_B if node.chain == CHAIN_A else CHAIN_A
            return Trouble(asks_instead=self.chains.of(other).node.url)

        return self._lying("another chain's data", trouble, "answers of another chain")

    def _drop_transactions(self) -> Fault:
        made = Trouble(drops_transactions=True)
        return self._lying("takes and drops", lambda _: made, "transactions dropped")

    def _lying(self, name: str, made: Callable[[NodeBetween], Trouble], of: str) -> Fault:
        """One node of each chain, and one lie at a time: the other node is honest, but where it is
        away. Until somebody heard it, it is told by whichever node was asked last.
        """
        seconds = self._lasts()

        def happen() -> int:
            spoilt, until = 0, time.monotonic() + UNHEARD
            with self._lies:
                while not spoilt and time.monotonic() < until:
                    some = [max(each, key=lambda node: node.asked) for each in self.nodes.values()]
                    told = [(node, made(node)) for node in some]
                    with ExitStack() as while_it_lasts:
                        for node, trouble in told:
                            while_it_lasts.enter_context(node.has(trouble))
                        time.sleep(seconds)
                    spoilt = sum(trouble.spoilt for _, trouble in told)
            return spoilt

        return Fault(f"{LIED}: {name}", of, happen)

    def _stall(self) -> Fault:
        made, seconds = Trouble(stalls=True), self._lasts_or_longer()
        return self._troubling("stalled", made, seconds, "questions held up")

    def _refuse(self) -> Fault:
        status = self.chance.choice((429, 500))
        made = Trouble(status=status)
        return self._troubling("refused", made, self._lasts(), "answers of 429 or 500")

    def _troubling(self, kind: str, trouble: Trouble, seconds: float, of: str) -> Fault:
        nodes = self._some()

        def happen() -> int:
            with ExitStack() as while_it_lasts:
                for each in nodes:
                    while_it_lasts.enter_context(each.has(trouble))
                return _felt(trouble, seconds)

        return Fault(f"node {kind}", of, happen)

    def _disappear(self) -> Fault:
        nodes, seconds = self._some(), self._lasts()

        def happen() -> int:
            dropped = sum([each.disappear() for each in nodes])
            time.sleep(seconds)
            before = sum(each.dropped for each in nodes)
            until = time.monotonic() + PATIENCE
            while not dropped and time.monotonic() < until:
                # Nobody was connected, and who is refused by a closed port nobody can count.
                for each in nodes:
                    each.appear(drops=True)
                time.sleep(0.1)
                dropped = sum(each.dropped for each in nodes) - before
            for each in nodes:
                each.appear()
            return dropped

        return Fault("node gone", "connections dropped", happen)

    def _some(self) -> list[NodeBetween]:
        """One node of a chain, or all that it has."""
        nodes = self.nodes[self.chance.choice((CHAIN_A, CHAIN_B))]
        return nodes if self.chance.random() < 0.5 else [self.chance.choice(nodes)]


def _felt(trouble: Trouble, seconds: float) -> int:
    """For so long, and until somebody came by it, but not for ever."""
    time.sleep(seconds)
    until = time.monotonic() + PATIENCE
    while not trouble.spoilt and time.monotonic() < until:
        time.sleep(0.1)
    return trouble.spoilt
