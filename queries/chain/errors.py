"""What can go wrong with a chain: one class per meaning, and what the messages of nodes mean.

No sentence holds a node's address, which may hold a key, nor more of a node's message than
`quotable` lets through.
"""

# The classes say what happened: `NodesUnreachable` reads better than `NodesUnreachableError`.
# ruff: noqa: N818

import re
from binascii import unhexlify
from typing import ClassVar, Self


class ChainError(Exception):
    """A chain could not be asked, or said no."""

    code: ClassVar[str] = "chain_error"  # for programs; of each class below its name in snake case
    retryable: ClassVar[bool] = True  # whether the same work can succeed later
    says: ClassVar[str] = "{chain} could not be asked{why}."  # to a person

    def __init_subclass__(cls, *, says: str = "", retryable: bool = True) -> None:
        if "code" not in vars(cls):
            cls.code = re.sub(r"\B[A-Z]", r"_\g<0>", cls.__name__).lower()
        cls.retryable = retryable
        cls.says = says or cls.says

    def __init__(self, sentence: str, data: bytes = b"") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.data = data  # of a revert

    @classmethod
    def of(cls, chain: str, method: str = "", why: str = "", data: bytes = b"") -> Self:
        """With the sentence of its class."""
        return cls(cls.says.format(chain=chain, method=method, why=why), data)

    def __eq__(self, other: object) -> bool:
        """Two nodes give the same error if its class and data are the same, whatever the text."""
        return type(self) is type(other) and self.data == getattr(other, "data", b"")

    def __hash__(self) -> int:
        return hash((type(self), self.data))


# One node may answer so and another not: the next node is asked.


class NodesUnreachable(ChainError, says="No node of {chain} answers."):
    """No node answers, or none in a way that can be read."""


class NodesLimited(ChainError, says="The nodes of {chain} take no more questions for now."):
    """The nodes answer, but not so many questions."""


class NodesRefuse(ChainError, says="The nodes of {chain} refuse {method}{why}."):
    """The nodes answer with an error that means nothing to us."""


class NodesLie(ChainError, says="No node of {chain} answers {method} in a way that checks.{why}"):
    """What every node answered does not check."""


class RegistryMisread(NodesLie):
    """A node says that a registry holds what was never proven to it."""


class NoQuorum(ChainError, says="The nodes of {chain} {why}; they will be asked again."):
    """No two nodes give the same answer yet; the question has to be retried."""

    disagree = False


class NodesOfAnotherChain(ChainError, says="The nodes of {chain} are of another chain."):
    """The nodes are of another chain than the routes file says."""


class QuestionRefused(
    ChainError,
    says="The nodes of {chain} do not take {method} as it was asked{why}.",
    retryable=False,
):
    """The nodes do not take the question's form; another form may do."""


class MethodMissing(
    ChainError, says="The nodes of {chain} do not offer {method}.", retryable=False
):
    """The nodes do not offer the question at all."""


class BatchTooLarge(ChainError, says="The nodes of {chain} do not take several questions at once."):
    """Too many questions stood in one request; fewer may do."""


class BlockUnknown(ChainError, says="The nodes of {chain} know no such block."):
    """The nodes know no such block (yet)."""


class TimeTooEarly(BlockUnknown, retryable=False):
    """The time lies before the chain's first block."""


class TimeTooLate(BlockUnknown):
    """No block after that time is known yet, so which one was the last is open."""


class StateNotAvailable(
    ChainError,
    says="The nodes of {chain} no longer have the state of that block.",
    retryable=False,
):
    """The nodes have thrown that block's state away."""


class StateOfAnotherBlock(
    ChainError,
    says="The nodes of {chain} answer {method} with the state of another block than was asked.",
):
    """The nodes prove another block's state: mostly today's, where they keep no older one."""


class ProofWindowExceeded(
    ChainError, says="The nodes of {chain} keep proofs only for newer blocks.", retryable=False
):
    """The nodes prove newer blocks only."""


# The chain itself answers so, and every node would.


class ChainAnswer(ChainError):
    """A refusal that is the chain's, so no other node is asked."""

    code = ChainError.code


class CallReverted(ChainAnswer, says="The contract on {chain} refused the call.", retryable=False):
    """The contract refused the call."""


class AlreadyKnown(ChainAnswer, says="{chain} knows this transaction already."):
    """The very same transaction is already on its way."""


class NonceUsed(ChainAnswer, says="A transaction with this nonce is already mined on {chain}."):
    """A transaction of the sender with this nonce is mined."""


class Underpriced(ChainAnswer, says="The transaction offers {chain} too little for its gas."):
    """The transaction offers less than the pool takes, or than replacing another one needs."""


