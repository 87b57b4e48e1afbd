"""Errors of a chain's nodes: a class for each code, and a table that maps node messages to them.

No sentence contains a node's address, which may hold a key, or more of a node's message than
`redact` lets through.
"""

# ruff: noqa: N818

import re
from typing import ClassVar, Self

from queries.proving.keccak import keccak256


class ChainError(Exception):
    """The nodes of a chain gave no usable answer, or the chain refused."""

    code: ClassVar[str]  # for programs
    says: ClassVar[str]  # the sentence for people
    retryable: ClassVar[bool] = True  # whether the same work can succeed later

    def __init__(self, sentence: str, data: bytes = b"") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.data = data  # of a revert
        self.why = ""  # the cause in a word or two, or in a node's own text

    @classmethod
    def of(cls, chain: str, method: str = "", why: str = "", data: bytes = b"") -> Self:
        """Create the error with the sentence of its class."""
        error = cls(cls.says.format(chain=chain, method=method, why=why), data)
        error.why = why
        return error

    def __eq__(self, other: object) -> bool:
        """Errors of two nodes are equal if class and data are, whatever the text."""
        return type(self) is type(other) and self.data == getattr(other, "data", b"")

    def __hash__(self) -> int:
        return hash((type(self), self.data))


# Refusals by the chain itself: every node would give the same answer, so no other node is asked.


class ChainAnswer(ChainError):
    """The chain refused; this counts as an answer."""


class CallReverted(ChainAnswer):
    code = "call_reverted"
    says = "The contract on {chain} refused the call."
    retryable = False


class BeyondHorizonError(CallReverted):
    """The registry's own error: it trusts no state root from its horizon on."""

    code = "beyond_horizon"
    says = (
        "The block is not before the horizon of the registry on {chain}. From then on headers may "
        "not hold the state after their block, so no account or slot can be proven."
    )
    selector = keccak256(b"BeyondHorizon(uint256,uint256)")[:4]


class TransactionRefused(ChainAnswer):
    """Sending it again does not help."""

    code = "transaction_refused"
    says = "{chain} rejects the transaction{why}."
    retryable = False


class TooMuchGas(TransactionRefused):
    """More gas than a transaction, or a block of the chain, may use."""

    code = "too_much_gas"
    says = "The transaction needs more gas than {chain} allows{why}."


class StateRootEmptyError(ChainAnswer):
    """A node returns accounts of a block, often the genesis, whose header has an empty root."""

    code = "state_root_empty"
    says = "The block's header has an empty state root, so no account of {chain} can be proven."
    retryable = False


class AlreadyKnownError(ChainAnswer):
    code = "already_known"
    says = "{chain} knows this transaction already."


class NonceUsed(ChainAnswer):
    code = "nonce_used"
    says = "A transaction with this nonce is already mined on {chain}."


class Underpriced(ChainAnswer):
    """The fee is too low for the pool, or to replace another transaction."""

    code = "underpriced"
    says = "The transaction offers {chain} too little for its gas."


class InsufficientFunds(ChainAnswer):
    code = "insufficient_funds"
    says = "The signer has too little to pay for the transaction on {chain}."


# Faults of a node: the next node is asked.


class NodesUnreachable(ChainError):
    code = "nodes_unreachable"
    says = "No node of {chain} answers{why}."


class NodesLimited(ChainError):
    code = "nodes_limited"
    says = "The nodes of {chain} accept no more requests for now."


class NodesRefuse(ChainError):
    """The node's error is not in `NODE_ERRORS`."""

    code = "nodes_refuse"
    says = "The nodes of {chain} refuse {method}{why}."


class NodesLie(ChainError):
    code = "nodes_lie"
    says = "No node of {chain} gives a valid answer to {method}.{why}"


class RegistryMisread(NodesLie):
    code = "registry_misread"
    says = "A node of {chain} reports a registry value that was never proven."


class NoQuorum(ChainError):
    """No two nodes have given the same answer yet; the question has to be retried."""

    code = "no_quorum"
    says = "The nodes of {chain} do not agree, or not all answer; they will be asked again."


class NodesOfAnotherChain(ChainError):
    code = "nodes_of_another_chain"
    says = "The nodes configured for {chain} serve another chain."


