"""`python -m tests.bench.local_node`: what a block costs a local node on the disk and in memory.

It starts a node as tests do and one as the demo does, with the demo's contracts, mines empty
blocks, and counts the bytes that the node has written anywhere (Linux counts them for each
process), those of the files below its home directory, and its memory. The exit code is 1 if a node
has written a file.
"""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.command import BenchError, run, set_up_django

set_up_django()

from explorer.demo.beacon_chain import run_beacon_chain
from explorer.demo.chains import MAX_STATES as DEMO_STATES
from explorer.demo.chains import Keys, run_nodes, set_up_chains
from explorer.demo.local_node import MAX_STATES, LocalNode, local_node

BLOCKS_AT_ONCE = 100
IGNORED_BYTES = 2**16  # of the disk counter, for which a page is the smallest unit


def measure() -> None:
    parser = ArgumentParser(prog="python -m tests.bench.local_node", description=__doc__)
    parser.add_argument("blocks", nargs="*", type=int, default=[1_000, 2_000, 4_000])
    heights = sorted(parser.parse_args().blocks)
    _print("| node | blocks | states | bytes written a block | files, bytes | memory, MB |")
    _print("|---|---|---|---|---|---|")
    with TemporaryDirectory() as home:
        os.environ["HOME"] = home  # of the nodes
        with local_node() as node:
            written = _measure("tests", node, heights, MAX_STATES, Path(home))
        with run_nodes() as nodes, run_beacon_chain(nodes.c) as beacon:
            set_up_chains(nodes, beacon, Keys(), "http://127.0.0.1:1")
            written |= _measure("demo", nodes.a, heights, DEMO_STATES, Path(home))
    if written:
        raise BenchError("A local node has written to the disk.")


def _measure(name: str, node: LocalNode, heights: list[int], states: int, home: Path) -> bool:
    """Print a line for each height; return whether the node has written to the disk."""
    assert node.process
    folder = Path(f"/proc/{node.process.pid}")
    first, written_before = _height(node), _count(folder / "io", "write_bytes")
    for height in heights:
        while (missing := height - _height(node)) > 0:
            node.rpc.ask("anvil_mine", hex(min(missing, BLOCKS_AT_ONCE)), hex(1))
        written = _count(folder / "io", "write_bytes") - written_before
        files = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        memory = _count(folder / "status", "VmRSS") / 1_000
        a_block = written / max(height - first, 1)
        kept = min(states, height)
        _print(f"| {name} | {height:,} | {kept:,} | {a_block:,.0f} | {files:,} | {memory:,.0f} |")
    return bool(files or written > IGNORED_BYTES)


def _height(node: LocalNode) -> int:
    return int(node.rpc.ask("eth_blockNumber"), 16)


def _count(file: Path, name: str) -> int:
    """The number after this name in a file of /proc."""
    (line,) = (line for line in file.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(measure)
