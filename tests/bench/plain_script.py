"""The reference for proving: a plain script that proves the accounts of one block without Tacitus.

It gets the proof of every account from the node, checks it with the `trie` package, and sends one
transaction per account to a native registry. Our code builds the calldata: the header with the
first account, the four words of the accumulated block with the others. The script has less to do
than the service: the node signs, and no gas is estimated.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import requests
import rlp
from eth_hash.auto import keccak as keccak_of_trie
from trie import hexary

from queries.proving.accounts import AccountProof, decode_account
from queries.proving.headers import Header, header_from_json
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    SectionHeader,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.tries import ProvenPath, decode_node
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.bench.chain import BenchChain
from tests.bench.command import BenchError
from tests.rigs.anvil import NO_BODIES

BALANCE = frozenset({AccountField.BALANCE})
GAS = 1_000_000  # more than one account takes
# The local node drops transactions at its default fee once the base fee has grown.
FEES = {"maxFeePerGas": hex(10**10), "maxPriorityFeePerGas": hex(10**9)}
TIMEOUT, RECEIPT_SECONDS, MAX_MINING_SECONDS = 30, 0.02, 60


@dataclass(frozen=True, slots=True)
class Outcome:
    """The time and gas that the script took."""

    accounts: int
    seconds: float
    gas: int


class PlainNode:
    """A node as a simple script calls it: one request after the other."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = requests.Session()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def ask(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._session.post(self._address, json=request, timeout=TIMEOUT).json()
        if "error" in answer:
            raise BenchError(f"The local node refuses the plain script's {method}.")
        return answer["result"]


def run_sequential_script(
    chain: BenchChain, registry: str, accounts: Sequence[str], block: int, url: str = ""
) -> Outcome:
    """Wait for each receipt before getting the next proof."""
    begin, gas = time.perf_counter(), 0
    with PlainNode(url or chain.url) as node:
        for call in _calls(node, accounts, block):
            gas += _gas_used(node, _send(node, chain.payer, registry, call))
    return Outcome(len(accounts), time.perf_counter() - begin, gas)


def run_pipelined_script(
    chain: BenchChain, registry: str, accounts: Sequence[str], block: int
) -> Outcome:
    """Send all transactions, then wait for the receipts."""
    begin = time.perf_counter()
    payer = chain.payer
    with PlainNode(chain.url) as node:
        nonce = int(node.ask("eth_getTransactionCount", payer, "pending"), 16)
        sent = [
            _send(node, payer, registry, call, nonce + place)
            for place, call in enumerate(_calls(node, accounts, block))
        ]
        gas = sum(_gas_used(node, transaction) for transaction in sent)
    return Outcome(len(accounts), time.perf_counter() - begin, gas)


def _calls(node: PlainNode, accounts: Sequence[str], block: int) -> Iterator[bytes]:
    keccak_of_trie.hasher = keccak256  # type: ignore[assignment]  # the faster one, as we use
    header = header_from_json(node.ask("eth_getBlockByNumber", hex(block), NO_BODIES))
    for place, account in enumerate(accounts):
        answer = node.ask("eth_getProof", account, [], hex(block))
        yield _prove_call(header, _checked_proof(header, account, answer), first=place == 0)


def _checked_proof(header: Header, account: str, answer: dict[str, Any]) -> AccountProof:
    """Check the proof with `trie`, and only with it."""
    address = bytes.fromhex(account[2:])
    key = keccak256(address)
    encoded = [bytes.fromhex(node[2:]) for node in answer["accountProof"]]
    get_from_proof: Any = hexary.HexaryTrie.get_from_proof
    value = get_from_proof(header.state_root, key, [rlp.decode(node) for node in encoded])
    state = decode_account(value)
    if state.balance != int(answer["balance"], 16):
        raise BenchError("The local node's proof has another balance than its answer.")
    path = ProvenPath(key, value, tuple(map(decode_node, encoded)))
    return AccountProof(
        header.state_root, address, key, exists=True, state=state, path=path, slots=()
    )


def _prove_call(header: Header, proof: AccountProof, *, first: bool) -> bytes:
    witness = build_witness([AccountToStore(proof, BALANCE)])
    if first:
        return prove_call([headers_section([SectionHeader(header, witness, accumulate=True)])])
    return prove_call([accumulated_section(header.number, header.timestamp, header.hash, witness)])


def _send(node: PlainNode, payer: str, registry: str, call: bytes, nonce: int | None = None) -> str:
    transaction = {"from": payer, "to": registry, "data": f"0x{call.hex()}", "gas": hex(GAS)}
    transaction |= FEES
    transaction |= {} if nonce is None else {"nonce": hex(nonce)}
    return str(node.ask("eth_sendTransaction", transaction))


def _gas_used(node: PlainNode, transaction: str) -> int:
    deadline = time.monotonic() + MAX_MINING_SECONDS
    while (receipt := node.ask("eth_getTransactionReceipt", transaction)) is None:
        if time.monotonic() > deadline:
            raise BenchError("The local node does not mine the plain script's transactions.")
        time.sleep(RECEIPT_SECONDS)
    if receipt["status"] != "0x1":
        raise BenchError("The registry refuses a transaction of the plain script.")
    return int(receipt["gasUsed"], 16)
