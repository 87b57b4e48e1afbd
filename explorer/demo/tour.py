"""The demo's four batches and its lookup, compared with their source chains, and its output."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from eth_abi.abi import decode

from explorer.demo.chains import (
    CHAIN_A,
    CHAIN_B,
    CHAIN_C,
    HOLDER,
    IDLE_BLOCK_SECONDS,
    MAX_STATES,
    TOKEN_BALANCES,
    DemoChains,
)
from explorer.demo.local_node import LocalNode, TransactionRevertedError
from explorer.demo.processes import DemoError, shown_command, shown_path
from queries.amounts import UNIT_DIGITS, format_units
from queries.chain import READ_RECENT, GatewayError, follow_lookup
from queries.client.python import (
    BlockQuery,
    Position,
    Status,
    Tacitus,
    TacitusError,
    build_batch,
    mapping_key,
)
from queries.client.python.terminal import ProgressOutput, progress_line
from queries.config.limits import Limits
from queries.contracts.abi import call_data
from queries.contracts.create2 import verifier_address

DONE_SECONDS = 90
BALANCE = 1  # the field's number in the registry
MAX_AGE = 600  # seconds, of the block that a lookup reads at
DONE_MARK, RUNNING_MARK, FAILED_MARK = "✓", "◐", "✗"
MAX_WIDTH = 100
INDENT = "  "
DURATION_WIDTH = 10  # with the space before it


class Terminal(ProgressOutput):
    """The demo's output."""

    @property
    def width(self) -> int:
        return min(super().width, MAX_WIDTH)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print the step's title, its outcome and its duration."""
        start_time = time.monotonic()
        if self.is_terminal:
            self.update(f"{INDENT}{RUNNING_MARK} {title} …")
        try:
            yield
        except BaseException:
            self.line(f"{INDENT}{FAILED_MARK} {title}")
            raise
        self.line(self.timed_line(f"{DONE_MARK} {title}", start_time))

    def timed_line(self, text: str, start_time: float) -> str:
        """The text with the seconds since `start_time` at the right margin."""
        seconds = f"{time.monotonic() - start_time:.1f} s"
        text_width = self.width - DURATION_WIDTH - len(INDENT)
        return f"{INDENT}{text:{text_width}}{seconds:>{DURATION_WIDTH}}"


@dataclass(frozen=True)
class Example:
    """A batch, with functions that read its value from the registry and from its source."""

    title: str
    block_hash: str
    batch: Mapping[str, Any]
    registry_value: Callable[[], int]
    source_value: Callable[[], int]
    unit: str


def examples(chains: DemoChains) -> Iterator[Example]:
    """Yield the examples; the second one reads the newest final block of B when it is requested."""
    a, b, c = chains.a, chains.b, chains.c
    block, c_block = _final_number(a), _final_number(c)
    short_holder = f"{HOLDER[:6]}…{HOLDER[-4:]}"
    balance = BlockQuery(CHAIN_A, block=block, accounts=[HOLDER], props=["BALANCE"])
    yield Example(
        f"The specification's example: the balance of {short_holder} in block {block} of Demo A, "
        "proven on Demo A",
        a.block(hex(block))["hash"],
        build_batch(CHAIN_A, balance),
        lambda: _proven_balance(a, chains.native_registry, block),
        lambda: _balance(a, block),
        "ETH",
    )
    b_block, holder = _final_number(b), chains.holders[1]
    slot = Position(TOKEN_BALANCES).mapping(mapping_key("address", holder)).slot
    read_slot = "accountStorageSlotValues(address,uint256,bytes32)"
    slot_call = call_data(read_slot, chains.token, b_block, slot.to_bytes(32))
    balance_call = call_data("balanceOf(address)", holder)
    token_balance = BlockQuery(CHAIN_B, block=b_block, accounts=[chains.token], slots=[slot])
    yield Example(
        f"Across chains: how many sesterces (HS, the demo's token) {holder[:6]}…{holder[-4:]} has "
        f"on Demo B, from the token's storage in block {b_block}, proven on Demo A, attested by "
        "two of three signers",
        b.block(hex(b_block))["hash"],
        build_batch(CHAIN_A, token_balance),
        lambda: int.from_bytes(a.call(chains.attested_registry, slot_call)),
        lambda: int.from_bytes(b.call(chains.token, balance_call, hex(b_block))),
        "HS",
    )
    yield Example(
        f"From an L1 to its L2: the first balance, in block {block} of Demo A, proven on Demo B, "
        "which never recorded that block: headers lead to it from a newer one",
        a.block(hex(block))["hash"],
        build_batch(CHAIN_B, balance),
        lambda: _proven_balance(b, chains.optimism_registry, block),
        lambda: _balance(a, block),
        "ETH",
    )
    balance = BlockQuery(CHAIN_C, block=c_block, accounts=[HOLDER], props=["BALANCE"])
    yield Example(
        f"Without trusted signers: a balance in block {c_block} of Demo C, proven on Demo B, whose "
        "registry checks the signatures of Demo C's own validators, a sync committee of 512",
        c.block(hex(c_block))["hash"],
        build_batch(CHAIN_B, balance),
        lambda: _proven_balance(b, chains.beacon_registry, c_block),
        lambda: _balance(c, c_block),
        "ETH",
    )


