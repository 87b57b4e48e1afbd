"""What happens to the service during a run: in an order and for times that follow from the seed."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos import lies
from tests.chaos.chains import CHAIN_A, CHAIN_B, DEEPEST, Chains, told
from tests.chaos.databases import Database
from tests.chaos.nodes_between import NodeBetween
from tests.chaos.service import Service

# What a batch may be rejected for where faults like these lasted: none of ours lasts so long that
# a prover gives up, so no cause but that of the batch itself is a true one.
CAUSES: frozenset[str] = frozenset()


@dataclass
class Faults:
    """Several may happen at once; each ends by itself, and all have ended after `run`."""

    chains: Chains
    nodes: dict[int, list[NodeBetween]]
    database: Database
    service: Service
    chance: random.Random
    longest: float  # seconds that one lasts
    counted: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)  # faults that could not be brought about

    def run(self, seconds: float, pause: float) -> None:
        """Each kind once before any is repeated."""
        until = time.monotonic() + seconds
        under_way: list[threading.Thread] = []
        left: list[Callable[[], Callable[[], str]]] = []
        while time.monotonic() < until:
            if not left:
                left = list(self._kinds())
                self.chance.shuffle(left)
            happen = left.pop()()
            thread = threading.Thread(target=self._count, args=(happen,))
            thread.start()
            under_way.append(thread)
            time.sleep(min(self.chance.expovariate(1 / pause), 3 * pause))
        for thread in under_way:
            thread.join()

    def _count(self, happen: Callable[[], str]) -> None:
        try:
            self.counted[happen()] += 1
        except Exception as fault:  # noqa: BLE001
            self.failed.append(f"{type(fault).__name__}: {fault}")

    def _kinds(self) -> tuple[Callable[[], Callable[[], str]], ...]:
        """Each draws its chances at once, so that they do not hang on which thread is faster."""
        return (
            self._kill, self._kill, self._kill_server, self._kill_signer, self._cut,
            self._fill_disk, self._reorganise, self._reorganise,
            self._lie, self._lie, self._stall, self._refuse, self._disappear, self._other_chain,
        )  # fmt: skip

    def _lasts(self) -> float:
        return self.chance.uniform(0.2, 1) * self.longest

    def _kill(self) -> Callable[[], str]:
        prover, pause = self.chance.choice(self.service.provers), self.chance.uniform(0, 2)

        def happen() -> str:
            prover.kill()
            time.sleep(pause)
            prover.start()
            return "prover killed (SIGKILL)"

        return happen

    def _kill_server(self) -> Callable[[], str]:
        """While clients submit, most likely in the middle of an answer."""
        pause = self.chance.uniform(0, 1)

        def happen() -> str:
            self.service.server.kill()
            time.sleep(pause)
            self.service.server.start()
            return "web server killed (SIGKILL)"

        return happen

    def _kill_signer(self) -> Callable[[], str]:
        """Often none is left but one, whose word is not enough."""
        signers = self.chance.sample(self.service.signers, 2)
        pause = self._lasts()

        def happen() -> str:
            for each in signers:
                each.kill()
            time.sleep(pause)
            for each in signers:
                each.start()
            return "two of three signers killed (SIGKILL)"

        return happen

    def _cut(self) -> Callable[[], str]:
        """Now and then for longer than SQLite's writers wait for each other."""
        seconds = self._lasts() * self.chance.choice((1, 1, 1, 3))
        return lambda: f"database connections {self.database.cut(seconds)}"

    def _fill_disk(self) -> Callable[[], str]:
        seconds = self._lasts() / 2

        def happen() -> str:
            processes = [each for it in self.service.programs for each in it.processes]
            return f"disk full ({self.database.fill_disk(processes, seconds)})"

        return happen

    def _reorganise(self) -> Callable[[], str]:
        chain = self.chance.choice((CHAIN_A, CHAIN_B))
        depth = self.chance.randrange(1, DEEPEST + 1)

        def happen() -> str:
            told(self.chains.of(chain).node.url, "anvil_reorg", depth, [])
            return f"chain reorganised, {depth} deep"

        return happen

    def _lie(self) -> Callable[[], str]:
        """One node of a chain; the other is honest, but where it is away."""
        name = self.chance.choice(sorted(lies.KINDS))
        node = self._one()
        lie, seconds = lies.KINDS[name](random.Random(self.chance.random())), self._lasts()  # noqa: S311

        def happen() -> str:
            node.lie = lie
            time.sleep(seconds)
            node.lie = None
            return f"node lied: {name}"

        return happen

    def _other_chain(self) -> Callable[[], str]:
        node, seconds = self._one(), self._lasts()
        other = CHAIN_B if node.chain == CHAIN_A else CHAIN_A

        def happen() -> str:
            node.asks_instead = self.chains.of(other).node.url
            time.sleep(seconds)
            node.asks_instead = ""
            return "node lied: another chain's data"

        return happen

    def _stall(self) -> Callable[[], str]:
        nodes, seconds = self._some(), self._lasts()

        def happen() -> str:
            for each in nodes:
                each.stalls = True
            time.sleep(seconds)
            for each in nodes:
                each.stalls = False
            return f"{_of(nodes)} stalled"

        return happen

    def _refuse(self) -> Callable[[], str]:
        nodes, seconds = self._some(), self._lasts()
        status = self.chance.choice((429, 500))

        def happen() -> str:
            for each in nodes:
                each.status = status
            time.sleep(seconds)
            for each in nodes:
                each.status = 200
            return f"{_of(nodes)} answered {status}"

        return happen

    def _disappear(self) -> Callable[[], str]:
        nodes, seconds = self._some(), self._lasts()

        def happen() -> str:
            for each in nodes:
                each.disappear()
            time.sleep(seconds)
            for each in nodes:
                each.appear()
            return f"{_of(nodes)} gone"

        return happen

    def _one(self) -> NodeBetween:
        return self.chance.choice(self.nodes[self.chance.choice((CHAIN_A, CHAIN_B))])

    def _some(self) -> list[NodeBetween]:
        """One node of a chain, or all that it has."""
        nodes = self.nodes[self.chance.choice((CHAIN_A, CHAIN_B))]
        return nodes if self.chance.random() < 0.5 else [self.chance.choice(nodes)]


def _of(nodes: list[NodeBetween]) -> str:
    return "node" if len(nodes) == 1 else "all nodes of a chain"
