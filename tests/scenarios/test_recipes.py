"""The recipes of the guide *Deliver and repeat*, as files that a server serves, filled in."""

import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest
import requests
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from tests.builds import contract_for_tests, example
from tests.commands import run_program
from tests.rigs.anvil import DAY, Chain, call_data
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, wait_until
from tests.scenarios.deliveries import deploy
from tests.scenarios.fixtures import Install

MAX_LINES = 20
FINAL_AFTER = 3  # blocks
FOUR_HOURS, WEEK = DAY // 6, 7 * DAY
SOURCE, GAUGE = f"0x{0x60:040x}", f"0x{0x61:040x}"
TOKENS = [f"0x{number:040x}" for number in range(0x62, 0x66)]
SETTINGS: dict[str, Any] = {"FEED_SECONDS": "1"}


@pytest.fixture(scope="module")
def proving(install: Install) -> Iterator[Service]:
    with closing(Chain(age=60 * DAY)) as chain, install() as service:
        service.add_native_chain(chain, free=False)
        service.set_limits(poll_interval=0.1)
        chain.deploy("Courier", by_factory=True)
        for account in (SOURCE, *TOKENS):
            chain.rpc("anvil_setCode", account, "0x00")
        chain.mine(12)
        service.serve(**SETTINGS)
        service.prove(**SETTINGS)
        yield service


class Recipe:
    """The feed of a recipe with these names filled in, made by the command of the guide."""

    def __init__(self, service: Service, folder: Path, name: str, **names: str) -> None:
        self._service = service
        recipe = service.get(f"/docs/recipes/{name}.toml").text
        assert len(recipe.splitlines()) <= MAX_LINES
        for key, value in ({"SOURCE": "31337", "DESTINATION": "31337"} | names).items():
            recipe = re.sub(rf"YOUR_{key}\b", value, recipe)
        assert "YOUR_" not in recipe
        file = folder / "feed.toml"
        file.write_text(recipe)
        command = [sys.executable, service.client_file, "feed", "create", "--file", str(file)]
        environment = {"TACITUS_URL": service.url, "TACITUS_KEY": service.keys[0]}

        def make() -> str:
            """Empty until a prover has read the chain's head."""
            made = run_program(command, env=environment)
            assert made.returncode in {0, 3}, made.stderr
            return made.stdout.strip()

        self._id = wait_until(make)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        url = f"{self._service.url}/feeds/{self._id}"
        headers = {"api-key": self._service.keys[0]}
        assert requests.delete(url, headers=headers, timeout=60).ok

    def read(self) -> dict[str, Any]:
        return dict(self._service.get(f"/feeds/{self._id}").json())

    @property
    def next_due(self) -> int:
        return int(self.read()["nextDue"].partition(":")[2])

    def wait_for_run(self, count: int, state: str = "DELIVERED") -> None:
        """Wait until there are so many runs, and all deliveries of the newest have this state."""

        def is_over() -> bool:
            runs = self.read()["runs"]
            return len(runs) == count and {*runs[0]["deliveries"]} == {state}

        wait_until(is_over, what=lambda: str((self.read(), self._deliveries())))

    def _deliveries(self) -> list[Any]:
        batches = [run["batchQueryId"] for run in self.read()["runs"]]
        return [self._service.status(batch)["deliveries"] for batch in batches if batch]


def number(chain: Chain, to: str, function: str, *args: Any) -> int:
    return int.from_bytes(chain.call(to, function, *args))


def mine_due_block(chain: Chain, due: int) -> int:
    """Mine a block of this time, and a later one. Returns the number of the first."""
    chain.reach_time(due)
    block = chain.head
    chain.reach_time(due + 1)
    return block


def test_a_contract_keeps_the_newest_balance(proving: Service, tmp_path: Path) -> None:
    chain, registry = proving.chain, proving.registries[31337, 31337]
    arguments = encode(["address", "uint256", "address"], [registry, 31337, HOLDER])
    contract = deploy(chain, example("NewestBalance") + arguments)
    names = {"CONTRACT": contract, "ACCOUNT": HOLDER}
    with Recipe(proving, tmp_path, "newest-balance", **names) as feed:
        first = feed.next_due
        for count, balance in enumerate((HOLDER_BALANCE, 7), 1):
            chain.set_balance(HOLDER, balance)
            block = mine_due_block(chain, first + (count - 1) * FOUR_HOURS)
            chain.mine(FINAL_AFTER)
            feed.wait_for_run(count)
            assert number(chain, contract, "balance()") == balance
            assert number(chain, contract, "blockNumber()") == block
        chain.set_slot(contract, 1, 10**9)  # as if a run for a later block had overtaken the next
        mine_due_block(chain, first + 2 * FOUR_HOURS)
        chain.mine(FINAL_AFTER)
        feed.wait_for_run(3, state="SKIPPED")


