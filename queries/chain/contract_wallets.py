"""Whether a contract wallet accepts a signature, by a quorum of nodes, each at its newest block.

EIP-1271 asks the wallet; EIP-6492 deploys it first where it does not exist yet. SignatureCheck.sol
does both in one call that changes nothing.
"""

from collections.abc import Callable

from eth_abi.abi import encode

from accounts.shared.wallets import WalletAnswer
from queries.chain.errors import ChainError
from queries.chain.node_pool import NodePool
from queries.config.routes import Chain
from queries.contracts.abi import load_artifact
from queries.http.thread_slots import place_to_wait
from queries.proving.errors import AnswerMalformed
from queries.proving.json_values import read_fixed_bytes
from queries.proving.keccak import keccak256

# An address without an owner. Some contracts take zero, the default of nodes, as the sign of a
# simulation in which they check less.
ASKER = f"0x{keccak256(b'Tacitus asks whether a wallet accepts a signature')[-20:].hex()}"
# The words that SignatureCheck.sol answers with.
WORDS = {1: WalletAnswer.ACCEPTED, 2: WalletAnswer.REFUSED, 3: WalletAnswer.NO_CONTRACT}


def ask_wallet(
    chain: Chain, address: str, digest: bytes, signature: bytes, before: Callable[[], None]
) -> WalletAnswer:
    """Whether the wallet at `address`, 0x and 40 hex digits, accepts the digest's signature.

    Anyone can ask with an invented signature, so `place_to_wait` bounds how many threads do and
    `visitor_timeout` for how long. `before` is called before a node is asked, and may raise.
    """
    asked = [bytes.fromhex(address.removeprefix("0x")), digest, signature]
    code = load_artifact("SignatureCheck").bytecode
    code += encode(["address", "bytes32", "bytes"], asked)
    # With a transaction's gas, because some nodes refuse a call with more (EIP-7825).
    call = {"from": ASKER, "data": f"0x{code.hex()}", "gas": hex(chain.gas_cap)}
    with place_to_wait() as is_free:
        if not is_free:
            return WalletAnswer.NODE_UNREACHABLE
        before()
        with NodePool.for_visitor(chain) as nodes:
            try:
                return nodes.quorum(
                    lambda one: one.checked("eth_call", (call, "latest"), _word),
                    ("wallet", call["data"]),
                )
            except ChainError:
                return WalletAnswer.NODE_UNREACHABLE


def _word(answer: object) -> WalletAnswer:
    known = WORDS.get(int.from_bytes(read_fixed_bytes(answer, "the answer", 32)))
    if known is None:
        raise AnswerMalformed("SignatureCheck answers with one of its words")
    return known
