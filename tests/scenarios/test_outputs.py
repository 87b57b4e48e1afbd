"""L2 blocks on their L1: which dispute games count, and what a status says of them."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from queries.api.lookup_questions import ARGUMENT_TYPES, RECENT_SELECTOR
from tests.rigs.anvil import DAY, Chain, RpcError, call_data
from tests.rigs.faulty_node import Node, Question
from tests.rigs.rollups import AGGREGATE_VERIFIER, DELAY, SUPER_CANNON_KONA, DisputeGames
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts, wait_until
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

L2, L1 = 31337, 1337
AGE = 60 * DAY  # of the chains, so that weeks can pass on the L1
ALERT = 'tacitus_waiting_jobs{code="no_valid_output"}'
SUPER_CANNON = 4  # a type of games whose form is not known


@dataclass(frozen=True)
class Rollup:
    """An L2, its L1, and the dispute games there."""

    service: Service
    l2: Chain
    l1: Chain
    l1_node: Node
    games: DisputeGames
    registry: str

    def wait_for_time(self, batch: str, seconds: int) -> str:
        """Poll until the status expects a valid game about then; return the sentence."""

        def sentence_if_near() -> str:
            sentence = self.service.status(batch)["waitsFor"] or ""
            found = re.search(r"is expected to be valid from (\S+ \S+) UTC", sentence)
            time = datetime.fromisoformat(f"{found[1]}+00:00").timestamp() if found else 0
            return sentence if abs(time - seconds) < 3 * DELAY else ""

        return wait_until(sentence_if_near, what=lambda: str(self.service.status(batch)))

    def submit(self, block: int) -> str:
        return self.service.submit({L2: {block: accounts(HOLDER)}}, to=L1)

    def assert_done(self, batch: str, block: int) -> None:
        self.service.wait(batch)
        assert self.service.field(HOLDER, block, BALANCE, route=(L2, L1)) == HOLDER_BALANCE


@pytest.fixture(scope="module")
def rollup(install: Install, module_chain: NewChain) -> Iterator[Rollup]:
    l2, l1 = (module_chain(chain, age=AGE) for chain in (L2, L1))
    with install() as service, closing(Node(l1)) as l1_node:
        games = DisputeGames(l2, l1)
        service.add_chain(l1, l1_node)
        service.add_chain(l2, finality=2)
        portal = games.address
        registry = service.add_registry("output", l2, l1, by_factory=True, portal=portal)
        with service.serve(), service.prove():
            yield Rollup(service, l2, l1, l1_node, games, registry)


def test_the_status_says_when_a_dispute_game_is_expected_to_be_valid(rollup: Rollup) -> None:
    games, block = rollup.games, rollup.l2.mine(60) - 50
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "output_not_recorded")
    assert "A dispute game that covers the block is expected" in status["waitsFor"]
    rollup.wait_for_time(batch, games.time + 7 * DAY)
    games.resolve(games.propose(block - 1))
    rollup.wait_for_time(batch, games.time + DELAY)
    near, far = games.propose(block + 20), games.propose(block + 40)
    games.resolve(games.propose(block - 2))
    rollup.service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    games.resolve(near)
    games.resolve(far)
    rollup.assert_done(batch, block)


def test_a_recent_lookup_reads_the_newest_recorded_l2_block(rollup: Rollup) -> None:
    block = rollup.l2.mine(60) - 30
    rollup.games.resolve(rollup.games.propose(block))
    rollup.service.wait(rollup.submit(block))
    question = (1, HOLDER, rollup.l1.head, BALANCE, 0)
    words = encode(ARGUMENT_TYPES, [L1, rollup.registry, question])
    data = f"0x{(RECENT_SELECTOR + words).hex()}"
    answer = rollup.service.post("/ccip", {"data": data}).json()
    section, _ = decode(["bytes", "bytes"], bytes.fromhex(answer["data"][2:]))
    facts = rollup.l1.call(rollup.registry, "verify(bytes)", section)
    account = encode(
        ["address", "uint256", "uint64", "uint256"], [HOLDER, block, 0, HOLDER_BALANCE]
    )
    assert account in facts


def test_the_output_of_a_lying_game_is_never_recorded(rollup: Rollup) -> None:
    """The game claims a fork, so it is passed over, and the next one counts."""
    block = rollup.l2.mine(10) - 5
    lying = rollup.games.start_game(keccak(b"a lie"), block.to_bytes(32))
    rollup.games.resolve(lying)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert f"({lying}, type 0) does not claim the block's output" in status["waitsFor"]
    rollup.games.resolve(rollup.games.propose(block + 1))
    rollup.assert_done(batch, block)


def test_a_late_or_blacklisted_game_is_named_and_raises_an_alert(rollup: Rollup) -> None:
    block = rollup.l2.mine(10) - 5
    game = rollup.games.propose(block)
    rollup.games.resolve(rollup.games.propose(block - 1))
    rollup.games.send("setDelay(uint256)", 1)
    rollup.l1.mine(100, seconds=300)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "The dispute game that covers the block should have been valid" in status["waitsFor"]
    assert f"{ALERT} 1" in rollup.service.get("/metrics").text
    rollup.games.send("blacklist(address)", game)
    rollup.service.wait_for_sentence(batch, "is blacklisted")
    later = rollup.games.propose(block + 2)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.games.send("setPaused(bool)", True)
    rollup.service.wait_for_sentence(batch, "contracts are paused")
    rollup.games.send("setPaused(bool)", False)
    rollup.games.send("retire()")
    rollup.games.resolve(later)  # is retired
    rollup.service.wait_for_sentence(batch, "A dispute game that covers the block")
    rollup.l1.mine(2)  # or a game of the same second would be retired as well
    rollup.games.resolve(rollup.games.propose(block + 3))
    rollup.assert_done(batch, block)
    # The same if there are no new games.
    rollup.l1.mine(400, seconds=600)
    batch = rollup.submit(rollup.l2.mine(10) - 2)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "A dispute game that covers the block should have been valid" in status["waitsFor"]
    rollup.games.send("setDelay(uint256)", DELAY)
    rollup.games.resolve(rollup.games.propose(rollup.l2.head))
    rollup.service.wait(batch)


OTHER_CHAINS = (7, 40_000)  # their ids are before and behind the L2's
OTHER_OUTPUT = keccak(b"an output of another chain")


@pytest.mark.parametrize("others", [(), OTHER_CHAINS], ids=["alone", "of three chains"])
def test_a_super_root_covers_the_last_block_at_its_time(
    rollup: Rollup, others: tuple[int, ...]
) -> None:
    """Its time lies between two blocks of the L2: the earlier one's output counts."""
    block = rollup.l2.mine(20) - 15
    covered = block + 5
    outputs = {L2: rollup.games.output(covered), **dict.fromkeys(others, OTHER_OUTPUT)}
    time = int(rollup.l2.header(covered)["timestamp"], 16) + 1
    assert time < int(rollup.l2.header(covered + 1)["timestamp"], 16)
    rollup.games.resolve(rollup.games.propose_super_root(time, sorted(outputs.items())))
    rollup.assert_done(rollup.submit(block), block)


