"""Whether a contract wallet accepts a signature, by a quorum of nodes.

EIP-1271 asks the wallet; EIP-6492 deploys it first where it does not exist yet. SignatureCheck.sol
does both in one call that changes nothing.
"""

import time
from collections.abc import Callable
from contextlib import closing

from eth_abi.abi import encode

from accounts.contract_wallets import WalletAnswer
from queries.chain.errors import ChainError, NoQuorum
from queries.chain.node_pool import NodePool
from queries.chain.solidity import load_artifact
from queries.held_threads import place_to_wait
from queries.proving.errors import AnswerMalformed
from queries.proving.json_values import read_bytes, read_quantity
from queries.proving.keccak import keccak256
from queries.routes import Chain

GAS = 2**24  # EIP-7825's bound of a transaction, which some nodes apply to calls
# With SignatureCheck's code it stays below the 49,152 bytes that EIP-3860 allows.
LONGEST_SIGNATURE = 40_000
WORD = 32  # bytes
# An address without an owner. Some contracts take zero, the default of nodes, as the sign of a
# simulation in which they check less.
ASKER = f"0x{keccak256(b'Tacitus asks whether a wallet accepts a signature')[-20:].hex()}"
# The words that SignatureCheck.sol answers with.
WORDS = {1: WalletAnswer.ACCEPTED, 2: WalletAnswer.REFUSED, 3: WalletAnswer.NO_CONTRACT}


def ask_wallet(
    chain: Chain | None,
    address: str,
    digest: bytes,
    signature: bytes,
    before: Callable[[], None],
) -> WalletAnswer:
    """Whether the wallet at `address`, 0x and 40 hex digits, accepts the digest's signature.

    Anyone can ask with an invented signature, so `place_to_wait` bounds how many threads do and
    `visitor_timeout` for how long. `before` is called before a node is asked, and may raise.
    """
    if chain is None:
        return WalletAnswer.CHAIN_UNKNOWN
    if len(signature) > LONGEST_SIGNATURE:
        return WalletAnswer.REFUSED
    asked = [bytes.fromhex(address.removeprefix("0x")), digest, signature]
    code = load_artifact("SignatureCheck").bytecode
    code += encode(["address", "bytes32", "bytes"], asked)
    with place_to_wait() as is_free:
        if not is_free:
            return WalletAnswer.NODE_UNREACHABLE
        before()
        until = time.monotonic() + chain.limits.visitor_timeout
        with closing(NodePool(chain, until=until)) as nodes:
            return _answer(nodes, code)


def _answer(nodes: NodePool, code: bytes) -> WalletAnswer:
    """At the newest block; where a node does not know it, at the one before the next node's."""
    call = {"from": ASKER, "data": f"0x{code.hex()}", "gas": hex(GAS)}
    answer = WalletAnswer.NODE_UNREACHABLE
    for behind in (0, 1):
        try:
            newest = nodes.checked("eth_blockNumber", (), _number)
            return _accepts(nodes, call, max(newest - behind, 0))
        except NoQuorum as fault:
            answer = WalletAnswer.NODES_DISAGREE if fault.disagree else answer
            nodes.ask_next_first()
        except ChainError:
            break
    return answer


def _accepts(nodes: NodePool, call: dict[str, str], block: int) -> WalletAnswer:
    question = (call, hex(block))
    return nodes.quorum(
        lambda one: one.checked("eth_call", question, _word), ("wallet", call["data"], block)
    )


def _number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def _word(answer: object) -> WalletAnswer:
    word = read_bytes(answer, "the answer", WORD)
    known = WORDS.get(int.from_bytes(word)) if len(word) == WORD else None
    if known is None:
        raise AnswerMalformed("SignatureCheck answers with one of its words")
    return known
