"""What can go wrong with a chain: a class for each code, and a table for the messages of nodes.

No sentence holds a node's address, which may hold a key, nor more of a node's message than
`quotable` lets through.
"""

# The classes say what happened: `NodesUnreachable` reads better than `NodesUnreachableError`.
# ruff: noqa: N818

import re
from typing import ClassVar, Self, cast

from queries.proving.keccak import keccak256


class ChainError(Exception):
    """The nodes of a chain gave no usable answer, or the chain refused."""

    code: ClassVar[str]  # for programs
    says: ClassVar[str]  # for people
    retryable: ClassVar[bool] = True  # whether the same work can succeed later

    def __init__(self, sentence: str, data: bytes = b"") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.data = data  # of a revert
        self.why = ""  # in a word or two, or with a node's own text

    @classmethod
    def of(cls, chain: str, method: str = "", why: str = "", data: bytes = b"") -> Self:
        """With the sentence of its class."""
        error = cls(cls.says.format(chain=chain, method=method, why=why), data)
        error.why = why
        return error

    def __eq__(self, other: object) -> bool:
        """Two nodes give the same error if its class and data are the same, whatever the text."""
        return type(self) is type(other) and self.data == getattr(other, "data", b"")

    def __hash__(self) -> int:
        return hash((type(self), self.data))


class ChainAnswer(ChainError):
    """A refusal that is the chain's, so no other node is asked."""


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
    """More than any transaction, or any block of the chain, may have."""

    code = "too_much_gas"
    says = "The transaction needs more gas than {chain} allows{why}."


class StateRootEmptyError(ChainAnswer):
    """A node has accounts of a block, mostly a genesis, whose header commits to none."""

    code = "state_root_empty"
    says = "The block's header has an empty state root: no account of {chain} can be proven there."
    retryable = False


def _kind(
    code: str, says: str, base: type[ChainError] = ChainError, *, retryable: bool = True
) -> type[ChainError]:
    """The class of a code, which names it."""
    members = {"__module__": __name__, "code": code, "says": says, "retryable": retryable}
    return cast("type[ChainError]", type(code.title().replace("_", ""), (base,), members))


# One node may answer so and another not: the next node is asked.
NodesUnreachable = _kind("nodes_unreachable", "No node of {chain} answers{why}.")
NodesLimited = _kind("nodes_limited", "The nodes of {chain} accept no more requests for now.")
# They answer with an error that means nothing to us.
NodesRefuse = _kind("nodes_refuse", "The nodes of {chain} refuse {method}{why}.")
NodesLie = _kind("nodes_lie", "No node of {chain} gives a valid answer to {method}.{why}")
RegistryMisread = _kind(
    "registry_misread",
    "A node of {chain} reports a registry value that was never proven.",
    NodesLie,
)
# No two nodes give the same answer yet; the question has to be retried.
NoQuorum = _kind(
    "no_quorum",
    "The nodes of {chain} do not agree, or do not all answer; they will be asked again.",
)
NodesOfAnotherChain = _kind(
    "nodes_of_another_chain", "The nodes configured for {chain} serve another chain."
)
# Another form of the question may do.
QuestionRefused = _kind(
    "question_refused",
    "The nodes of {chain} reject the parameters of {method}{why}.",
    retryable=False,
)
MethodMissing = _kind(
    "method_missing", "The nodes of {chain} do not offer {method}.", retryable=False
)
# Fewer questions in one request may do.
BatchTooLarge = _kind(
    "batch_too_large", "The nodes of {chain} reject so many calls in one JSON-RPC batch."
)
BlockUnknown = _kind("block_unknown", "The nodes of {chain} know no such block.")
TimeTooEarly = _kind(
    "time_too_early",
    "The time lies before the first block of {chain}.",
    BlockUnknown,
    retryable=False,
)
StateNotAvailable = _kind(
    "state_not_available",
    "The nodes of {chain} no longer have the state of that block.",
    retryable=False,
)
# Usually the latest state, from nodes that keep no older one.
StateOfAnotherBlock = _kind(
    "state_of_another_block",
    "The nodes of {chain} answer {method} with the state of the wrong block.",
)
ProofWindowExceeded = _kind(
    "proof_window_exceeded",
    "The nodes of {chain} keep proofs only for newer blocks.",
    retryable=False,
)

TOO_OLD = (StateNotAvailable, ProofWindowExceeded, MethodMissing)  # for a proof

# The chain itself answers so, and every node would.
AlreadyKnown = _kind("already_known", "{chain} knows this transaction already.", ChainAnswer)
NonceUsed = _kind(
    "nonce_used", "A transaction with this nonce is already mined on {chain}.", ChainAnswer
)
# For the pool, or for replacing another transaction.
Underpriced = _kind(
    "underpriced", "The transaction offers {chain} too little for its gas.", ChainAnswer
)
InsufficientFunds = _kind(
    "insufficient_funds",
    "The signer has too little to pay for the transaction on {chain}.",
    ChainAnswer,
)