class QuestionRefused(ChainError):
    """Another form of the same request may be accepted."""

    code = "question_refused"
    says = "The nodes of {chain} reject the parameters of {method}{why}."
    retryable = False


class MethodMissing(ChainError):
    code = "method_missing"
    says = "The nodes of {chain} do not offer {method}."
    retryable = False


class BatchTooLargeError(ChainError):
    """A smaller JSON-RPC batch may be accepted."""

    code = "batch_too_large"
    says = "The nodes of {chain} reject so many calls in one JSON-RPC batch."


class BlockUnknown(ChainError):
    code = "block_unknown"
    says = "The nodes of {chain} know no such block."


class TimeTooEarly(BlockUnknown):
    code = "time_too_early"
    says = "The time lies before the first block of {chain}."
    retryable = False


class StateNotAvailable(ChainError):
    code = "state_not_available"
    says = "The nodes of {chain} no longer have the state of that block."
    retryable = False


class StateOfAnotherBlock(ChainError):
    """Usually the latest state, from a node that keeps no older one."""

    code = "state_of_another_block"
    says = "The nodes of {chain} answer {method} with the state of the wrong block."


class ProofWindowExceeded(ChainError):
    code = "proof_window_exceeded"
    says = "The nodes of {chain} keep proofs only for newer blocks."
    retryable = False


# Errors of a node that cannot prove a block this old.
TOO_OLD = (StateNotAvailable, ProofWindowExceeded, MethodMissing)

# Found by our own checks.


class FeesTooHigh(ChainError):
    code = "fees_too_high"
    says = "Gas on {chain} costs more than the operator is willing to pay."


class SourceReorganises(ChainError):
    """A header that was read is not an ancestor of the blocks above it."""

    code = "source_reorganises"
    says = "The source chain is reorganising."


class HistoryMissing(ChainError):
    code = "history_missing"
    says = "{chain} keeps no history of its block hashes (EIP-2935)."


class GamesUnreadableError(ChainError):
    code = "games_unreadable"
    says = "The contracts of dispute games on {chain} cannot be read."


class RegistryAbsent(ChainError):
    code = "registry_absent"
    says = "There is no registry at the configured address on {chain}."


class AnotherBlockAccumulated(ChainError):
    code = "another_block_accumulated"
    says = (
        "The registry on {chain} holds another header than the source chain has now, and cannot "
        "replace it{why}."
    )
    retryable = False


class EnsUnresolved(ChainError):
    code = "ens_unresolved"
    says = "Neither the name's own resolver nor a parent's has an address for it."
    retryable = False


class EnsOffChain(ChainError):
    code = "ens_off_chain"
    says = "The resolver asks for an off-chain look-up."
    retryable = False


