"""Whether a wallet that is a contract accepts a signature: sign-in's question to a chain.

EIP-1271 asks the wallet, EIP-6492 makes one first that is not deployed yet; both is done by
SignatureCheck.sol in one call that leaves nothing behind. The nodes are not believed any further
than the operator has to: where there are two, two must say the same.
"""

import re
from collections.abc import Iterable
from contextlib import closing
from enum import Enum, auto

from eth_abi.abi import encode

from queries.chain.artifacts import load_artifact
from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable
from queries.proving.keccak import keccak256
from queries.routes import NodeAddress, Routes

# All that a call may use. It leaves SignatureCheck's own bounds room, and lies below the bound
# that EIP-7825 sets for a transaction, which some nodes set for calls too.
GAS = 16_000_000
# With the check's own code it stays below the 49,152 bytes that EIP-3860 allows.
LONGEST_SIGNATURE = 40_000
LARGEST_ANSWER = 10_000  # bytes: an answer is a word
TIMEOUT = 5.0  # seconds, for each of a node's two answers
ENOUGH_NODES = 2
# Nobody's. Zero, which nodes take where none is named, is to some contracts the sign of a trial
# in which they check less.
ASKER = f"0x{keccak256(b'Tacitus asks whether a wallet accepts a signature')[-20:].hex()}"


class WalletAnswer(Enum):
    """What became of the question."""

    ACCEPTED = auto()
    REFUSED = auto()
    NO_CONTRACT = auto()
    CHAIN_UNKNOWN = auto()
    NODE_UNREACHABLE = auto()
    WRONG_CHAIN = auto()
    NODES_DISAGREE = auto()


# The words that SignatureCheck.sol answers with.
WORDS = {1: WalletAnswer.ACCEPTED, 2: WalletAnswer.REFUSED, 3: WalletAnswer.NO_CONTRACT}


def ask_wallet(
    routes: Routes, chain_id: int, address: str, digest: bytes, signature: bytes
) -> WalletAnswer:
    """Whether the wallet at `address`, 0x and 40 hex digits, accepts the digest's signature."""
    chain = routes.chains.get(chain_id)
    if chain is None:
        return WalletAnswer.CHAIN_UNKNOWN
    if len(signature) > LONGEST_SIGNATURE:
        return WalletAnswer.REFUSED
    asked = [bytes.fromhex(address.removeprefix("0x")), digest, signature]
    code = load_artifact("SignatureCheck").bytecode + encode(["address", "bytes32", "bytes"], asked)
    # One after the other and not at once, so that a third node is asked only where it is needed.
    answers = (_ask_node(node, chain.id, code) for node in chain.nodes)
    return _agreed(answers, min(ENOUGH_NODES, len(chain.nodes)))


def _agreed(answers: Iterable[WalletAnswer], enough: int) -> WalletAnswer:
    """What the first nodes say that say anything of the wallet, where they are enough and agree."""
    words = []
    otherwise = WalletAnswer.NODE_UNREACHABLE
    for answer in answers:
        if answer in WORDS.values():
            words.append(answer)
        elif answer is WalletAnswer.WRONG_CHAIN:
            otherwise = answer
        if len(words) == enough:
            return words[0] if len(set(words)) == 1 else WalletAnswer.NODES_DISAGREE
    return otherwise


def _ask_node(node: NodeAddress, chain_id: int, code: bytes) -> WalletAnswer:
    call = {"from": ASKER, "data": f"0x{code.hex()}", "gas": hex(GAS)}
    with closing(JsonRpc(node.url, TIMEOUT, LARGEST_ANSWER)) as rpc:
        try:
            its_chain = _number(rpc.ask("eth_chainId"))
            if its_chain is None:
                return WalletAnswer.NODE_UNREACHABLE
            if its_chain != chain_id:
                return WalletAnswer.WRONG_CHAIN
            word = _number(rpc.ask("eth_call", call, "latest"))
        except (NodeUnreachable, NodeRefused):
            return WalletAnswer.NODE_UNREACHABLE
    return WORDS.get(word or 0, WalletAnswer.NODE_UNREACHABLE)


def _number(answer: object) -> int | None:
    """A number as nodes write it, of at most a word; None where the answer is no such thing."""
    if not isinstance(answer, str) or not re.fullmatch("0x[0-9a-fA-F]{1,64}", answer):
        return None
    return int(answer, 16)