def show(service: Tacitus, example: Example, terminal: Terminal, check: Callable[[], None]) -> str:
    """Submit the batch, print its progress, and compare its value. Returns its id."""
    for line in wrap(example.title, terminal.width):
        terminal.line(line)
    start_time = time.monotonic()

    def progress_text(status: Status) -> str:
        return progress_line(status, terminal.width - len(INDENT) - DURATION_WIDTH)

    def print_progress(status: Status) -> None:
        check()
        if not status.is_done:
            line = f"{INDENT}{progress_text(status)}"
            moving_line = terminal.timed_line(progress_text(status), start_time)
            terminal.update(moving_line if terminal.is_terminal else line)

    try:
        batch_id = service.submit(example.batch).id
        status = service.wait(
            batch_id, timeout=DONE_SECONDS, steps=True, on_progress=print_progress
        )
    except TacitusError as error:
        raise DemoError(str(error)) from None
    terminal.line(terminal.timed_line(progress_text(status), start_time))
    compare("registry", example.registry_value(), example.source_value(), example.unit, terminal)
    return batch_id


def compare(contract: str, amount: int, source_amount: int, unit: str, terminal: Terminal) -> None:
    """Print what the contract and the source chain say. Raises DemoError if they differ."""
    verdict = f"{DONE_MARK} the same" if amount == source_amount else f"{FAILED_MARK} not the same"
    text, source_text = (
        f"{format_units(n, UNIT_DIGITS):>18} {unit}" for n in (amount, source_amount)
    )
    terminal.line(f"    {f'the {contract} says':23}{text}")
    terminal.line(f"    the source chain says  {source_text}  {verdict}")
    if amount != source_amount:
        raise DemoError("The values differ. This is a bug; please report it.")


def show_lookup(chains: DemoChains, terminal: Terminal) -> None:
    """Read the first balance without a transaction, and compare it with its source."""
    title = (
        f"Without a transaction: the newest balance of {HOLDER[:6]}…{HOLDER[-4:]} that can be "
        "proven, by one eth_call that fetches its proof from this server (ERC-3668)"
    )
    for line in wrap(title, terminal.width):
        terminal.line(line)
    start_time = time.monotonic()
    question = call_data(READ_RECENT, HOLDER, BALANCE, MAX_AGE, [])
    try:
        chains.a.call(chains.lookup, question)
        raise DemoError("The lookup asked no gateway. This is a bug; please report it.")
    except TransactionRevertedError as error:
        callback = _callback(error.data)
    value, block = decode(["uint256", "uint256"], chains.a.call(chains.lookup, callback))
    terminal.line(terminal.timed_line(f"{DONE_MARK} read at block {block}", start_time))
    compare("lookup", value, _balance(chains.a, block), "ETH", terminal)


