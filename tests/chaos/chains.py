"""Two chains that never rest: blocks every second, accounts that change, and registries."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import requests
from eth_abi.abi import encode
from eth_account import Account as Key
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from queries.chain.artifacts import load_artifact
from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry_reads import call_data

CHAIN_A, CHAIN_B = 31_337, 31_338
ETHER = 10**18
L1_BLOCK = "0x4200000000000000000000000000000000000015"
# What operators would set for chains that reorganise by up to so many blocks, and no deeper.
DEEPEST, FINALITY, CONFIRMATIONS = 3, 4, 4
WAITS_FOR_FINAL = {CHAIN_A}  # also with what is proven on the chain itself
FREE = {CHAIN_A}
LONGEST_RANGE = 600  # headers on the way from A to B: more than pass while faults hold up a batch
EARLY = 100  # blocks that lie further below all others than that
OPTIONS = ("--block-time", "1", "--slots-in-an-epoch", "4", "--max-persisted-states", "20000")
SLOTS = 6
SIGNERS, THRESHOLD = 3, 2  # of the registry that keeps B's past on A
# Writes the word that comes second into the slot that comes first.
WRITER = bytes.fromhex("67" + "6020356000355500" + "60005260086018f3")


@dataclass(frozen=True)
class Place:
    """One chain: its node, and what there is to be proven of."""

    id: int
    node: LocalNode
    writer: str  # a contract whose first slots change
    accounts: tuple[str, ...]
    # From here on. Balances that were set beside transactions are in no block before.
    first: int


@dataclass(frozen=True)
class Chains:
    """Both, and the registries: (source, destination) → address."""

    a: Place
    b: Place
    registries: dict[tuple[int, int], str]
    signers: tuple[str, ...]  # of the attested one, in ascending order

    def of(self, chain: int) -> Place:
        return self.a if chain == CHAIN_A else self.b


@contextmanager
def two_chains(signer: str, attesters: Sequence[str], chance: random.Random) -> Iterator[Chains]:
    """Alive inside: they change with every block, and B hears of A's final blocks."""
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(local_node("--chain-id", str(chain), *OPTIONS))
            for chain in (CHAIN_A, CHAIN_B)
        ]
        for node in nodes:
            node.rpc.ask("anvil_setBalance", signer, hex(1_000 * ETHER))
        nodes[0].rpc.ask("anvil_mine", hex(EARLY + LONGEST_RANGE), "0x1")
        code = load_artifact("L1BlockStandIn").deployed_bytecode
        nodes[1].rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")
        a, b = (
            _furnished(chain, node, chance)
            for chain, node in zip((CHAIN_A, CHAIN_B), nodes, strict=True)
        )
        registries = {
            (CHAIN_A, CHAIN_A): _deployed(a.node, "NativeRegistry"),
            (CHAIN_B, CHAIN_B): _deployed(b.node, "NativeRegistry"),
            (CHAIN_A, CHAIN_B): _deployed(b.node, "OptimismRegistry"),
            (CHAIN_B, CHAIN_A): _deployed(
                a.node,
                "AttestedRegistry",
                encode(["uint256", "address[]", "uint256"], [CHAIN_B, attesters, THRESHOLD]),
            ),
        }
        ended = threading.Event()
        lives = [
            threading.Thread(target=_live, args=(place.node.url, place, seed, ended))
            for place, seed in ((a, chance.random()), (b, chance.random()))
        ]
        lives.append(threading.Thread(target=_tell, args=(a.node.url, b.node.url, ended)))
        for each in lives:
            each.start()
        try:
            yield Chains(a, b, registries, tuple(attesters))
        finally:
            ended.set()
            for each in lives:
                each.join()


