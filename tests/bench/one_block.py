"""thousand_accounts…, latency_blocks, …_blocks, node_requests_…: accounts of one block.

They measure from submission to DONE, except delivery_blocks and feed_blocks.

The reference is a plain script for the same accounts on the same chain, with a block per second.

thousand_accounts and thousand_accounts_pipelined differ in the script: it waits for each receipt,
or sends everything at once. The service and the pipelined script take turns, and their medians are
compared. Each pair of turns begins at another moment between two blocks, because that moves a turn
by up to a second. The script that waits is timed once, on a part of the accounts, and scaled.

latency_blocks proves one account. delivery_blocks delivers one, and compares the blocks from the
proof's transaction to the delivery's with those from submission to the proof's. feed_blocks
compares the blocks from a feed's due block to the delivery's with those of such a batch from its
newest block. node_requests_… count the JSON-RPC calls per fact, for 1 and 100 accounts. Their
reference is the plain script's header, proof, transaction and receipt, without the polls before
the receipt.

amsterdam_gas proves one account before a node with that fork's prices. The reference is a service
with Osaka's prices in its routes file, which stores the header as well.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from accounts.wording import format_count
from queries.client.python import BlockQuery
from queries.config.limits import Limits
from queries.proving.packing import OSAKA
from tests.bench.chain import CHAIN_ID, BenchChain
from tests.bench.command import BenchError
from tests.bench.database import scratch_database
from tests.bench.plain_script import Outcome, run_pipelined_script, run_sequential_script
from tests.bench.rows import Bench, Row
from tests.bench.service import BenchService, proving
from tests.rigs.amsterdam_node import AmsterdamNode
from tests.rigs.faulty_node import Node
from tests.rigs.service import SIGNER, request, wait_until

WAITING, PIPELINED = "thousand_accounts", "thousand_accounts_pipelined"
MIN_SPEED_UP = {WAITING: 10, PIPELINED: 1}
POLL_SECONDS = 0.05

LATENCY, MAX_LATENCY = "latency_blocks", 3.0  # two blocks and a second
DELIVERY, MAX_DELIVERY_BLOCKS = "delivery_blocks", 2.0
FEED, MAX_FEED_BLOCKS, FEED_EVERY = "feed_blocks", 2.0, 10
FAST_POLL_SECONDS = 0.02

AMSTERDAM_GAS, MAX_GAS_RATIO = "amsterdam_gas", 0.8

# Accounts, and the maximum of calls per fact.
NODE_REQUESTS = {"node_requests_1": (1, 15.0), "node_requests_100": (100, 1.3)}


@dataclass(frozen=True, slots=True)
class ServiceTurn:
    """What a turn of the service took."""

    seconds: float
    gas: int
    cpu: float


def thousand_accounts(bench: Bench) -> Iterator[Row]:
    count = bench.sizes.accounts
    with closing(BenchChain(count)) as chain:
        # A block per turn, so that nothing of it is proven yet. All are from before the first turn,
        # because the local node makes proofs from its whole state, which grows with every fact.
        newest = chain.mine(bench.sizes.turns, seconds=1)
        blocks = range(newest - bench.sizes.turns + 1, newest + 1)
        ours, script = _take_turns(bench, chain, blocks)
        if WAITING in bench.wanted:
            accounts = chain.accounts[: bench.sizes.waited_for]
            bench.say(f"{len(accounts):,} accounts, by a script that waits for each receipt")
            waited = run_sequential_script(chain, chain.new_registry(), accounts, blocks[0])
            yield _speed_row(WAITING, count, ours, [waited])
        if PIPELINED in bench.wanted:
            yield _speed_row(PIPELINED, count, ours, script)


def _take_turns(
    bench: Bench, chain: BenchChain, blocks: range
) -> tuple[list[ServiceTurn], list[Outcome]]:
    """Turns of the service, and of the script that sends everything at once."""
    count = f"{len(chain.accounts):,} accounts"
    ours, script = [], []
    with scratch_database() as database, proving(bench, WAITING, database, chain) as running:
        for turn, block in enumerate(blocks):
            delay = turn / len(blocks)  # after a block
            bench.say(f"turn {turn + 1} of {len(blocks)}: {count}, by the service")
            _wait_after_block(chain, delay)
            ours.append(_service_turn(running, chain, block))
            if PIPELINED in bench.wanted:
                bench.say(f"the same {count}, by a script that sends all at once")
                registry = chain.new_registry()
                _wait_after_block(chain, delay)
                script.append(run_pipelined_script(chain, registry, chain.accounts, block))
    return ours, script


def _wait_after_block(chain: BenchChain, seconds: float) -> None:
    chain.wait_for_a_block()
    time.sleep(seconds)


def _service_turn(running: BenchService, chain: BenchChain, block: int) -> ServiceTurn:
    ask = BlockQuery(CHAIN_ID, block=block, accounts=chain.accounts, props=["BALANCE"])
    before, head = running.cpu_seconds(), chain.head
    seconds = running.seconds_to_done(ask, poll_seconds=POLL_SECONDS)
    gas = chain.gas_of(running.registry, head + 1)
    return ServiceTurn(seconds, gas, running.cpu_seconds() - before)


def _speed_row(
    name: str, count: int, ours: Sequence[ServiceTurn], script: Sequence[Outcome]
) -> Row:
    timed = script[0].accounts
    taken = [turn.seconds for turn in ours]
    scaled = [turn.seconds * count / timed for turn in script]
    which = "waits for each receipt" if name == WAITING else "sends all at once"
    scale = "" if timed == count else f", timed on {timed:,} and scaled"
    gas, theirs = median(turn.gas for turn in ours), median(turn.gas for turn in script)
    cpu = median(turn.cpu for turn in ours)
    return Row(
        name,
        f"{count:,} accounts of a block, beside a script that {which}{scale}",
        count / median(taken),
        count / median(scaled),
        "accounts/s",
        min_ratio=MIN_SPEED_UP[name],
        remarks=(
            f"{_spread(taken)}; the script {_spread(scaled)}",
            f"{gas / count:,.0f} gas per account, the script {theirs / timed:,.0f}",
            f"the prover takes {cpu / count * 1_000:.2f} ms of CPU per account",
        ),
        figures={
            "gas_an_account": gas / count,
            "gas_an_account_of_the_script": theirs / timed,
            "prover_ms_an_account": cpu / count * 1_000,
        },
    )


def _spread(seconds: Sequence[float]) -> str:
    """The median of the turns, with their range."""
    middle = f"{median(seconds):,.1f} s"
    if len(seconds) == 1:
        return middle
    return f"{middle} ({min(seconds):,.1f} to {max(seconds):,.1f} of {len(seconds)} turns)"


def latency(bench: Bench) -> Iterator[Row]:
    turns, ours, script = bench.sizes.latencies, [], []
    with (
        closing(BenchChain(1)) as chain,
        scratch_database() as database,
        proving(bench, LATENCY, database, chain) as running,
    ):
        for turn in range(turns):
            bench.say(f"{turn + 1} of {turns}")
            chain.wait_for_a_block()
            ask = BlockQuery(CHAIN_ID, block=chain.head, accounts=chain.accounts, props=["BALANCE"])
            ours.append(running.seconds_to_done(ask, poll_seconds=FAST_POLL_SECONDS))
            registry = chain.new_registry()
            chain.wait_for_a_block()
            plain = run_sequential_script(chain, registry, chain.accounts, chain.head)
            script.append(plain.seconds)
    yield Row(
        LATENCY,
        "one account, submission to DONE, with a block per second, beside a plain script",
        median(ours),
        median(script),
        "blocks",
        max_ours=MAX_LATENCY,
        remarks=(f"of {turns}: {_range(ours)}, the script {_range(script)}",),
    )


def delivery(bench: Bench) -> Iterator[Row]:
    turns, ours, proofs, feeds = bench.sizes.latencies, list[int](), list[int](), list[int]()
    with (
        closing(BenchChain(1)) as chain,
        scratch_database() as database,
        proving(bench, DELIVERY, database, chain) as running,
    ):
        chain.deploy("Courier", by_factory=True)
        (account,) = chain.accounts
        # A view of the registry stands for the user's contract: it reverts until the fact is there.
        call = {
            "to": running.registry,
            "function": "accountField(address,uint256,uint8)",
            "args": [account, "$block", 1],
            "gas": "100000",
        }
        entry = {"accounts": {account: {"props": ["BALANCE"], "slots": []}}}
        for turn in range(turns):
            bench.say(f"{turn + 1} of {turns}")
            chain.wait_for_a_block()
            head = chain.head
            batch = running.submit({CHAIN_ID: {head: entry}}, deliver=[call])
            status = _status_once_delivered(running, batch)
            steps = status["queries"][0]["steps"]
            proven = int(chain.receipt(steps[-1]["transactionHash"])["blockNumber"], 16)
            ours.append(int(status["deliveries"][0]["transactionBlock"]) - proven)
            proofs.append(proven - head)
        if FEED in bench.wanted:
            body = request({CHAIN_ID: {"block:$due": entry}}, to=CHAIN_ID, deliver=[call])
            made = running.post("/feeds", {"every": f"{FEED_EVERY} blocks", "batch": body}).json()
            feeds = list(_feed_blocks(bench, running, made["id"], turns))
    if DELIVERY in bench.wanted:
        yield Row(
            DELIVERY,
            "the proof's transaction to the delivery's, beside submission to the proof's",
            mean(ours),
            mean(proofs),
            "blocks",
            max_ours=MAX_DELIVERY_BLOCKS,
            remarks=(f"of {turns}: {_range(ours)}, the proof {_range(proofs)}",),
        )
    if FEED in bench.wanted:
        alone = [ours_ + proof for ours_, proof in zip(ours, proofs, strict=True)]
        yield Row(
            FEED,
            "what a feed takes longer from its due block to the delivery than a batch alone",
            mean(feeds) - mean(alone),
            mean(alone),
            "blocks",
            max_ours=MAX_FEED_BLOCKS,
            remarks=(f"of {turns}: {_range(feeds)}, a batch alone {_range(alone)}",),
        )


def _feed_blocks(bench: Bench, running: BenchService, feed: str, turns: int) -> Iterator[int]:
    """The blocks from the due block of each run to its delivery."""
    seen = set[str]()
    while len(seen) < turns:
        runs = running.get(f"/feeds/{feed}").json()["runs"]
        for run in runs[::-1]:
            if (batch := run["batchQueryId"]) not in seen and len(seen) < turns:
                bench.say(f"run {len(seen) + 1} of {turns}")
                seen.add(batch)
                status = _status_once_delivered(running, batch)
                due = int(run["due"].removeprefix("block:"))
                yield int(status["deliveries"][0]["transactionBlock"]) - due
        time.sleep(FAST_POLL_SECONDS)


def _status_once_delivered(running: BenchService, batch: str) -> dict[str, Any]:
    def status_if_ended() -> dict[str, Any]:
        running.check()
        status = running.status(batch)
        return status if status["deliveries"][0]["ended"] else {}

    status = wait_until(status_if_ended)
    if error := status["deliveries"][0]["error"]:
        raise BenchError(error["message"])
    return status


def _range(blocks: Sequence[float]) -> str:
    return f"{min(blocks):.2f} to {max(blocks):.2f}"


def node_requests(bench: Bench) -> Iterator[Row]:
    for name, (accounts, max_calls) in NODE_REQUESTS.items():
        if name in bench.wanted:
            yield _requests_row(bench, name, accounts, max_calls)


def _requests_row(bench: Bench, name: str, accounts: int, max_calls: float) -> Row:
    with (
        closing(BenchChain(accounts)) as chain,
        closing(Node(chain)) as node,
        scratch_database() as database,
    ):
        chain.follow_clock()
        with proving(bench, name, database, chain, node.url) as running:
            # First a batch that finds a service that has just started, and once the service has
            # measured the time between blocks, the batch that counts.
            for pause in (0, Limits().poll_interval + 1):
                time.sleep(pause)
                chain.wait_for_a_block()
                ask = BlockQuery(
                    CHAIN_ID, block=chain.head, accounts=chain.accounts, props=["BALANCE"]
                )
                node.log.requests.clear()
                running.seconds_to_done(ask, poll_seconds=FAST_POLL_SECONDS)
            ours = node.calls.copy()
        registry = chain.new_registry()
        node.log.requests.clear()
        run_sequential_script(chain, registry, chain.accounts, chain.head, node.url)
        script = node.calls.total() - node.calls["eth_getTransactionReceipt"] + accounts
    methods = ", ".join(f"{method[4:]} {count}" for method, count in ours.most_common())
    return Row(
        name,
        f"JSON-RPC calls per fact, {format_count(accounts, 'account')} of a block, and a script's",
        ours.total() / accounts,
        script / accounts,
        "calls/fact",
        max_ours=max_calls,
        remarks=(methods,),
        figures=dict(ours),
    )


def amsterdam_gas(bench: Bench) -> Iterator[Row]:
    """The gas of a lone balance by Amsterdam's prices, as they are measured or as Osaka's are."""
    osaka = {"new_slot_gas": OSAKA.new_slot, "floor_byte_gas": OSAKA.floor_byte}
    ours, reference = (_lone_gas(bench, settings) for settings in ({}, osaka))
    yield Row(
        AMSTERDAM_GAS,
        "gas of a balance by Amsterdam's prices, and with Osaka's in the routes file",
        ours,
        reference,
        "gas",
        max_ratio=MAX_GAS_RATIO,
    )


def _lone_gas(bench: Bench, settings: dict[str, int]) -> int:
    with (
        closing(BenchChain(1)) as chain,
        closing(AmsterdamNode(chain)) as node,
        scratch_database() as database,
    ):
        name = f"{AMSTERDAM_GAS}-{len(settings)}"
        with proving(bench, name, database, chain, node.url, **settings) as running:
            if not settings:
                wait_until(lambda: "Gas on" in running.logs(whole=True), what="gas is measured")
            first = chain.head
            ask = BlockQuery(CHAIN_ID, block=first, accounts=chain.accounts, props=["BALANCE"])
            running.seconds_to_done(ask, poll_seconds=POLL_SECONDS)
        return sum(node.gas_used(sent["hash"]) for sent in chain.transactions_of(SIGNER, first))
