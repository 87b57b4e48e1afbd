"""What the demo prints, asks for and compares once it is proven, and what there is to try."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, TextIO

from explorer.demo.chains import CHAIN_A, CHAIN_B, HOLDER, TOKEN_BALANCES, DemoChains
from explorer.demo.local_node import LocalNode
from explorer.demo.processes import DemoFailed
from queries.client.tacitus import (
    Ask,
    Position,
    Status,
    Tacitus,
    TacitusError,
    batch_of,
    mapping_key,
    rail,
)
from queries.contracts.abi import call_data

DONE_WITHIN = 90  # seconds
BALANCE = 1
DONE, MOVING, FAILED = "✓", "◐", "✗"
BACK = "\r\x1b[K"  # to the beginning of the line, which is emptied
WIDTH = 76  # at most


class Terminal:
    """What the demo prints: on a terminal lines that move on, elsewhere plain ones."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.moves = out.isatty()
        self._shown = ""
        self.width = min(WIDTH, shutil.get_terminal_size((WIDTH + 4, 24)).columns - 4)

    def line(self, text: str = "") -> None:
        self._write(f"{BACK if self.moves and self._shown else ''}{text}\n")
        self._shown = ""

    def now(self, text: str) -> None:
        """What is going on; on a terminal the next line takes its place."""
        if text == self._shown:
            return
        self._write(f"{BACK}{text}" if self.moves else f"{text}\n")
        self._shown = text

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A piece of work, and how long it took."""
        begin = time.monotonic()
        if self.moves:
            self.now(f"  {MOVING} {what} …")
        try:
            yield
        except BaseException:
            self.line(f"  {FAILED} {what}")
            raise
        self.line(f"  {DONE} {what:{self.width - 12}} {time.monotonic() - begin:5.1f} s")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


@dataclass(frozen=True)
class Example:
    """One batch, and where its value is to be read: in a registry, and at its source."""

    title: str
    block_hash: str
    batch: Mapping[str, Any]
    in_registry: Callable[[], int]
    at_source: Callable[[], int]
    unit: str


def examples(chains: DemoChains) -> Iterator[Example]:
    """Each is made when it is asked for, of a block that is new then."""
    a, b = chains.a, chains.b
    block, short = _newest(a), f"{HOLDER[:6]}…{HOLDER[-4:]}"
    yield Example(
        f"The specification's example: the balance of {short} in block {block} of Demo A, proven "
        "on Demo A",
        _hash(a, block),
        batch_of(CHAIN_A, Ask(CHAIN_A, block=block, accounts=[HOLDER], props=["BALANCE"])),
        lambda: _proven_balance(a, chains.native, block),
        lambda: _balance(a, block),
        "ETH",
    )
    b_block, holder = _newest(b), chains.holders[1]
    slot = Position(TOKEN_BALANCES).mapping(mapping_key("address", holder)).slot
    reads_slot = "accountStorageSlotValues(address,uint256,bytes32)"
    proven = call_data(reads_slot, chains.token, b_block, slot.to_bytes(32))
    held = call_data("balanceOf(address)", holder)
    yield Example(
        f"Across chains: what {holder[:6]}…{holder[-4:]} holds of a token on Demo B, by the "
        f"token's storage in block {b_block}, proven on Demo A by the word of two signers of three",
        _hash(b, b_block),
        batch_of(CHAIN_A, Ask(CHAIN_B, block=b_block, accounts=[chains.token], slots=[slot])),
        lambda: int.from_bytes(a.call(chains.attested, proven)),
        lambda: int.from_bytes(b.call(chains.token, held, hex(b_block))),
        "HS",
    )
    yield Example(
        f"From an L1 to its L2: the first balance, of block {block} of Demo A, proven on Demo B, "
        "which never recorded that block: it is reached from a newer one",
        _hash(a, block),
        batch_of(CHAIN_B, Ask(CHAIN_A, block=block, accounts=[HOLDER], props=["BALANCE"])),
        lambda: _proven_balance(b, chains.optimism, block),
        lambda: _balance(a, block),
        "ETH",
    )


def show(service: Tacitus, example: Example, terminal: Terminal, check: Callable[[], None]) -> str:
    """Ask for it, follow it to its end, and compare; the batch's id."""
    for line in wrap(example.title, terminal.width):
        terminal.line(line)
    begin = time.monotonic()

    def follow(status: Status) -> None:
        check()
        if not status.done:
            terminal.now(f"  {going_on(status, terminal)}")

    try:
        batch_id = service.submit(example.batch).id
        done = service.wait(batch_id, timeout=DONE_WITHIN, steps=True, progress=follow)
    except TacitusError as fault:
        raise DemoFailed(str(fault)) from None
    took = time.monotonic() - begin
    terminal.line(f"  {rail(done, terminal.width):{terminal.width - 10}}{took:5.1f} s")
    compare(example, terminal)
    return batch_id