def test_each_vote_has_its_snapshot_delivered(proving: Service, tmp_path: Path) -> None:
    chain, slot = proving.chain, 5
    votes = deploy(chain, contract_for_tests("VoteSnapshots"))
    names = {f"TOKEN_{place}": token for place, token in enumerate(TOKENS, 1)}
    names |= {"GOVERNANCE": votes, "WAREHOUSE": votes, "SLOT": f"0x{slot:064x}"}
    for token in TOKENS:
        chain.set_slot(token, 1, 1)
    with Recipe(proving, tmp_path, "governance-snapshot", **names) as feed:
        for vote, value in enumerate((10**24, 0), 1):
            chain.set_slot(TOKENS[0], slot, value)
            block_hash = bytes.fromhex(chain.header(chain.mine())["hash"][2:])
            roots = [chain.proof(token)["storageHash"] for token in TOKENS]
            chain.send(votes, call_data("activate(uint256,bytes32)", vote, block_hash))
            chain.mine(FINAL_AFTER)
            feed.wait_for_run(vote)
            function = "storageRoot(address,bytes32)"
            read = [chain.call(votes, function, token, block_hash) for token in TOKENS]
            assert [f"0x{root.hex()}" for root in read] == roots
            args = (TOKENS[0], block_hash, slot.to_bytes(32))
            assert number(chain, votes, "slotValue(address,bytes32,bytes32)", *args) == value


def test_rates_follow_a_change_and_come_every_four_hours(proving: Service, tmp_path: Path) -> None:
    chain, rate = proving.chain, 10**18
    oracle = deploy(chain, contract_for_tests("BlockOracle"))
    arguments = encode(["address", "address"], [oracle, SOURCE])
    consumer = deploy(chain, contract_for_tests("RateFeed") + arguments)

    def set_rates(first: int) -> list[int]:
        rates = [first, *range(1, 8)]
        for slot, value in enumerate(rates):
            chain.set_slot(SOURCE, slot, value)
        chain.mine(30)  # the first slot is read every 25 blocks
        return rates

    def check_run(count: int, rates: list[int]) -> None:
        """The run proves these rates, at the block that was recorded before it."""
        block = number(chain, oracle, "lastBlock()")
        feed.wait_for_run(count)
        assert number(chain, consumer, "provenBlock()") == block
        read = [number(chain, consumer, "rates(uint256)", slot) for slot in range(8)]
        assert read == rates
        assert number(chain, oracle, "lastBlock()") > block
        chain.mine(FINAL_AFTER)

    initial = set_rates(rate)
    chain.send(oracle, call_data("apply()"))
    names = {"VAULT": SOURCE, "ORACLE": oracle, "FEED": consumer}
    with Recipe(proving, tmp_path, "rate-feed", **names) as feed:
        chain.mine(30)
        check_run(1, initial)
        changed = set_rates(rate + rate // 20_000)  # half a basis point
        check_run(2, initial)  # at the block that was recorded before the change
        chain.mine(30)
        check_run(3, changed)
        chain.mine(30)
        chain.mine(30, seconds=FOUR_HOURS // 20)
        check_run(4, changed)


def test_each_weeks_votes_are_delivered(proving: Service, tmp_path: Path) -> None:
    chain = proving.chain
    votes = deploy(chain, contract_for_tests("WeeklyVotes") + encode(["address"], [SOURCE]))
    names = {"CONTROLLER": SOURCE, "VOTES": votes, "ACCOUNT": HOLDER, "GAUGE": GAUGE}
    with Recipe(proving, tmp_path, "weekly-votes", **names) as feed:
        first = feed.next_due
        for week in (1, 2):
            epoch, vote = first + (week - 1) * WEEK, (week, 10 * week, 100 * week)
            set_votes(chain, epoch, 1_000 * week, vote)
            block = mine_due_block(chain, epoch)
            block_hash = bytes.fromhex(chain.header(block)["hash"][2:])
            chain.send(votes, call_data("setBlockHash(bytes32)", block_hash))
            chain.mine(FINAL_AFTER)
            feed.wait_for_run(week)
            assert number(chain, votes, "point(uint256,address)", epoch, GAUGE) == 1_000 * week
            stored = chain.call(votes, "vote(uint256,address,address)", epoch, GAUGE, HOLDER)
            assert decode(["uint256"] * 3, stored) == vote
            assert number(chain, votes, "isDone(uint256)", epoch)


def set_votes(chain: Chain, epoch: int, point: int, vote: tuple[int, int, int]) -> None:
    """Store what the controller has for the epoch."""
    point_key = keccak(encode(["address", "uint256"], [GAUGE, epoch]))
    vote_key = keccak(encode(["address", "address", "uint256"], [HOLDER, GAUGE, epoch]))
    chain.set_slot(SOURCE, int.from_bytes(point_key), point)
    for place, value in enumerate(vote):
        chain.set_slot(SOURCE, int.from_bytes(vote_key) + place, value)
