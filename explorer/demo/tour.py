"""What the demo asks for: three batches, and what both chains say once each is DONE."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from explorer.demo.chains import (
    CHAIN_A,
    CHAIN_B,
    HOLDER,
    TOKEN_BALANCES,
    DemoChains,
)
from explorer.demo.processes import DemoFailed
from explorer.demo.terminal import Terminal
from queries.chain.local_node import LocalNode
from queries.chain.solidity import call_data
from queries.tacitus import (
    Ask,
    Position,
    Status,
    Tacitus,
    TacitusError,
    batch_of,
    mapping_key,
    rail,
)

DONE_WITHIN = 90  # seconds
BALANCE = 1


@dataclass(frozen=True)
class Example:
    """One batch, and where its value is to be read: in a registry, and at its source."""

    title: str
    block_hash: str
    batch: Mapping[str, Any]
    in_registry: Callable[[], bytes]
    at_source: Callable[[], int]
    unit: str


def examples(chains: DemoChains) -> list[Callable[[], Example]]:
    """Each made when its turn has come, of a block that is new then."""
    return [
        lambda: _own_balance(chains),
        lambda: _token_balance(chains),
        lambda: _l1_balance(chains),
    ]


def _own_balance(chains: DemoChains) -> Example:
    block = _newest(chains.a)
    return Example(
        f"The specification's example: the balance of {HOLDER[:6]}…{HOLDER[-4:]} "
        f"in block {block} of Demo A, proven on Demo A",
        _hash(chains.a, block),
        batch_of(CHAIN_A, Ask(CHAIN_A, block=block, accounts=[HOLDER], props=["BALANCE"])),
        lambda: _account_field(chains.a, chains.native, HOLDER, block),
        lambda: _balance(chains.a, HOLDER, block),
        "ETH",
    )


def _token_balance(chains: DemoChains) -> Example:
    block, holder = _newest(chains.b), chains.holders[1]
    slot = Position(TOKEN_BALANCES).mapping(mapping_key("address", holder)).slot
    return Example(
        f"Across chains: what {holder[:6]}…{holder[-4:]} holds of a token on Demo B, by the "
        f"token's storage in block {block}, proven on Demo A by the word of two signers of three",
        _hash(chains.b, block),
        batch_of(CHAIN_A, Ask(CHAIN_B, block=block, accounts=[chains.token], slots=[slot])),
        lambda: chains.a.call(
            chains.attested,
            call_data(
                "accountStorageSlotValues(address,uint256,bytes32)",
                chains.token,
                block,
                slot.to_bytes(32),
            ),
        ),
        lambda: int.from_bytes(
            chains.b.call(chains.token, call_data("balanceOf(address)", holder), hex(block))
        ),
        "HS",
    )


def _l1_balance(chains: DemoChains) -> Example:
    block = _newest(chains.a)
    return Example(
        f"From an L1 to its L2: the same account's balance in block {block} of Demo A, proven on "
        "Demo B by what an OP-stack chain knows of its L1",
        _hash(chains.a, block),
        batch_of(CHAIN_B, Ask(CHAIN_A, block=block, accounts=[HOLDER], props=["BALANCE"])),
        lambda: _account_field(chains.b, chains.optimism, HOLDER, block),
        lambda: _balance(chains.a, HOLDER, block),
        "ETH",
    )


@dataclass(frozen=True)
class Proven:
    """A batch that is DONE, and the block that its proof rests on."""

    batch_id: str
    block_hash: str


def show(
    service: Tacitus, example: Example, terminal: Terminal, check: Callable[[], None]
) -> Proven:
    """Ask for it, follow it to its end, and compare."""
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
    return Proven(batch_id, example.block_hash)


def going_on(status: Status, terminal: Terminal) -> str:
    """On a terminal what fits into its line; elsewhere the whole wait reason."""
    if terminal.moves:
        return rail(status, terminal.width)
    return f"{rail(replace(status, waits_for=''), terminal.width)}  {status.waits_for}".rstrip()


def compare(example: Example, terminal: Terminal) -> None:
    """What was proven is what the source says."""
    kept, true = int.from_bytes(example.in_registry()), example.at_source()
    terminal.line(f"    the registry says      {_units(kept):>24} {example.unit}")
    terminal.line(f"    the source chain says  {_units(true):>24} {example.unit}")
    if kept != true:
        raise DemoFailed("They differ. This must never be; please report it.")


def _newest(node: LocalNode) -> int:
    return int(node.rpc.ask("eth_blockNumber"), 16)


def _hash(node: LocalNode, block: int) -> str:
    return str(node.rpc.ask("eth_getBlockByNumber", hex(block), False)["hash"])  # noqa: FBT003


def _account_field(node: LocalNode, registry: str, account: str, block: int) -> bytes:
    call = call_data("accountField(address,uint256,uint8)", account, block, BALANCE)
    return node.call(registry, call)


def _balance(node: LocalNode, account: str, block: int) -> int:
    return int(node.rpc.ask("eth_getBalance", account, hex(block)), 16)


def _units(amount: int) -> str:
    whole, rest = divmod(amount, 10**18)
    return f"{whole:,}.{rest:018d}".rstrip("0").rstrip(".")
