"""L2 blocks on their L1: a dispute game covers a block, and hops lead to earlier blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from eth_abi.abi import decode, encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from queries.api.lookup_questions import ARGUMENT_TYPES, RECENT_SELECTOR
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    HORIZON,
    SIGNER,
    Service,
    accounts,
    request,
)
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

L2, L1 = 31337, 1337
SUPER_CANNON_KONA, SUPER_CANNON, AGGREGATE_VERIFIER = 9, 4, 621  # types of games
MESSAGE_PASSER = "0x4200000000000000000000000000000000000016"


@dataclass(frozen=True)
class Rollup:
    """An L2, its L1, and the dispute games there."""

    service: Service
    l2: Chain
    l1: Chain
    games: str
    registry: str

    def output(self, block: int) -> bytes:
        """The hash of the block's output."""
        header = self.l2.header(block)
        passer = self.l2.rpc("eth_getProof", MESSAGE_PASSER, [], hex(block))["storageHash"]
        words = (header["stateRoot"], passer, header["hash"])
        return keccak(bytes(32) + b"".join(bytes.fromhex(word[2:]) for word in words))

    def propose(self, block: int) -> str:
        """Start a dispute game for this block; return its address."""
        return self.start_game(self.output(block), block.to_bytes(32))

    def propose_super_root(self, time: int, outputs: list[tuple[int, bytes]]) -> str:
        """Start one about the outputs of these chains at this time."""
        entries = b"".join(chain.to_bytes(32) + output for chain, output in outputs)
        super_root = b"\1" + time.to_bytes(8) + entries
        return self.start_game(keccak(super_root), super_root, SUPER_CANNON_KONA)

    def propose_segment(self, first: int, last: int) -> str:
        """Start one as Base does: about the last block, with an output for each ten before it."""
        outputs = [self.output(block) for block in range(first + 10, last + 1, 10)]
        extra = last.to_bytes(32) + bytes(20) + b"".join(outputs)
        return self.start_game(outputs[-1], extra, AGGREGATE_VERIFIER)

    def start_game(self, claim: bytes, extra: bytes, game_type: int = 0) -> str:
        count = int.from_bytes(self.l1.call(self.games, "gameCount()"))
        call = call_data("propose(uint32,bytes32,bytes)", game_type, claim, extra)
        self.l1.send(self.games, call)
        return to_checksum_address(self.l1.call(self.games, "games(uint256)", count)[12:])

    def resolve(self, game: str, *, valid: bool) -> None:
        self.l1.send(self.games, call_data("settle(address,bool)", game, valid))

    def set_super_roots(self, *, active: bool) -> None:
        call = call_data("setSuperRootsActive(bool)", active)
        self.l1.send(self.games, call)

    def submit(self, block: int) -> str:
        return self.service.submit({L2: {block: accounts(HOLDER)}}, to=L1)

    def proven_balance(self, block: int) -> int:
        return self.service.field(HOLDER, block, BALANCE, route=(L2, L1))


@pytest.fixture(scope="module")
def rollup(install: Install, module_chain: NewChain) -> Iterator[Rollup]:
    l2, l1 = module_chain(L2), module_chain(L1)
    with install() as service:
        games = l1.deploy("DisputeGamesStandIn", ["uint256"], [L2])
        service.add_chain(l1)
        service.add_chain(l2, finality=2)
        registry = service.add_registry("output", l2, l1, portal=games)
        l2.set_slot(MESSAGE_PASSER, 0, 1)
        with service.serve(), service.prove():
            yield Rollup(service, l2, l1, games, registry)


