"""What someone would write without Tacitus, for the accounts of one block: the reference.

It asks for each account's proof, checks it once, with the `trie` package, and sends a transaction
an account to a registry of the same kind as ours, with the same calldata that ours would take for
one account: the header with the first, and with the others the four words of the block that is
accumulated then. That calldata is written by our own code, because whoever writes such a script
has to write it too; nodes are asked by requests, as such scripts do. The node signs for it and it
asks for no estimate of gas, so it is spared two things that ours does.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.bench.chain import BenchChain
from explorer.bench.plain_node import PlainNode
from explorer.bench.rows import BenchFailed
from queries.chain.source import MOST_PATHS
from queries.proving.account_proofs import AccountProof
from queries.proving.accounts import decode_account
from queries.proving.headers import Header, header_from_json
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.trie_nodes import decode_node
from queries.proving.trie_proofs import ProvenPath
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest

try:
    import rlp
    from eth_hash.auto import keccak as keccak_of_trie
    from trie import hexary
except ImportError:  # a development dependency
    hexary = None  # type: ignore[assignment]

BALANCE = frozenset({AccountField.BALANCE})
GAS = 1_000_000  # more than one account takes
# Named, because the local node drops what waits at the fee that it would choose itself, once the
# base fee has grown.
FEES = {"maxFeePerGas": hex(10**10), "maxPriorityFeePerGas": hex(10**9)}
LOOKS_EVERY, PATIENCE = 0.02, 60  # seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the script took for so many accounts."""

    accounts: int
    seconds: float
    gas: int


def one_after_the_other(
    chain: BenchChain, registry: str, accounts: Sequence[str], block: int
) -> Outcome:
    """Waits for each receipt before it asks for the next proof."""
    begin, gas = time.perf_counter(), 0
    with PlainNode(chain.node.url) as node:
        for call in _calls(node, accounts, block):
            gas += _used(node, _sent(node, chain.node.payer, registry, call))
    return Outcome(len(accounts), time.perf_counter() - begin, gas)


def all_at_once(chain: BenchChain, registry: str, accounts: Sequence[str], block: int) -> Outcome:
    """Sends each transaction as soon as it can be, and then waits for all."""
    begin = time.perf_counter()
    payer = chain.node.payer
    with PlainNode(chain.node.url) as node:
        nonce = int(node.ask("eth_getTransactionCount", payer, "pending"), 16)
        sent = [
            _sent(node, payer, registry, call, nonce + place)
            for place, call in enumerate(_calls(node, accounts, block))
        ]
        gas = sum(_used(node, each) for each in sent)
    return Outcome(len(accounts), time.perf_counter() - begin, gas)


def proofs_alone(chain: BenchChain, accounts: Sequence[str], block: int) -> float:
    """Seconds that the node takes for them, asked for as the service does: nobody is faster."""
    begin = time.perf_counter()
    for start in range(0, len(accounts), MOST_PATHS):
        some = accounts[start : start + MOST_PATHS]
        chain.node.rpc.ask_many("eth_getProof", [(each, [], hex(block)) for each in some])
    return time.perf_counter() - begin


def _calls(node: PlainNode, accounts: Sequence[str], block: int) -> Iterator[bytes]:
    if hexary is None:
        raise BenchFailed("The trie package is not installed; make setup brings it.")
    keccak_of_trie.hasher = keccak256  # type: ignore[assignment]  # the faster one, as ours
    whole = node.ask("eth_getBlockByNumber", hex(block), False)  # noqa: FBT003
    header = header_from_json(whole)
    for place, account in enumerate(accounts):
        answer = node.ask("eth_getProof", account, [], hex(block))
        yield _call(header, _checked(header, account, answer), first=place == 0)


def _checked(header: Header, account: str, answer: dict[str, Any]) -> AccountProof:
    """By `trie` alone: our own check would be a second one, which no transaction needs."""
    address = bytes.fromhex(account[2:])
    key = keccak256(address)
    encoded = [bytes.fromhex(node[2:]) for node in answer["accountProof"]]
    get_from_proof: Any = hexary.HexaryTrie.get_from_proof
    value = get_from_proof(header.state_root, key, [rlp.decode(each) for each in encoded])
    state = decode_account(value)
    if state.balance != int(answer["balance"], 16):
        raise BenchFailed("The local node's proof is not of what it states.")
    path = ProvenPath(key, value, tuple(map(decode_node, encoded)))
    return AccountProof(
        header.state_root, address, key, exists=True, state=state, path=path, slots=()
    )


def _call(header: Header, proof: AccountProof, *, first: bool) -> bytes:
    """The proof in the registry's words."""
    witness = build_witness([AccountRequest(proof, BALANCE)])
    if first:
        return prove_call([headers_section([HeaderStep(header, witness, accumulate=True)])])
    shown = (header.number, header.timestamp, header.hash)
    return prove_call([accumulated_section(*shown, witness)])


def _sent(node: PlainNode, payer: str, registry: str, call: bytes, nonce: int | None = None) -> str:
    told = {"from": payer, "to": registry, "data": f"0x{call.hex()}", "gas": hex(GAS)}
    told |= FEES
    told |= {} if nonce is None else {"nonce": hex(nonce)}
    return str(node.ask("eth_sendTransaction", told))


def _used(node: PlainNode, transaction: str) -> int:
    until = time.monotonic() + PATIENCE
    while (mined := node.ask("eth_getTransactionReceipt", transaction)) is None:
        if time.monotonic() > until:
            raise BenchFailed("The local node does not mine what the plain script sends.")
        time.sleep(LOOKS_EVERY)
    if mined["status"] != "0x1":
        raise BenchFailed("The registry refuses what the plain script sends.")
    return int(mined["gasUsed"], 16)
