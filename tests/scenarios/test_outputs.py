"""L2 blocks on their L1: a dispute game covers a block, and hops lead to earlier blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from eth_abi.abi import decode, encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from queries.api.lookups import ARGUMENT_TYPES, RECENT_SELECTOR
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
MESSAGE_PASSER = "0x4200000000000000000000000000000000000016"


@dataclass(frozen=True)
class Rollup:
    """An L2, its L1, and the dispute games there."""

    service: Service
    l2: Chain
    l1: Chain
    games: str
    registry: str

    def propose(self, block: int) -> str:
        """Start a dispute game for this block; return its address."""
        header = self.l2.header(block)
        passer = self.l2.rpc("eth_getProof", MESSAGE_PASSER, [], hex(block))["storageHash"]
        words = (header["stateRoot"], passer, header["hash"])
        claim = keccak(bytes(32) + b"".join(bytes.fromhex(word[2:]) for word in words))
        count = int.from_bytes(self.l1.call(self.games, "gameCount()"))
        self.l1.send(self.games, call_data("proposeAt(bytes32,uint256,uint256)", claim, L2, block))
        return to_checksum_address(self.l1.call(self.games, "games(uint256)", count)[12:])

    def resolve(self, game: str, *, valid: bool) -> None:
        self.l1.send(self.games, call_data("settle(address,bool)", game, valid))

    def submit(self, block: int) -> str:
        return self.service.submit({L2: {block: accounts(HOLDER)}}, to=L1)

    def proven_balance(self, block: int) -> int:
        return self.service.field(HOLDER, block, BALANCE, route=(L2, L1))


@pytest.fixture(scope="module")
def rollup(install: Install, module_chain: NewChain) -> Iterator[Rollup]:
    l2, l1 = module_chain(L2), module_chain(L1)
    with install() as service:
        games = l1.deploy("DisputeGamesStandIn")
        service.add_chain(l1)
        service.add_chain(l2, finality=2)
        registry = service.add_registry("output", l2, l1, anchor_state_registry=games)
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
    assert "A dispute game that covers the block is expected to be valid from" in status["waitsFor"]
    rollup.resolve(rollup.propose(block - 1), valid=True)
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
    """The game claims a fork, so the registry refuses the output of the true block."""
    block = rollup.l2.mine(10) - 5
    rollup.l1.send(
        rollup.games, call_data("proposeAt(bytes32,uint256,uint256)", keccak(b"a lie"), L2, block)
    )
    count = int.from_bytes(rollup.l1.call(rollup.games, "gameCount()"))
    lying = to_checksum_address(rollup.l1.call(rollup.games, "games(uint256)", count - 1)[12:])
    rollup.resolve(lying, valid=True)
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "call_reverted")
    rollup.resolve(lying, valid=False)
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
    rollup.l1.send(rollup.games, call_data("setDelay(uint256)", 1))
    rollup.l1.mine(3)
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "The dispute game that covers the block should have been valid" in status["waitsFor"]
    assert 'tacitus_waiting_jobs{code="no_valid_output"} 1' in rollup.service.get("/metrics").text
    rollup.l1.send(rollup.games, call_data("retire()"))
    rollup.service.wait_for_sentence(batch, "is retired")
    rollup.l1.send(rollup.games, call_data("blacklist(address)", game))
    rollup.service.wait_for_sentence(batch, "is blacklisted")
    rollup.l1.mine(2)  # or a game of the same second would be retired as well
    rollup.resolve(rollup.propose(block + 3), valid=True)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    # The same if there are no new games.
    batch = rollup.submit(rollup.l2.mine(10) - 2)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "A dispute game that covers the block should have been valid" in status["waitsFor"]
