"""`python -m tests.bench.proof_speed`: how fast account proofs are checked, compared with `trie`.

Both sides begin at an `eth_getProof` answer as JSON gives it, with its bytes in 0x-hex.

- Ours is `check_account_proof`. It reads the hex, follows the path from the root, checks every node
  on it strictly, reads the account, and compares it with what the answer states beside the proof.
- Theirs is what a user of `HexaryTrie.get_from_proof` has to do: read the hex, decode each node's
  RLP, and look the key up. It returns the account's RLP, unread and not compared.
- Theirs with nodes decoded before the clock starts shows how much of the difference is reading.

Where an account is named by its address, each side hashes it. All sides use the same hash function.
"""

import gc
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import rlp
from eth_hash.auto import keccak as keccak_of_trie
from trie import hexary

from queries.proving.account_proofs import check_account_proof
from queries.proving.accounts import AccountState, encode_account
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, HASH_BYTES, keccak256
from queries.proving.trie_nodes import Branch, Leaf, reference_to
from queries.proving.trie_proofs import CheckedNodes
from tests.bench.command import run
from tests.bench.corpus import read_corpus

ROUNDS = 15
TIMES_AS_FAST = 3
# Mainnet's account proofs have eight nodes on average: seven branches and a leaf.
MADE_ACCOUNTS = 100
_MADE_BRANCHES = 7


@dataclass(frozen=True, slots=True)
class ProofToCheck:
    """One account's answer, and what it is checked against."""

    state_root: bytes
    account: bytes  # an address, or its hash of 32 bytes
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RaceResult:
    """Accounts checked per second, each the median of all rounds."""

    accounts: int
    rounds: int
    ours: float
    ours_sharing: float  # with one `CheckedNodes` a round, for many accounts of a block
    theirs: float
    theirs_decoded: float
    ratio: float  # of ours to theirs
    ratio_sharing: float
    ratio_decoded: float  # of theirs with nodes decoded before, to theirs


def proof_speed() -> None:
    summary = __doc__.splitlines()[0].partition("`: ")[2]
    parser = ArgumentParser(prog="python -m tests.bench.proof_speed", description=summary)
    parser.add_argument("--corpus", type=Path, help="a folder of *.json files; else made tries")
    parser.add_argument("--json", action="store_true", help="one object and no table")
    asked = parser.parse_args()
    folder: Path | None = asked.corpus
    result = race(made_proofs() if folder is None else _recorded_proofs(folder), ROUNDS)
    met = result.ratio >= TIMES_AS_FAST
    if asked.json:
        output = json.dumps({**asdict(result), "target": TIMES_AS_FAST, "met": met})
    else:
        source = "made tries of mainnet's shape" if folder is None else str(folder)
        output = "\n".join(_lines(result, source, met=met))
    sys.stdout.write(f"{output}\n")


def race(proofs: Sequence[ProofToCheck], rounds: int) -> RaceResult:
    """All sides check the same proofs in turn, so that a slow moment of the machine hits each."""
    look_ups = [(proof.state_root, _key(proof), _decoded(proof)) for proof in proofs]
    runners = (
        lambda: _run_ours(proofs),
        lambda: _run_ours_sharing(proofs),
        lambda: _run_theirs(proofs),
        lambda: _run_look_ups(look_ups),
    )
    keccak_of_trie.hasher = keccak256  # type: ignore[assignment]  # takes bytearrays too
    gc.collect()
    gc.disable()
    try:
        times = [[_seconds(run) for run in runners] for _ in range(rounds)]
    finally:
        gc.enable()
    columns = zip(*times, strict=True)
    ours, sharing, theirs, decoded = (len(proofs) / median(column) for column in columns)
    ratios = (ours / theirs, sharing / theirs, decoded / theirs)
    return RaceResult(len(proofs), rounds, ours, sharing, theirs, decoded, *ratios)