@pytest.mark.parametrize("distance", [0, 10, 14], ids=["its end", "an output", "between outputs"])
def test_a_game_of_base_covers_the_blocks_of_its_segment(rollup: Rollup, distance: int) -> None:
    """Base's games name no chain, and begin with the block as all games about an output do."""
    first = rollup.l2.mine(40) - 35
    game = rollup.games.propose_segment(first, first + 30)
    batch = rollup.submit(first + 30 - distance)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.games.resolve(game)
    rollup.assert_done(batch, first + 30 - distance)


def test_games_of_base_that_do_not_count_are_passed_over(rollup: Rollup) -> None:
    first = rollup.l2.mine(40) - 35
    end = (first + 30).to_bytes(32)
    foreign = rollup.games.start_game(OTHER_OUTPUT, end + bytes(20), AGGREGATE_VERIFIER)
    rollup.games.resolve(foreign)
    game = rollup.games.propose_segment(first, first + 30)
    batch = rollup.submit(first + 25)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.games.send("blacklist(address)", game)
    rollup.service.wait_for_sentence(batch, "is blacklisted")
    rollup.games.resolve(rollup.games.propose_segment(first + 5, first + 35))
    rollup.service.wait(batch)


def test_a_game_that_is_lost_or_does_not_count_is_not_expected(rollup: Rollup) -> None:
    """It is named until another one covers the block."""
    block = rollup.l2.mine(20) - 10
    games = rollup.games
    games.resolve(games.propose(block - 1))
    batch = rollup.submit(block)
    other_type = games.start_game(games.output(block), block.to_bytes(32), respected=False)
    name = f"({other_type}, type 0)"
    rollup.service.wait_for_sentence(batch, f"{name} is of a type that did not count when it began")
    lost = games.start_game(keccak(b"lost"), (block + 1).to_bytes(32))
    games.resolve(lost, valid=False)
    rollup.service.wait_for_sentence(batch, f"({lost}, type 0) was lost by its proposer")
    status = rollup.service.status(batch)
    assert status["waitCode"] == "output_not_recorded"
    assert "A dispute game that covers the block is expected to be valid" in status["waitsFor"]
    game = games.propose(block + 2)
    rollup.service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    assert lost not in rollup.service.status(batch)["waitsFor"]
    games.resolve(game)
    rollup.assert_done(batch, block)


