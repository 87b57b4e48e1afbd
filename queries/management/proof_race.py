"""Our check of account proofs beside the `trie` package's, on the same answers in the same run.

Both begin at an `eth_getProof` answer as JSON gives it, its bytes in 0x-hex.

- Ours: `check_account_proof`. It reads the hex, follows the path from the root, checks every node
  on it strictly, reads the account, and compares what the answer states beside the proof.
- Theirs: what a user of `HexaryTrie.get_from_proof` has to do: read the hex, decode each node's
  RLP, and look the key up. It returns the account's RLP, unread and not compared.
- Theirs alone: the look-up, of nodes that were decoded before the clock started. Nobody has them
  so; it says how much of the difference is reading.

Where the account is named by its address, each hashes it. All hash with the same function, ours,
which is the faster one where two are installed: what is compared is the checking.
"""

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from queries.proving.account_proofs import check_account_proof
from queries.proving.accounts import AccountState, encode_account
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, HASH_BYTES, keccak256
from queries.proving.trie_nodes import Branch, Leaf, reference_to
from queries.proving.trie_proofs import CheckedNodes

try:
    import rlp
    from eth_hash.auto import keccak as keccak_of_trie
    from trie import hexary
except ImportError:  # the second opinion is a development dependency
    hexary = None  # type: ignore[assignment]

TIMES_AS_FAST = 3
# Mainnet's account proofs have eight nodes on average: seven branches and a leaf.
MADE_ACCOUNTS = 100
_MADE_BRANCHES = 7


@dataclass(frozen=True, slots=True)
class ProofToCheck:
    """One account's answer, and what it is checked against."""

    state_root: bytes
    account: bytes  # an address, or in 32 bytes its hash
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RaceResult:
    """Accounts checked per second, each the median of all rounds."""

    accounts: int
    rounds: int
    ours: float
    ours_sharing: float  # with one `CheckedNodes` a round, as whoever checks many of a block has
    theirs: float
    theirs_decoded: float
    ratio: float  # of ours to theirs
    ratio_sharing: float
    ratio_decoded: float  # of theirs, with nodes decoded beforehand, to theirs


def second_opinion_installed() -> bool:
    return hexary is not None


def race(proofs: Sequence[ProofToCheck], rounds: int) -> RaceResult:
    """Let all check the same proofs in turn, so that a slow moment of the machine hits each."""
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


def made_proofs(count: int = MADE_ACCOUNTS) -> list[ProofToCheck]:
    """Proofs of made-up accounts under one root, always the same, shaped as mainnet's are.

    Of the trie there are only the nodes on the accounts' paths; beside them stand made-up hashes.
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
    """The node at `prefix`, above these accounts by their paths; all nodes are kept in `nodes`."""
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
