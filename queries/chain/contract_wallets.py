"""Check a contract wallet's signature, by a quorum of nodes at their newest blocks.

In one `eth_call`, SignatureCheck.sol deploys it if needed (EIP-6492) and asks it (EIP-1271).
"""

from collections.abc import Callable

from eth_abi.abi import encode

from accounts.wallets import WalletAnswer
from queries.chain.errors import ChainError
from queries.chain.node_pool import NodePool
from queries.config.chains import Chain
from queries.contracts.abi import load_artifact
from queries.http.thread_slots import thread_slot
from queries.proving import AnswerMalformedError, keccak256, read_fixed_bytes

# An address without an owner. Nodes call from zero by default, which some contracts take as the
# sign of a simulation, and check less.
CALLER = f"0x{keccak256(b'Tacitus asks whether a wallet accepts a signature')[-20:].hex()}"
# What SignatureCheck.sol returns.
ANSWERS = {1: WalletAnswer.ACCEPTED, 2: WalletAnswer.REFUSED, 3: WalletAnswer.NO_CONTRACT}


def ask_contract_wallet(
    chain: Chain, address: str, digest: bytes, signature: bytes, spend: Callable[[], None]
) -> WalletAnswer:
    """Ask the wallet at `address`, 0x and 40 hex digits, if it accepts the digest's signature.

    Anyone can send an invented signature, so `thread_slot` bounds how many threads wait here, and
    `visitor_timeout` for how long. `spend` is called before a node is asked, and may raise.
    """
    arguments = [bytes.fromhex(address.removeprefix("0x")), digest, signature]
    code = load_artifact("SignatureCheck").bytecode
    code += encode(["address", "bytes32", "bytes"], arguments)
    data = f"0x{code.hex()}"
    with thread_slot() as is_free:
        if not is_free:
            return WalletAnswer.NODE_UNREACHABLE
        spend()
        with NodePool.open_for_visitor(chain) as nodes:
            try:
                return nodes.ask_quorum(_ask_wallet, data, gas=hex(chain.gas_cap))
            except ChainError:
                return WalletAnswer.NODE_UNREACHABLE


def _ask_wallet(node: NodePool, data: str, *, gas: str) -> WalletAnswer:
    # With a transaction's gas, because some nodes refuse a call with more (EIP-7825).
    call = {"from": CALLER, "data": data, "gas": gas}
    return node.fetch("eth_call", (call, "latest"), _read_wallet_answer)


def _read_wallet_answer(answer: object) -> WalletAnswer:
    wallet_answer = ANSWERS.get(int.from_bytes(read_fixed_bytes(answer, "the answer", 32)))
    if wallet_answer is None:
        raise AnswerMalformedError("SignatureCheck gives no such answer")
    return wallet_answer