def routes_of(chains: Chains, nodes: dict[int, list[str]]) -> str:
    """The operator's file, with these addresses of nodes."""
    a, b = (", ".join(f'"{each}"' for each in nodes[chain]) for chain in (CHAIN_A, CHAIN_B))
    first = f'[chains.{CHAIN_A}]\nname = "A"\nnodes = [{a}]\nfinality = {FINALITY}\n'
    second = f'[chains.{CHAIN_B}]\nname = "B"\nnodes = [{b}]\n'
    tables = [
        f"{each}free = {str(chain in FREE).lower()}\nconfirmations = {CONFIRMATIONS}\n"
        for chain, each in ((CHAIN_A, first), (CHAIN_B, second))
    ]
    signers = ", ".join(f'"{each}"' for each in chains.signers)
    of_kind = {
        (CHAIN_A, CHAIN_B): ("optimism", f"longest_range = {LONGEST_RANGE}\n"),
        (CHAIN_B, CHAIN_A): (
            "attested",
            f"longest_range = {LONGEST_RANGE}\nsigners = [{signers}]\nthreshold = {THRESHOLD}\n",
        ),
    }
    for (source, destination), address in chains.registries.items():
        kind, more = of_kind.get((source, destination), ("native", ""))
        tables.append(
            f'[[registries]]\nkind = "{kind}"\nsource = {source}\ndestination = {destination}\n'
            f'address = "{address}"\n{more}'
        )
    return "\n".join(tables)


def told(url: str, method: str, *params: Any) -> Any:
    """What a node answers; for threads, which share no connection."""
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return requests.post(url, json=question, timeout=20).json()["result"]


def _accounts(node: LocalNode, chance: random.Random) -> tuple[str, ...]:
    """Rich ones, and some that nobody has ever paid."""
    keys = [chance.randbytes(20) for _ in range(9)]
    found = tuple(to_checksum_address(each) for each in keys)
    for each in found[:6]:
        node.rpc.ask("anvil_setBalance", each, hex(chance.randrange(1, 10**24)))
    # One that is larger than a registry's packed word takes.
    node.rpc.ask("anvil_setBalance", found[0], hex(2**200 + 1))
    return found


def _furnished(chain: int, node: LocalNode, chance: random.Random) -> Place:
    accounts = _accounts(node, chance)
    writer = to_checksum_address(node.deploy(WRITER))
    return Place(chain, node, writer, accounts, int(node.rpc.ask("eth_blockNumber"), 16))


def _deployed(node: LocalNode, name: str, arguments: bytes = b"") -> str:
    return to_checksum_address(node.deploy(load_artifact(name).bytecode, arguments))


def _live(url: str, place: Place, seed: float, ended: threading.Event) -> None:
    """Payments and writes, about one a second."""
    chance = random.Random(seed)  # noqa: S311
    payer = told(url, "eth_accounts")[1]
    while not ended.wait(0.9):
        to, data, amount = place.writer, "", 0
        if chance.random() < 0.5:
            to, amount = chance.choice(place.accounts[1:6]), chance.randrange(1, ETHER)
        else:
            data = f"{chance.randrange(SLOTS):064x}{chance.choice([0, 1, 2**256 - 1]):064x}"
        with suppress(requests.RequestException, KeyError):
            _send(url, payer, to, f"0x{data}", amount)


def _tell(a: str, b: str, ended: threading.Event) -> None:
    """B's predeploy learns of A's newest final block, as of an L1's that no longer changes."""
    payer = told(b, "eth_accounts")[2]
    while not ended.wait(1):
        with suppress(requests.RequestException, KeyError, TypeError):
            head = int(told(a, "eth_blockNumber"), 16)
            block = told(a, "eth_getBlockByNumber", hex(head - FINALITY), False)  # noqa: FBT003
            number, block_hash = int(block["number"], 16), bytes.fromhex(block["hash"][2:])
            data = call_data("set(uint64,bytes32)", number, block_hash)
            _send(b, payer, L1_BLOCK, f"0x{data.hex()}", 0)


def _send(url: str, payer: str, to: str, data: str, amount: int) -> None:
    # The nonce is told, because the node's own count lags behind where blocks were just undone.
    nonce = told(url, "eth_getTransactionCount", payer, "latest")
    told(
        url,
        "eth_sendTransaction",
        {"from": payer, "to": to, "data": data, "value": hex(amount), "nonce": nonce},
    )


def signer_of(seed: str) -> tuple[str, str]:
    """A key that is worth nothing after the run, and its address."""
    key = f"0x{keccak(text=f'signer {seed}').hex()}"
    return key, str(Key.from_key(key).address)


def attesters_of(seed: str) -> list[tuple[str, str]]:
    """The same of those who speak for B, in the order that their registry wants."""
    found = [signer_of(f"{seed}, who speaks for B, {place}") for place in range(SIGNERS)]
    return sorted(found, key=lambda each: each[1].lower())