def test_a_game_of_base_with_one_proof_raises_no_alert(rollup: Rollup) -> None:
    """It takes five days, and those with two proofs before it took much less."""
    games, first = rollup.games, rollup.l2.mine(60) - 55
    for last in (first + 20, first + 30):
        game = games.propose_segment(first, last)
        games.set_expected_resolution(game, games.time)
        games.resolve(game)
    block = first + 45
    game = games.propose_segment(first + 25, block)
    begin = games.time
    games.set_expected_resolution(game, begin + 5 * DAY)
    batch = rollup.submit(block)
    rollup.wait_for_time(batch, begin + 5 * DAY + DELAY)
    # A second proof comes, but the game before it still has one.
    games.set_expected_resolution(game, begin + DAY)
    rollup.wait_for_time(batch, begin + DAY + DELAY)
    rollup.l1.reach_time(begin + 2 * DAY)
    rollup.wait_for_time(batch, begin + 5 * DAY + 2 * DELAY)
    assert rollup.service.status(batch)["waitCode"] == "output_not_recorded"
    assert ALERT not in rollup.service.get("/metrics").text
    rollup.l1.reach_time(begin + 6 * DAY)
    rollup.service.wait_for(batch, "no_valid_output")
    games.resolve(game)
    rollup.assert_done(batch, block)


def test_an_upgrade_says_why_games_are_gone(rollup: Rollup) -> None:
    """Games claim super roots from then on, in place or in a new AnchorStateRegistry."""
    block = rollup.l2.mine(20) - 10
    game = rollup.games.propose(block)
    batch = rollup.submit(block)
    rollup.service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    rollup.games.send("setSuperRootsActive(bool)", True)
    rollup.games.resolve(game)
    name = f"({game}, type 0)"
    rollup.service.wait_for_sentence(batch, f"{name} claims an output alone, and the rollup's")
    assert rollup.service.status(batch)["waitCode"] == "output_not_recorded"
    time = int(rollup.l2.header(block)["timestamp"], 16)
    outputs = [(L2, rollup.games.output(block))]
    rollup.games.resolve(rollup.games.propose_super_root(time, outputs))
    rollup.assert_done(batch, block)
    rollup.games.send("setSuperRootsActive(bool)", False)