def _seconds(run: Callable[[], None]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _run_ours(proofs: Sequence[ProofToCheck]) -> None:
    for proof in proofs:
        check_account_proof(proof.answer, proof.state_root, proof.account)


def _run_ours_sharing(proofs: Sequence[ProofToCheck]) -> None:
    checked = CheckedNodes()
    for proof in proofs:
        check_account_proof(proof.answer, proof.state_root, proof.account, (), checked)


def _run_theirs(proofs: Sequence[ProofToCheck]) -> None:
    _run_look_ups((proof.state_root, _key(proof), _decoded(proof)) for proof in proofs)


def _run_look_ups(look_ups: Iterable[tuple[bytes, bytes, list[Any]]]) -> None:
    get_from_proof: Any = hexary.HexaryTrie.get_from_proof
    for root, key, nodes in look_ups:
        get_from_proof(root, key, nodes)


def _key(proof: ProofToCheck) -> bytes:
    return proof.account if len(proof.account) == HASH_BYTES else keccak256(proof.account)


def _decoded(proof: ProofToCheck) -> list[Any]:
    return [rlp.decode(bytes.fromhex(node[2:])) for node in proof.answer["accountProof"]]


def _recorded_proofs(folder: Path) -> list[ProofToCheck]:
    """Every present account of the folder; `trie` has no answer for an absent one."""
    proofs = []
    for file in read_corpus(folder):
        document = json.loads((folder / f"{file.name}.json").read_text())
        for account in document.get("accounts", []):
            if account.get("account") is not None:
                name = account.get("address") or account["addressHash"]
                answer = {**account["account"], "accountProof": account["accountProof"]}
                root = file.block.state_root
                proofs.append(ProofToCheck(root, bytes.fromhex(name[2:]), answer))
    return proofs


def made_proofs(count: int = MADE_ACCOUNTS) -> list[ProofToCheck]:
    """Proofs of made-up accounts under one root, always the same, shaped as mainnet's are.

    The trie has only the nodes on the accounts' paths; their siblings are made-up hashes.
    """
    addresses = [keccak256(b"account %d" % number)[:20] for number in range(count)]
    states = {
        keccak256(address): AccountState(nonce, 10**18 + nonce, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
        for nonce, address in enumerate(addresses)
    }
    nodes: dict[str, bytes] = {}
    root = keccak256(_made_node("", {key.hex(): states[key] for key in states}, nodes))
    proofs = []
    for address in addresses:
        key = keccak256(address)
        path = [nodes[key.hex()[:depth]] for depth in range(_MADE_BRANCHES + 1)]
        answer = {
            "address": f"0x{address.hex()}",
            "nonce": hex(states[key].nonce),
            "balance": hex(states[key].balance),
            "storageHash": f"0x{EMPTY_TRIE_ROOT.hex()}",
            "codeHash": f"0x{EMPTY_CODE_HASH.hex()}",
            "accountProof": [f"0x{node.hex()}" for node in path],
            "storageProof": [],
        }
        proofs.append(ProofToCheck(root, address, answer))
    return proofs


def _made_node(prefix: str, states: dict[str, AccountState], nodes: dict[str, bytes]) -> bytes:
    """The node at `prefix`, above these accounts by their paths. All nodes are kept in `nodes`."""
    if len(prefix) == _MADE_BRANCHES:
        ((path, state),) = states.items()
        encoded = Leaf(path[_MADE_BRANCHES:], encode_account(state)).encode()
    else:
        children = []
        for digit in "0123456789abcdef":
            below = {
                path: state for path, state in states.items() if path.startswith(prefix + digit)
            }
            children.append(
                reference_to(_made_node(prefix + digit, below, nodes))
                if below
                else keccak256((prefix + digit).encode())
            )
        encoded = Branch(tuple(children)).encode()
    nodes[prefix] = encoded
    return encoded


def _lines(result: RaceResult, source: str, *, met: bool) -> Iterator[str]:
    yield f"{result.accounts:,} accounts of {source}, medians of {result.rounds} rounds in turn"
    yield ""
    yield f"{'':42} {'accounts/s':>10}  {'ratio':>5}"
    yield _row("trie, HexaryTrie.get_from_proof", result.theirs, 1)
    yield _row("trie, its nodes decoded beforehand", result.theirs_decoded, result.ratio_decoded)
    yield _row("ours, check_account_proof", result.ours, result.ratio)
    yield _row("ours, nodes shared by a block", result.ours_sharing, result.ratio_sharing)
    yield ""
    ending = "met" if met else "not met"
    yield f"Target: check_account_proof at least {TIMES_AS_FAST} times as fast as trie: {ending}"


def _row(name: str, speed: float, ratio: float) -> str:
    return f"  {name:40} {speed:10,.0f}  {ratio:5.2f}"


if __name__ == "__main__":
    run(proof_speed)