class InsufficientFunds(
    ChainAnswer, says="The signer has too little to pay for the transaction on {chain}."
):
    """The signer cannot pay."""


class TransactionRefused(
    ChainAnswer, says="{chain} does not take the transaction{why}.", retryable=False
):
    """The transaction will not be taken, whenever it is sent."""


class TooMuchGas(
    TransactionRefused,
    says="{chain} lets no transaction have the gas that this one takes{why}.",
    retryable=False,
):
    """It takes more gas than any transaction, or any block of the chain, may have."""


# We find these ourselves.


class FeesTooHigh(ChainError):
    """Gas costs more than the operator is willing to pay."""


class SourceReorganises(ChainError):
    """A header that was read is not of the chain that the blocks above it are of."""


class RegistryAbsent(ChainError):
    """At the registry's address nothing answers as a registry does."""


# Messages of nodes: nothing else reads them. The first line that matches decides.

NODE_MESSAGES: tuple[tuple[str, type[ChainError]], ...] = (
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
    (r"already ?known|known transaction|already (been )?imported|same hash", AlreadyKnown),
    (r"nonce (is )?too low|old ?nonce|nonce .*below", NonceUsed),
    (r"replacement ?(not ?allowed|.*underpriced)|could not replace", Underpriced),
    (r"underpriced|fee ?too ?low|(gas price|tip) .*(too low|below|minimum)", Underpriced),
    (r"max fee per gas less than|fee cap (less|too low)|less than block base ?fee", Underpriced),
    (r"insufficient ?funds|upfront cost exceeds|not enough funds", InsufficientFunds),
    # Gas beyond what one may have; before the calls that ran out of theirs
    (r"gas required exceeds|exceed.*block gas ?limit|gas ?limit ?exceeded", TooMuchGas),
    (r"gas limit .*(too high|greater than the cap)", TooMuchGas),
    # Calls
    (r"revert|(vm execution|evm) error|invalid opcode|out ?of ?gas|stack underflow", CallReverted),
    # Transactions that no time makes better
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
)  # fmt: skip

REVERTED = 3  # the code that geth and those after it give a revert, whatever the words

# Used if no message matches. -32005 is "limit exceeded", 4444 geth's pruned history.
CODES: dict[int, type[ChainError]] = {
    429: NodesLimited,
    -32005: NodesLimited,
    -32016: NodesLimited,
    -32601: MethodMissing,
    -32602: QuestionRefused,
    -32001: BlockUnknown,
    -32002: StateNotAvailable,
    4444: StateNotAvailable,
}

LONGEST_MESSAGE = 200  # characters of a node's message that are read and quoted

_COMPILED = [(re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in NODE_MESSAGES]
_REVERT_DATA = re.compile(r"(?:Reverted )?0x((?:[0-9a-fA-F]{2})*)")
# A plain word with a comma or the like behind it, or a number: nothing that could be a key.
_QUOTABLE = re.compile(
    r"\(?([A-Za-z]{1,15}(-[a-z]{1,15}|'[a-z]{1,2})?|[0-9]{1,26}|[*+<>=-])[,:;)]?"
)
# The chain itself can answer these with an error. To any other question the error is the node's.
ASKED_OF_THE_CHAIN = {"eth_call", "eth_estimateGas", "eth_sendRawTransaction"}


class NodeFault(Exception):
    """One node cannot answer; another one may. `kind` is the error if none can."""

    def __init__(self, kind: type[ChainError], why: str = "", sentence: str = "") -> None:
        super().__init__(sentence or kind.code)
        self.kind = kind
        self.why = why


def meaning(method: str, message: str, code: int) -> type[ChainError]:
    """Our error for a node's JSON-RPC error; a `ChainAnswer` only to a question to the chain."""
    matching = (kind for pattern, kind in _COMPILED if pattern.search(message))
    # A revert comes first, because a contract chooses the words behind it.
    is_revert = code == REVERTED or message.lower().startswith("execution reverted")
    kind = CallReverted if is_revert else next(matching, CODES.get(code, NodesRefuse))
    own = issubclass(kind, ChainAnswer) and method not in ASKED_OF_THE_CHAIN
    return NodesRefuse if own else kind


def revert_data(data: str) -> bytes:
    """What the contract reverted with; empty if the node leaves it out."""
    found = _REVERT_DATA.fullmatch(data)
    return unhexlify(found[1]) if found else b""


def quotable(message: str) -> str:
    """A node's message without what could be an address or a key."""
    words = message.rstrip(". ").split()
    return " ".join(word if _QUOTABLE.fullmatch(word) else "…" for word in words)