def test_a_contract_that_reverts_without_a_reason_is_reported(rollup: Rollup) -> None:
    """Such as one that is not a game, of which a rollup's contracts ask what it claims."""
    record = "recordOutput(address,bytes,bytes32,bytes32,bytes32)"
    no_game = HOLDER, b"", bytes(32), bytes(32), bytes(32)
    with pytest.raises(RpcError, match="execution reverted") as refused:
        rollup.l1.call(rollup.registry, record, *no_game)
    assert refused.value.args[0].get("data", "0x") == "0x"
    selector = call_data(record, *no_game)[:10]
    reverted = {"code": 3, "message": "execution reverted", "data": "0x"}

    def fault(question: Question) -> dict[str, Any] | None:
        is_estimate = question["method"] == "eth_estimateGas"
        if not is_estimate or not question["params"][0]["data"].startswith(selector):
            return None
        return {"jsonrpc": "2.0", "id": question["id"], "error": reverted}

    block = rollup.l2.mine(20) - 10
    rollup.games.resolve(rollup.games.propose(block))
    rollup.l1_node.set_fault(fault)
    batch = rollup.submit(block)
    try:
        sentence = "The registry, or a contract that it asks, reverts without a reason."
        rollup.service.wait_for_sentence(batch, sentence)
    finally:
        rollup.l1_node.recover()
    rollup.assert_done(batch, block)


def test_the_first_game_after_all_were_retired_raises_an_alert_when_late(rollup: Rollup) -> None:
    """No game is valid that would tell how long it takes: a week, as usual on the network."""
    games, block = rollup.games, rollup.l2.mine(20) - 10
    games.send("retire()")
    rollup.l1.reach_time(games.time + 1)
    game = games.propose(block)
    batch = rollup.submit(block)
    sentence = rollup.wait_for_time(batch, games.time + 7 * DAY)
    assert "no longer count: the rollup's guardian or an upgrade retired them" in sentence
    printed = rollup.service.manage("check_setup", fails=True).stdout
    assert "; no game is valid yet" in printed
    rollup.l1.reach_time(games.time + 15 * DAY)
    rollup.service.wait_for(batch, "no_valid_output")
    assert f"{ALERT} 1" in rollup.service.get("/metrics").text
    games.resolve(game)
    rollup.assert_done(batch, block)
    printed = rollup.service.manage("check_setup", fails=True).stdout
    assert f"the newest valid game is {game}" in printed


def test_super_roots_that_prove_nothing_are_passed_over_and_named(rollup: Rollup) -> None:
    """Another chain's output, an L2 that is missing, chains out of order, a game whose form is not
    known, and an output alone while the portal says that games claim super roots. A block waits
    until one is valid that counts.
    """
    rollup.games.send("setSuperRootsActive(bool)", True)
    block = rollup.l2.mine(20) - 15
    time, output = int(rollup.l2.header(block)["timestamp"], 16), rollup.games.output(block)
    swapped = rollup.games.propose_super_root(time, [(L2, OTHER_OUTPUT), (40_000, output)])
    games = [
        swapped,
        rollup.games.propose_super_root(time, [(40_000, output)]),
        rollup.games.propose_super_root(time, [(40_000, OTHER_OUTPUT), (L2, output)]),
        rollup.games.start_game(keccak(b"unknown"), time.to_bytes(32), SUPER_CANNON),
        rollup.games.propose(block),
    ]
    for game in games:
        rollup.games.resolve(game)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert f"({swapped}, type {SUPER_CANNON_KONA}) does not claim the" in status["waitsFor"]
    rollup.games.resolve(rollup.games.propose_super_root(time, [(L2, output)]))
    rollup.assert_done(batch, block)
    rollup.games.send("setSuperRootsActive(bool)", False)