def going_on(status: Status, terminal: Terminal) -> str:
    """On a terminal what fits into its line; elsewhere the whole wait reason."""
    if terminal.moves:
        return rail(status, terminal.width)
    return f"{rail(replace(status, waits_for=''), terminal.width)}  {status.waits_for}".rstrip()


def compare(example: Example, terminal: Terminal) -> None:
    """What was proven is what the source says."""
    kept, true = example.in_registry(), example.at_source()
    terminal.line(f"    the registry says      {_units(kept):>24} {example.unit}")
    terminal.line(f"    the source chain says  {_units(true):>24} {example.unit}")
    if kept != true:
        raise DemoFailed("They differ. This must never be; please report it.")


def _newest(node: LocalNode) -> int:
    return int(node.rpc.ask("eth_blockNumber"), 16)


def _hash(node: LocalNode, block: int) -> str:
    return str(node.rpc.ask("eth_getBlockByNumber", hex(block), False)["hash"])  # noqa: FBT003


def _proven_balance(node: LocalNode, registry: str, block: int) -> int:
    call = call_data("accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    return int.from_bytes(node.call(registry, call))


def _balance(node: LocalNode, block: int) -> int:
    return int(node.rpc.ask("eth_getBalance", HOLDER, hex(block)), 16)


def _units(amount: int) -> str:
    whole, rest = divmod(amount, 10**18)
    return f"{whole:,}.{rest:018d}".rstrip("0").rstrip(".")


THINGS_TO_TRY = """\
Explorer  {site}/
Guides    {site}/docs
API key   {key}
Demo A    {chains.a.url}  chain {a}
Demo B    {chains.b.url}  chain {b}
Registry  {chains.native}  on Demo A, of Demo A
Files     {folder}: routes.toml, and a log of each program

Three things to try

1. Sign in with the demo wallet, and ask for a proof in a form:
   {site}/dashboard/new-batch

2. Ask from another terminal, for what someone holds of a token on Demo B:
   curl -sSO {site}/tacitus.py
   export TACITUS_URL={site} TACITUS_KEY={key}
   {python} tacitus.py submit --from {b} --to {a} --block {block} \\
     --account {chains.token} --slot $({python} tacitus.py slot {balances} --key {holder}) --wait

3. Keep the first batch's proof, and check it when all of this is gone:
   curl -sSo proof.json {site}/explorer/query/{batch_id}/proof.json
   {python} manage.py verify_proof proof.json --hash {block_hash}

It stays up until Ctrl-C."""


def things_to_try(
    site: str, key: str, folder: str, chains: DemoChains, first: tuple[str, str]
) -> str:
    """Where everything is, and three things to try. `first`: the first batch's id and block."""
    return THINGS_TO_TRY.format(
        site=site,
        key=key,
        folder=folder,
        chains=chains,
        batch_id=first[0],
        block_hash=first[1],
        a=CHAIN_A,
        b=CHAIN_B,
        block=_newest(chains.b),
        balances=TOKEN_BALANCES,
        holder=chains.holders[2],
        python=".venv/bin/python",
    )
