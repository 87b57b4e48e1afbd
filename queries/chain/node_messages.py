"""What nodes say when they refuse, in the wordings of their kinds, and which error of ours it is.

The only place that reads a node's words. The first line that matches decides.
"""

import re
from binascii import unhexlify

from queries.chain.errors import (
    AlreadyKnown,
    BatchTooLarge,
    BlockUnknown,
    CallReverted,
    ChainError,
    InsufficientFunds,
    MethodMissing,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NonceUsed,
    ProofWindowExceeded,
    QuestionRefused,
    StateNotAvailable,
    TooMuchGas,
    TransactionRefused,
    Underpriced,
)
from queries.chain.json_rpc import NodeRefused

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

# Where the words say nothing. -32005 is "limit exceeded", 4444 geth's pruned history.
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

_COMPILED = [(re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in NODE_MESSAGES]
_REVERT_DATA = re.compile(r"(?:Reverted )?0x((?:[0-9a-fA-F]{2})*)")
# A plain word with a comma or the like behind it, or a number: nothing that could be a key.
_QUOTABLE = re.compile(
    r"\(?([A-Za-z]{1,15}(-[a-z]{1,15}|'[a-z]{1,2})?|[0-9]{1,26}|[*+<>=-])[,:;)]?"
)
_LONGEST_QUOTE = 120


def meaning(refused: NodeRefused) -> type[ChainError]:
    """The error of ours that a node's refusal is."""
    if refused.code == REVERTED:
        return CallReverted
    for pattern, kind in _COMPILED:
        if pattern.search(refused.message):
            return kind
    return CODES.get(refused.code, NodesRefuse)


def revert_data(refused: NodeRefused) -> bytes:
    """What the contract reverted with; empty where the node does not tell."""
    told = _REVERT_DATA.fullmatch(refused.data)
    return unhexlify(told[1]) if told else b""


def quotable(message: str) -> str:
    """A node's words as people may read them; what could be an address or a key is left out."""
    words = [word if _QUOTABLE.fullmatch(word) else "…" for word in message.rstrip(". ").split()]
    return " ".join(words)[:_LONGEST_QUOTE]