# We find these ourselves.
FeesTooHigh = _kind(
    "fees_too_high", "Gas on {chain} costs more than the operator is willing to pay."
)
# A header that was read is not an ancestor of the blocks above it.
SourceReorganises = _kind("source_reorganises", "The source chain is reorganising.")
HistoryMissing = _kind(
    "history_missing", "{chain} keeps no history of its block hashes (EIP-2935)."
)
GamesUnreadable = _kind(
    "games_unreadable", "The contracts of dispute games on {chain} cannot be read."
)
RegistryAbsent = _kind(
    "registry_absent", "There is no registry at the configured address on {chain}."
)
AnotherBlockAccumulated = _kind(
    "another_block_accumulated",
    "The registry on {chain} holds another header than the source chain has now, and cannot "
    "replace it{why}.",
    retryable=False,
)
EnsUnresolved = _kind(
    "ens_unresolved",
    "Neither the name's own resolver nor that of a parent name has an address for it.",
    retryable=False,
)
EnsOffChain = _kind("ens_off_chain", "The resolver asks for an off-chain look-up.", retryable=False)

# The errors of nodes, by their code or by a pattern in their message: the first line that fits
# decides.
NODE_ERRORS: tuple[tuple[int | str, type[ChainError]], ...] = (
    # Reverts come first, because a contract chooses the text that follows.
    (3, CallReverted),  # the code of geth and those after it
    (r"^execution reverted", CallReverted),
    # Requests with many questions; before the limits, whose words these also use.
    (r"batch.*(too large|too big|limit|exceed|not (allowed|supported)|more than)", BatchTooLarge),
    (r"(too many|maximum).*batch|batch (size|request|call)", BatchTooLarge),
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
    (r"archive", StateNotAvailable),  # gateways, whose plan leaves archive nodes out
    # Blocks
    (r"(header|block)\b.*(not found|not be found|unknown|does not exist)", BlockUnknown),
    (r"(unknown|cannot find|could not find) (block|header)", BlockUnknown),
    (r"could not be found|not currently canonical|blockoutofrange", BlockUnknown),
    # Transactions
    (r"already ?known|\bknown transaction|already (been )?imported|same hash", AlreadyKnown),
    (r"nonce (is )?too low|old ?nonce|nonce .*below", NonceUsed),
    (r"replacement ?(not ?allowed|.*underpriced)|could not replace", Underpriced),
    (r"underpriced|fee ?too ?low|(gas price|tip) .*(too low|below|minimum)", Underpriced),
    (r"max fee per gas less than|fee cap (less|too low)|less than block base ?fee", Underpriced),
    (r"insufficient ?funds|upfront cost exceeds|not enough funds", InsufficientFunds),
    # More gas than is allowed; before calls that ran out of gas, whose messages are similar
    (r"gas required exceeds|exceed.*block gas ?limit|gas ?limit ?exceeded", TooMuchGas),
    (r"gas limit .*(too high|greater than the cap)", TooMuchGas),
    # Calls
    (r"revert|(vm execution|evm) error|invalid opcode|out ?of ?gas|stack underflow", CallReverted),
    # Transactions that no retry makes valid
    (r"intrinsic gas|floor data gas", TransactionRefused),
    (r"gas ?limit|oversized|max(imum)? ?(init)?code", TransactionRefused),
    (r"invalid chain|(wrong|different) chain.?id", NodesOfAnotherChain),
    (r"invalid (sender|signature)", TransactionRefused),
    (r"type not supported|exceeds the configured cap", TransactionRefused),
    # Limits, mostly of gateways
    (r"\brate\b|too many requests|compute units|capacity|quota|limit(ed)?\b", NodesLimited),
    (r"txpool is full|pool is full|busy|overloaded|try again", NodesLimited),
    # The question itself
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

# The chain itself can answer these with an error. To any other question the error is the node's.
ASKED_OF_THE_CHAIN = {"eth_call", "eth_estimateGas", "eth_sendRawTransaction"}
# A plain word with a comma or the like behind it, or a number: nothing that could be a key.
_QUOTABLE = re.compile(
    r"\(?([A-Za-z]{1,15}(-[a-z]{1,15}|'[a-z]{1,2})?|[0-9]{1,26}|[*+<>=-])[,:;)]?"
)


class NodeFault(Exception):
    """One node cannot answer; another one may. `kind` is the error if none can."""

    def __init__(self, kind: type[ChainError], why: str = "", sentence: str = "") -> None:
        super().__init__(sentence or kind.code)
        self.kind = kind
        self.why = why


def meaning(method: str, message: str, code: int) -> type[ChainError]:
    """Our error for a node's; a `ChainAnswer` only if the method is `ASKED_OF_THE_CHAIN`."""
    for sign, kind in NODE_ERRORS:
        if sign == code or (isinstance(sign, str) and re.search(sign, message, re.IGNORECASE)):
            is_allowed = method in ASKED_OF_THE_CHAIN or not issubclass(kind, ChainAnswer)
            return kind if is_allowed else NodesRefuse
    return NodesRefuse


def revert_data(data: str) -> bytes:
    """What the contract reverted with; empty if the node leaves it out."""
    try:
        return bytes.fromhex(data.removeprefix("Reverted ").removeprefix("0x"))
    except ValueError:
        return b""


def quotable(message: str) -> str:
    """A node's message without what could be an address or a key."""
    words = message.rstrip(". ").split()
    return " ".join(word if _QUOTABLE.fullmatch(word) else "…" for word in words)