def _callback(error: bytes) -> bytes:
    try:
        return follow_lookup(error, Limits())
    except GatewayError as error_of_gateway:
        raise DemoError(f"The lookup's gateway failed. {error_of_gateway}") from None


def _final_number(node: LocalNode) -> int:
    """The newest block with one on top."""
    return int(node.rpc.ask("eth_blockNumber"), 16) - 1


def _proven_balance(node: LocalNode, registry: str, block: int) -> int:
    call = call_data("accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    return int.from_bytes(node.call(registry, call))


def _balance(node: LocalNode, block: int) -> int:
    return int(node.rpc.ask("eth_getBalance", HOLDER, hex(block)), 16)


def things_to_try(
    site: str, key: str, folder: str, chains: DemoChains, first_batch: tuple[str, str]
) -> str:
    """List addresses, and three things to try. `first_batch`: its id, and its block's hash."""
    batch_id, block_hash = first_batch
    balances, holder = TOKEN_BALANCES, chains.holders[2]
    python, command = shown_path(Path(sys.executable)), shown_command()
    deployment = chains.token_transaction
    token_block = int(chains.b.rpc.ask("eth_getTransactionReceipt", deployment)["blockNumber"], 16)
    return f"""\
Explorer  {site}/
Guides    {site}/docs
API key   {key}
Demo A    {chains.a.url}  chain {CHAIN_A}
Demo B    {chains.b.url}  chain {CHAIN_B}
Demo C    {chains.c.url}  chain {CHAIN_C}
Registry  {chains.native_registry}  Demo A → Demo A (native)
Registry  {chains.attested_registry}  Demo B → Demo A (attested)
Registry  {chains.optimism_registry}  Demo A → Demo B (optimism)
Registry  {chains.beacon_registry}  Demo C → Demo B (beacon)
Lookup    {chains.lookup}  Demo A → Demo A (ERC-3668)
Files     {folder}: routes.toml, and each program's log

Without a transaction, the newest balance, with viem, by a client of {chains.a.url}:
   client.readContract({{
     address: "{chains.lookup}",
     abi: parseAbi([
       "function readRecent(address,uint8,uint256,string[])" +
         " view returns (uint256 balance, uint256 block)",
     ]),
     functionName: "readRecent",
     args: ["{HOLDER}", {BALANCE}, {MAX_AGE}n, []],
   }})

Three things to try

1. Sign in with the demo wallet, and prove an event in a form: the token's first transfer on Demo B.
   {site}/dashboard/new-batch?source={CHAIN_B}&block={token_block}&logs={deployment}:0

2. In another terminal, in this folder, prove a token balance. The guides use these variables too.
   curl -sSO {site}/tacitus.py
   export TACITUS_URL={site} TACITUS_KEY={key}
   export SOURCE={CHAIN_B} SOURCE_RPC_URL={chains.b.url}
   export DESTINATION={CHAIN_A} RPC_URL={chains.a.url}
   export REGISTRY={chains.attested_registry}
   export VERIFIER={verifier_address(chains.attested_registry)}
   export TOKEN={chains.token} BLOCK={_final_number(chains.b)}
   export HOLDER={holder}
   {python} tacitus.py submit --from $SOURCE --to $DESTINATION --block $BLOCK \\
     --account $TOKEN --slot $({python} tacitus.py slot {balances} --key $HOLDER) --wait

3. Download the first batch's proof, and verify it after the demo has stopped:
   curl -sSo proof.json {site}/explorer/query/{batch_id}/proof.json
   {command} verify_proof proof.json --hash {block_hash}

After the second, have a contract called with each new balance of $HOLDER: {site}/docs/deliver

The chains make a block for each transaction, and every {IDLE_BLOCK_SECONDS} seconds. Their nodes
prove accounts of the newest {MAX_STATES} blocks.

It stays up until Ctrl-C."""
