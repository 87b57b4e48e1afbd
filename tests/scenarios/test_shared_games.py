"""Two L2s that begin to share their dispute games, as in the Superchain's Lagoon upgrade."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.rigs.anvil import DAY, Chain
from tests.rigs.rollups import DisputeGames
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

L1, FIRST, SECOND = 1337, 31337, 31338


@dataclass(frozen=True)
class Superchain:
    """Two L2s with their portals on one L1."""

    service: Service
    l1: Chain
    games: dict[int, DisputeGames]  # by L2

    def submit(self, l2: int, block: int) -> str:
        return self.service.submit({l2: {block: accounts(HOLDER)}}, to=L1)

    def assert_done(self, batch: str, l2: int, block: int) -> None:
        self.service.wait(batch)
        assert self.service.field(HOLDER, block, BALANCE, route=(l2, L1)) == HOLDER_BALANCE


@pytest.fixture
def superchain(install: Install, new_chain: NewChain) -> Iterator[Superchain]:
    l1, *l2s = (new_chain(chain, age=20 * DAY) for chain in (L1, FIRST, SECOND))
    games = {l2.id: DisputeGames(l2, l1) for l2 in l2s}
    with install() as service:
        service.add_chain(l1)
        for l2 in l2s:
            service.add_chain(l2, finality=2)
            portal = games[l2.id].address
            service.add_registry("output", l2, l1, by_factory=True, portal=portal)
        with service.serve(), service.prove():
            yield Superchain(service, l1, games)


def test_blocks_are_proven_before_and_after_two_chains_share_their_games(
    superchain: Superchain,
) -> None:
    """The registries ask the same portals before and after; only a super root counts then. Batches
    of the time between say that their games are gone, and wait for the first shared game.
    """
    service, games = superchain.service, superchain.games
    first, second = games[FIRST], games[SECOND]
    for l2, own in games.items():
        block = own.l2.mine(20) - 10
        own.resolve(own.propose(block + 1))
        superchain.assert_done(superchain.submit(l2, block), l2, block)
    blocks = {l2: own.l2.mine(20) - 10 for l2, own in games.items()}
    gone = {l2: own.propose(blocks[l2]) for l2, own in games.items()}
    batches = {l2: superchain.submit(l2, block) for l2, block in blocks.items()}
    for batch in batches.values():
        service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    old, shared = first.registry, first.migrate()
    second.migrate(shared)
    for batch in batches.values():
        service.wait_for_sentence(batch, "the rollup's guardian or an upgrade retired them")
        assert service.status(batch)["waitCode"] == "output_not_recorded"
    # The old AnchorStateRegistry goes on to call its games valid, which no portal asks any more.
    first.registry = old
    first.resolve(gone[FIRST])
    first.registry = shared
    assert "; no game has begun yet" in service.manage("check_setup", fails=True).stdout
    time = max(int(own.l2.header(blocks[l2])["timestamp"], 16) for l2, own in games.items())
    outputs = [(l2, own.output(_last_block(own.l2, time))) for l2, own in games.items()]
    game = first.propose_super_root(time, outputs)
    for batch in batches.values():
        service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    assert "; no game is valid yet" in service.manage("check_setup", fails=True).stdout
    first.resolve(game)
    for l2, batch in batches.items():
        superchain.assert_done(batch, l2, blocks[l2])
    assert service.manage("check_setup", fails=True).stdout.count(f"valid game is {game}") == 2


def _last_block(chain: Chain, time: int) -> int:
    """The last block of this time or before."""
    return max(
        number
        for number in range(chain.head + 1)
        if int(chain.header(number)["timestamp"], 16) <= time
    )
