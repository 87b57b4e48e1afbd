"""One turn: the service runs while faults happen, then they stop, and the checker looks."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.asked import Asked, outcomes
from tests.chaos.asking import Asker
from tests.chaos.chains import (
    CHAIN_A,
    CHAIN_B,
    Chains,
    attesters_of,
    routes_of,
    signer_of,
    two_chains,
)
from tests.chaos.checker import Witnessed, violations
from tests.chaos.databases import Database, Postgres, Sqlite, database
from tests.chaos.evidence import Scene
from tests.chaos.faults import CAUSES, Faults
from tests.chaos.happened import Tally, without_effect
from tests.chaos.lines_to_come import counted_lines
from tests.chaos.look import Look
from tests.chaos.nodes_between import NodeBetween
from tests.chaos.service import AHEAD, Service, keys_of_new_database, service
from tests.chaos.signers import add_signers
from tests.chaos.violations import Violation
from tests.chaos.webhook_receiver import Receiver, webhook_receiver

NODES = (2, 3)  # of each chain, as the seed has it
LEASE = 3  # seconds
SHIFTED = f"clock of a prover {AHEAD} s ahead"
# Two, whose batches share transactions and take turns.
HOLDERS = (
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B",
)


@dataclass(frozen=True)
class Pace:
    """Seconds: from one to the next, on average, and how long a fault may last, or three times as
    long where it is a cut or a stall.
    """

    batches: float
    faults: float
    longest_fault: float
    refusals: int  # of one webhook, at most
    pages: int  # of each kind that are read in the end


SHORT = 60  # seconds of a turn that still goes at the quicker pace
QUICK, SLOW = Pace(0.4, 0.6, 1.5, 1, 6), Pace(0.6, 2.5, 8.0, 2, 40)


@dataclass(frozen=True)
class Turn:
    """What is to be done."""

    seed: str
    seconds: float  # of faults
    server: str  # a PostgreSQL's address; empty for SQLite
    broker: str  # Celery's; empty for the embedded engine
    provers: int = 3
    settle: float = 300.0  # seconds, at most, after the faults: webhooks pause for long

    @property
    def name(self) -> str:
        kind = Postgres.kind if self.server else Sqlite.kind
        return f"{kind}, {'Celery' if self.broker else 'embedded'}"

    @property
    def pace(self) -> Pace:
        return QUICK if self.seconds <= SHORT else SLOW

    @property
    def choices(self) -> tuple[str, str]:
        """As `make chaos` is told of them."""
        return (
            "postgres" if self.server else "sqlite",
            "celery" if self.broker else "embedded",
        )


@dataclass
class Ended:
    """What came of it, and the service at rest: its server runs, its provers have ended."""

    turn: Turn
    nodes: int  # of each chain
    chains: Chains
    scene: Scene
    asked: list[Asked]
    witnessed: Witnessed
    failed: list[str]  # faults that could not be brought about, or had no effect at all
    died: list[str]  # programs that ended by themselves
    settled: float  # seconds from the last fault until nothing moved any more
    seconds: float  # in all

    @property
    def faults(self) -> dict[str, Tally]:
        """By kind."""
        return self.witnessed.happened.tallies

    def look(self) -> Look:
        """A new one: nothing is remembered of the last."""
        return Look(self.scene, self.asked)

    def check(self) -> list[Violation]:
        return [
            *(Violation("died by itself", each) for each in self.died),
            *violations(self.look(), self.witnessed, CAUSES),
        ]

    def outcomes(self) -> Counter[str]:
        status = {row["id"]: row["status"] for row in self.scene.rows("batch")}
        return outcomes(self.asked, status)


@dataclass(frozen=True)
class Stage:
    """All that a turn is played with."""

    turn: Turn
    chance: random.Random
    signer: tuple[str, str]  # its key, and its address
    chains: Chains
    nodes: dict[int, list[NodeBetween]]
    database: Database
    receiver: Receiver

    def more_chance(self) -> random.Random:
        """For another thread, whose pace is its own."""
        return random.Random(self.chance.random())  # noqa: S311


@contextmanager
def turned(turn: Turn, folder: Path) -> Iterator[Ended]:
    """All that was started has ended after this; the folder keeps the logs."""
    begin = time.monotonic()
    with ExitStack() as running:
        made = running.enter_context(database(turn.server, folder))
        with_tables = running.enter_context(ThreadPoolExecutor(1)).submit(_prepared, made, folder)
        chance, signer = random.Random(turn.seed), signer_of(turn.seed)  # noqa: S311
        keys, addresses = zip(*attesters_of(turn.seed), strict=True)
        its_chance = random.Random(chance.random())  # noqa: S311
        chains = running.enter_context(two_chains(signer[1], addresses, its_chance))
        many = chance.choice(NODES)
        nodes = {
            chain: [NodeBetween(chain, chains.of(chain).node.url) for _ in range(many)]
            for chain in (CHAIN_A, CHAIN_B)
        }
        for node in (each for of_chain in nodes.values() for each in of_chain):
            running.callback(node.disappear)
        its_chance = random.Random(chance.random())  # noqa: S311
        receiver = running.enter_context(webhook_receiver(its_chance, turn.pace.refusals))
        stage = Stage(turn, chance, signer, chains, nodes, made, receiver)
        its = running.enter_context(service(folder, _settings(stage, folder), turn.provers))
        add_signers(its, list(keys), chains, nodes)
        its.keys = with_tables.result()
        its.start()
        lines = running.enter_context(counted_lines(its.provers[-1].log, AHEAD))
        asker, faults = _shaken(stage, its)
        scene = _scene(stage, its)
        rested = time.monotonic()
        its.await_server()
        _settle(scene, asker, turn.settle)
        settled = time.monotonic() - rested
        asker.submit_all_again()
        for program in its.programs:
            program.look()
        died = [each for program in its.programs for each in program.deaths]
        for program in (*its.provers, *its.signers):
            program.end()
        happened = faults.happened
        happened.begin(SHIFTED, "lines that it logged with a time still to come")
        happened.came(SHIFTED, lines.to_come)
        yield Ended(
            turn,
            many,
            chains,
            scene,
            asker.asked,
            Witnessed(receiver.told, happened, _handed(nodes)),
            [*happened.failed, *without_effect(happened.tallies)],
            died,
            settled,
            time.monotonic() - begin,
        )


def _prepared(made: Database, folder: Path) -> tuple[str, ...]:
    """The keys to ask with. Nothing of it needs the chains, which take as long to begin."""
    settings = {"DEVELOPMENT": "1", "DATABASE_URL": made.url, **made.settings}
    keys = keys_of_new_database(folder, settings, HOLDERS)
    made.after_migrating()
    return keys


def _handed(nodes: Mapping[int, Sequence[NodeBetween]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for node in (each for of_chain in nodes.values() for each in of_chain):
        for its_hash, times in node.handed.items():
            found[its_hash] += times
    return found


def _settings(stage: Stage, folder: Path) -> dict[str, str]:
    nodes = {chain: [each.url for each in some] for chain, some in stage.nodes.items()}
    routes = folder / "routes.toml"
    routes.write_text(routes_of(stage.chains, nodes))
    settings = {
        "DEVELOPMENT": "1",
        "DATABASE_URL": stage.database.url,
        "ROUTES_FILE": str(routes),
        "SIGNER_KEY": stage.signer[0],
        "PROVER_LEASE_SECONDS": str(LEASE),
        "REQUESTS_PER_MINUTE": "100000",
        "WEBHOOKS_TO_PRIVATE": "1",
        **stage.database.settings,
    }
    if stage.turn.broker:
        settings |= {"PROVER_ENGINE": "CELERY", "CELERY_BROKER": stage.turn.broker}
    return settings


def _shaken(stage: Stage, its: Service) -> tuple[Asker, Faults]:
    """Batches come while faults happen."""
    pace = stage.turn.pace
    asker = Asker(
        stage.chains,
        its.address,
        its.keys,
        stage.more_chance(),
        pace.batches,
        stage.receiver.url,
    )
    faults = Faults(
        stage.chains, stage.nodes, stage.database, its, stage.more_chance(), pace.longest_fault
    )
    thread = threading.Thread(target=asker.run)
    thread.start()
    try:
        faults.run(stage.turn.seconds, pace.faults)
    finally:
        asker.stopped.set()
        thread.join()
    return asker, faults


def _scene(stage: Stage, its: Service) -> Scene:
    made = stage.database
    return Scene(
        {place.id: place.node.url for place in (stage.chains.a, stage.chains.b)},
        stage.chains.registries,
        stage.signer[1],
        str(made.file) if isinstance(made, Sqlite) else made.url.partition("?")[0],
        its.address,
        its.owners,
        # A server has one clock; with a file it is each worker's own, which elsewhere than here is
        # their machine's.
        AHEAD if isinstance(made, Sqlite) else 0,
        stage.turn.pace.pages,
    )


def _settle(scene: Scene, asker: Asker, seconds: float) -> None:
    """Until nothing moves any more; what does not come to rest is found by the checker."""
    until = time.monotonic() + seconds
    asker.submit_the_rest(seconds)
    while time.monotonic() < until:
        open_batches = [row for row in scene.rows("batch") if row["ended"] is None]
        unsettled = [row for row in scene.rows("senttransaction") if not row["settled"]]
        untold = [row for row in scene.rows("webhookdelivery") if row["delivered"] is None]
        if not open_batches and not unsettled and not untold:
            return
        time.sleep(0.5)
