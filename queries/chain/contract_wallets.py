"""Whether a wallet that is a contract accepts a signature: sign-in's question to a chain.

EIP-1271 asks the wallet, EIP-6492 makes one first that is not deployed yet; both is done by
SignatureCheck.sol in one call that leaves nothing behind. The nodes are not believed any further
than the operator has to: where there are two, two must say the same.

Anyone can have it asked, with a signature that is made up. So a process asks a chain one question
at a time, and few chains at once; the nodes together have a few seconds for it, and one that was
silent is left alone for some time.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from enum import Enum, auto

from eth_abi.abi import encode

from queries.chain.artifacts import load_artifact
from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable
from queries.held_threads import place_to_wait
from queries.proving.keccak import keccak256
from queries.routes import Chain, NodeAddress

# All that a call may use. It leaves SignatureCheck's own bounds room, and lies below the bound
# that EIP-7825 sets for a transaction, which some nodes set for calls too.
GAS = 16_000_000
# With the check's own code it stays below the 49,152 bytes that EIP-3860 allows.
LONGEST_SIGNATURE = 40_000
LARGEST_ANSWER = 10_000  # bytes: an answer is a word
TIMEOUT = 2.0  # seconds, for each of a node's two answers
DEADLINE = 4.0  # seconds, for all that the nodes of a chain are asked
SILENT_FOR = 30.0  # seconds in which a node that did not answer is not asked again
ENOUGH_NODES = 2
# Chains: one whose nodes hang refuses nobody who asks another one. And one place is left for
# what else takes long: questions to nodes, or a proof.
CHAINS_AT_ONCE = 2
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
    BUSY = auto()  # with other questions


# The words that SignatureCheck.sol answers with.
WORDS = {1: WalletAnswer.ACCEPTED, 2: WalletAnswer.REFUSED, 3: WalletAnswer.NO_CONTRACT}


class WalletQuestions:
    """The questions of one process, one a chain, and the nodes that were silent lately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: set[int] = set()  # chains, at this moment
        self._silent_until: dict[str, float] = {}  # by the monotonic clock

    def ask(
        self,
        chain: Chain | None,
        address: str,
        digest: bytes,
        signature: bytes,
        before: Callable[[], None],
    ) -> WalletAnswer:
        """Whether the wallet at `address`, 0x and 40 hex digits, accepts the digest's signature.

        `before` is called when a node is about to be asked, and may raise.
        """
        if chain is None:
            return WalletAnswer.CHAIN_UNKNOWN
        if len(signature) > LONGEST_SIGNATURE:
            return WalletAnswer.REFUSED
        nodes = [node for node in chain.nodes if not self._is_silent(node)]
        enough = min(ENOUGH_NODES, len(chain.nodes))
        if len(nodes) < enough:
            return WalletAnswer.NODE_UNREACHABLE
        with self._place_of(chain.id) as there_is_one:
            if not there_is_one:
                return WalletAnswer.BUSY
            before()
            code = _question(address, digest, signature)
            until = time.monotonic() + DEADLINE
            # One after the other and not at once, so that a third node is asked only where it is
            # needed.
            return _agreed((self._answer(node, chain.id, code, until) for node in nodes), enough)

    @contextmanager
    def _place_of(self, chain_id: int) -> Iterator[bool]:
        """Whether there is one: the chain is not asked now, and not too much else."""
        with self._lock:
            free = chain_id not in self._asked and len(self._asked) < CHAINS_AT_ONCE
            if free:
                self._asked.add(chain_id)
        if not free:
            yield False
            return
        try:
            with place_to_wait() as there_is_one:
                yield there_is_one
        finally:
            with self._lock:
                self._asked.remove(chain_id)

    def _is_silent(self, node: NodeAddress) -> bool:
        return time.monotonic() < self._silent_until.get(node.url, 0.0)

    def _answer(self, node: NodeAddress, chain_id: int, code: bytes, until: float) -> WalletAnswer:
        left = until - time.monotonic()
        if left <= 0:
            return WalletAnswer.NODE_UNREACHABLE
        timeout = min(TIMEOUT, left / 2)
        with closing(JsonRpc(node.url, timeout, LARGEST_ANSWER)) as rpc:
            try:
                its_chain = _number(rpc.ask("eth_chainId"))
            except NodeRefused:
                return WalletAnswer.NODE_UNREACHABLE
            except NodeUnreachable:
                # Only who had its time was silent, and only to what is easy to answer: how long
                # the call takes is the choice of whoever made the signature up.
                if timeout > TIMEOUT * 0.9:
                    self._silent_until[node.url] = time.monotonic() + SILENT_FOR
                return WalletAnswer.NODE_UNREACHABLE
            return _its_word(rpc, its_chain, chain_id, code)


def _question(address: str, digest: bytes, signature: bytes) -> bytes:
    asked = [bytes.fromhex(address.removeprefix("0x")), digest, signature]
    code = load_artifact("SignatureCheck").bytecode
    return code + encode(["address", "bytes32", "bytes"], asked)


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


def _its_word(rpc: JsonRpc, its_chain: int | None, chain_id: int, code: bytes) -> WalletAnswer:
    if its_chain is None:
        return WalletAnswer.NODE_UNREACHABLE
    if its_chain != chain_id:
        return WalletAnswer.WRONG_CHAIN
    call = {"from": ASKER, "data": f"0x{code.hex()}", "gas": hex(GAS)}
    try:
        word = _number(rpc.ask("eth_call", call, "latest"))
    except (NodeRefused, NodeUnreachable):
        return WalletAnswer.NODE_UNREACHABLE
    return WORDS.get(word or 0, WalletAnswer.NODE_UNREACHABLE)


def _number(answer: object) -> int | None:
    """A number as nodes write it, of at most a word; None where the answer is no such thing."""
    if not isinstance(answer, str) or not re.fullmatch("0x[0-9a-fA-F]{1,64}", answer):
        return None
    return int(answer, 16)