# Node errors by code or by a pattern in the message. The first match counts.
NODE_ERRORS: tuple[tuple[int | str, type[ChainError]], ...] = (
    # Reverts come first, because a contract chooses the text that follows.
    (3, CallReverted),  # the code of geth and its successors
    (r"^execution reverted", CallReverted),
    # JSON-RPC batches; before rate limits, whose words these also use
    (r"batch.*(too large|too big|limit|exceed|more than)", BatchTooLargeError),
    (r"batch.*not (allowed|supported)", BatchTooLargeError),
    (r"(too many|maximum).*batch|batch (size|request|call)", BatchTooLargeError),
    # Proofs
    (r"maximum proof window", ProofWindowExceeded),  # reth
    (r"proofs? (are|is) (only )?available (only )?for", ProofWindowExceeded),  # erigon 2
    (r"block is too old|must be within \d+ blocks", ProofWindowExceeded),  # erigon
    # State
    (r"missing trie node", StateNotAvailable),  # geth, bsc, nitro
    (r"histor(y|ical) state|state histor(y|ies)", StateNotAvailable),  # geth
    (r"(no|world) state (is )?(un)?available", StateNotAvailable),  # nethermind, besu
    (r"state .*(not available|unavailable|not found|is pruned|missing)", StateNotAvailable),
    (r"no state (found )?for|pruned|pruning", StateNotAvailable),  # reth, erigon 3, geth 4444
    (r"archive", StateNotAvailable),  # gateways whose plan excludes archive nodes
    # Blocks
    (r"(header|block)\b.*(not found|not be found|unknown|does not exist)", BlockUnknown),
    (r"(unknown|cannot find|could not find) (block|header)", BlockUnknown),
    (r"could not be found|not currently canonical|blockoutofrange", BlockUnknown),
    # Transactions
    (r"already ?known|\bknown transaction|already (been )?imported|same hash", AlreadyKnownError),
    (r"nonce (is )?too low|old ?nonce|nonce .*below", NonceUsed),
    (r"replacement ?(not ?allowed|.*underpriced)|could not replace", Underpriced),
    (r"underpriced|fee ?too ?low|(gas price|tip) .*(too low|below|minimum)", Underpriced),
    (r"max fee per gas less than|fee cap (less|too low)", Underpriced),
    (r"less than block base ?fee", Underpriced),
    (r"insufficient ?funds|upfront cost exceeds|not enough funds", InsufficientFunds),
    # More gas than is allowed; before calls that ran out of gas, whose messages are similar
    (r"gas required exceeds|exceed.*block gas ?limit|gas ?limit ?exceeded", TooMuchGas),
    (r"gas limit .*(too high|greater than the cap)", TooMuchGas),
    # Calls
    (r"revert|(vm execution|evm) error", CallReverted),
    (r"invalid opcode|out ?of ?gas|stack underflow", CallReverted),
    # Transactions that no retry makes valid
    (r"intrinsic gas|floor data gas", TransactionRefused),
    (r"gas ?limit|oversized|max(imum)? ?(init)?code", TransactionRefused),
    (r"invalid chain|(wrong|different) chain.?id", NodesOfAnotherChain),
    (r"invalid (sender|signature)", TransactionRefused),
    (r"type not supported|exceeds the configured cap", TransactionRefused),
    # Limits, mostly of gateways
    (r"\brate\b|too many requests|compute units|capacity|quota|limit(ed)?\b", NodesLimited),
    (r"txpool is full|pool is full|busy|overloaded|try again", NodesLimited),
    # The request itself
    (r"method .*(not|n't) .*(exist|found|available|supported|allowed)", MethodMissing),
    (r"(unsupported|unknown|disallowed) method|not whitelisted", MethodMissing),
    (r"invalid (argument|param|input)|cannot unmarshal", QuestionRefused),
    (r"failed to (parse|deserialize)", QuestionRefused),
    # Codes
    (429, NodesLimited),
    (-32005, NodesLimited),  # "limit exceeded"
    (-32016, NodesLimited),
    (-32601, MethodMissing),
    (-32602, QuestionRefused),
    (-32001, BlockUnknown),
    (-32002, StateNotAvailable),
    (4444, StateNotAvailable),  # geth's pruned history
)  # fmt: skip

# Only these run a transaction or call, so only these can return an error of the chain itself.
EXECUTION_METHODS = {"eth_call", "eth_estimateGas", "eth_sendRawTransaction"}
# A plain word or number, with punctuation after it: nothing that could be a key.
_HARMLESS_WORD = re.compile(
    r"\(?([A-Za-z]{1,15}(-[a-z]{1,15}|'[a-z]{1,2})?|[0-9]{1,26}|[*+<>=-])[,:;)]?"
)


class NodeFault(Exception):
    """One node cannot answer; another may. `kind` is the error to raise if none can."""

    def __init__(self, kind: type[ChainError], why: str = "", sentence: str = "") -> None:
        super().__init__(sentence or kind.code)
        self.kind = kind
        self.why = why


def classify_node_error(method: str, message: str, code: int) -> type[ChainError]:
    """Map a node's error to a class; to a `ChainRefusalError` only for `EXECUTION_METHODS`."""
    for pattern, kind in NODE_ERRORS:
        if pattern == code or (
            isinstance(pattern, str) and re.search(pattern, message, re.IGNORECASE)
        ):
            is_allowed = method in EXECUTION_METHODS or not issubclass(kind, ChainAnswer)
            return kind if is_allowed else NodesRefuse
    return NodesRefuse


def revert_data(data: str) -> bytes:
    """Decode a revert's data; empty if the node leaves it out."""
    try:
        return bytes.fromhex(data.removeprefix("Reverted ").removeprefix("0x"))
    except ValueError:
        return b""


def redact(message: str) -> str:
    """Remove from a node's message all that could be an address or a key."""
    words = message.rstrip(". ").split()
    return " ".join(word if _HARMLESS_WORD.fullmatch(word) else "…" for word in words)