def test_an_l2_block_is_proven_once_a_dispute_game_covers_it(
    rollup: Rollup, tmp_path: Path
) -> None:
    """The prover records the game's output and hops from there; the status says what it waits for.
    The proof file proves the same to another registry of these games.
    """
    block = rollup.l2.mine(60) - 50
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "output_not_recorded")
    assert "How long that takes is not known yet." in status["waitsFor"]
    rollup.resolve(rollup.propose(block - 1), valid=True)
    rollup.service.wait_for_sentence(
        batch, "A dispute game that covers the block is expected to be valid from"
    )
    near, far = rollup.propose(block + 20), rollup.propose(block + 40)
    rollup.resolve(rollup.propose(block - 2), valid=True)
    rollup.service.wait_for_sentence(batch, "The dispute game that covers the block is expected")
    rollup.resolve(near, valid=True)
    rollup.resolve(far, valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    file = tmp_path / "proof.json"
    file.write_bytes(rollup.service.get(f"/batch-queries/{batch}/proof").content)
    trusted = rollup.l2.header(block)["hash"]
    verified = rollup.service.manage("verify_proof", str(file), "--hash", trusted)
    assert f"{HOLDER_BALANCE} wei" in verified.stdout
    other = rollup.l1.deploy(
        "OutputRegistry", ["uint256", "uint256", "address"], [HORIZON, L2, rollup.games]
    )
    nodes = ("--node", rollup.l1.url, "--source-node", rollup.l2.url, "--registry", other)
    rollup.service.manage("publish_proof", str(file), *nodes, "--unverifiable")
    word = rollup.l1.call(other, "accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    assert int.from_bytes(word) == HOLDER_BALANCE


def test_a_recent_lookup_reads_the_newest_recorded_l2_block(rollup: Rollup) -> None:
    block = rollup.l2.mine(60) - 30
    rollup.resolve(rollup.propose(block), valid=True)
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


def test_the_registrys_page_names_the_contract_it_trusts(rollup: Rollup) -> None:
    url = f"{rollup.service.url}/explorer/registry/{L1}/{rollup.registry}"
    page = requests.get(url, timeout=30).text
    assert rollup.games in page
    assert "its dispute games, its guardian" in page


def test_the_output_of_a_lying_game_is_never_recorded(rollup: Rollup) -> None:
    """The game claims a fork, so it is passed over, and the next one counts."""
    block = rollup.l2.mine(10) - 5
    lying = rollup.start_game(keccak(b"a lie"), block.to_bytes(32))
    rollup.resolve(lying, valid=True)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert f"({lying}, type 0) does not claim the block's output" in status["waitsFor"]
    rollup.resolve(rollup.propose(block + 1), valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE


def test_an_estimate_prices_the_record_the_hop_and_the_proof(rollup: Rollup) -> None:
    block = rollup.l2.mine(60) - 50
    rollup.resolve(rollup.propose(block + 20), valid=True)
    body = request({L2: {block: accounts(HOLDER)}}, to=L1)
    estimate = rollup.service.post("/estimate", body).json()
    assert (estimate["complete"], estimate["blocks"][0]["hops"]) == (True, 1)
    before = rollup.l1.head
    rollup.service.wait(rollup.submit(block))
    mined = rollup.l1.transactions_of(SIGNER, since=before + 1)
    gas = sum(int(rollup.l1.receipt(transaction["hash"])["gasUsed"], 16) for transaction in mined)
    assert len(mined) == estimate["transactions"] == 2
    assert gas == pytest.approx(
        int(estimate["gas"]), rel=0.012
    )  # which takes the block as accumulated


def test_a_late_or_blacklisted_game_is_named_and_raises_an_alert(rollup: Rollup) -> None:
    block = rollup.l2.mine(10) - 5
    game = rollup.propose(block)
    rollup.resolve(rollup.propose(block - 1), valid=True)
    rollup.l1.send(rollup.games, call_data("setDelay(uint256)", 1))
    rollup.l1.mine(100)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "The dispute game that covers the block should have been valid" in status["waitsFor"]
    assert 'tacitus_waiting_jobs{code="no_valid_output"} 1' in rollup.service.get("/metrics").text
    rollup.l1.send(rollup.games, call_data("blacklist(address)", game))
    rollup.service.wait_for_sentence(batch, "is blacklisted")
    later = rollup.propose(block + 2)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.l1.send(rollup.games, call_data("setPaused(bool)", True))
    rollup.service.wait_for_sentence(batch, "contracts are paused")
    rollup.l1.send(rollup.games, call_data("setPaused(bool)", False))
    rollup.l1.send(rollup.games, call_data("retire()"))
    rollup.resolve(later, valid=True)  # is retired
    rollup.service.wait_for_sentence(batch, "A dispute game that covers the block")
    rollup.l1.mine(2)  # or a game of the same second would be retired as well
    rollup.resolve(rollup.propose(block + 3), valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    # The same if there are no new games.
    rollup.l1.mine(400)
    batch = rollup.submit(rollup.l2.mine(10) - 2)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "A dispute game that covers the block should have been valid" in status["waitsFor"]
    rollup.l1.send(rollup.games, call_data("setDelay(uint256)", 302_400))
    rollup.resolve(rollup.propose(rollup.l2.head), valid=True)
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
    outputs = {L2: rollup.output(covered), **dict.fromkeys(others, OTHER_OUTPUT)}
    time = int(rollup.l2.header(covered)["timestamp"], 16) + 1
    assert time < int(rollup.l2.header(covered + 1)["timestamp"], 16)
    rollup.resolve(rollup.propose_super_root(time, sorted(outputs.items())), valid=True)
    rollup.service.wait(rollup.submit(block))
    assert rollup.proven_balance(block) == HOLDER_BALANCE


def test_super_roots_that_prove_nothing_are_passed_over_and_named(rollup: Rollup) -> None:
    """Another chain's output, an L2 that is missing, chains out of order, a game whose form is not
    known, and an output alone while the portal says that games claim super roots. A block waits
    until one is valid that counts.
    """
    rollup.set_super_roots(active=True)
    block = rollup.l2.mine(20) - 15
    time, output = int(rollup.l2.header(block)["timestamp"], 16), rollup.output(block)
    swapped = rollup.propose_super_root(time, [(L2, OTHER_OUTPUT), (40_000, output)])
    games = [
        swapped,
        rollup.propose_super_root(time, [(40_000, output)]),
        rollup.propose_super_root(time, [(40_000, OTHER_OUTPUT), (L2, output)]),
        rollup.start_game(keccak(b"unknown"), time.to_bytes(32), SUPER_CANNON),
        rollup.propose(block),
    ]
    for game in games:
        rollup.resolve(game, valid=True)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert f"({swapped}, type {SUPER_CANNON_KONA}) does not claim the" in status["waitsFor"]
    rollup.resolve(rollup.propose_super_root(time, [(L2, output)]), valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    rollup.set_super_roots(active=False)


@pytest.mark.parametrize("distance", [0, 10, 14], ids=["its end", "an output", "between outputs"])
def test_a_game_of_base_covers_the_blocks_of_its_segment(rollup: Rollup, distance: int) -> None:
    """Base's games name no chain, and begin with the block as all games about an output do."""
    first = rollup.l2.mine(40) - 35
    game = rollup.propose_segment(first, first + 30)
    batch = rollup.submit(first + 30 - distance)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.resolve(game, valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(first + 30 - distance) == HOLDER_BALANCE


def test_games_of_base_that_do_not_count_are_passed_over(rollup: Rollup) -> None:
    first = rollup.l2.mine(40) - 35
    end = (first + 30).to_bytes(32)
    foreign = rollup.start_game(OTHER_OUTPUT, end + bytes(20), AGGREGATE_VERIFIER)
    rollup.resolve(foreign, valid=True)
    game = rollup.propose_segment(first, first + 30)
    batch = rollup.submit(first + 25)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.l1.send(rollup.games, call_data("blacklist(address)", game))
    rollup.service.wait_for_sentence(batch, "is blacklisted")
    rollup.resolve(rollup.propose_segment(first + 5, first + 35), valid=True)
    rollup.service.wait(batch)
