"""Errors of a chain's nodes: a class for each code, and a table that maps node messages to them.

No sentence contains a node's address, which may hold a key, or more of a node's message than
`redact` lets through.

    ChainError
        ChainRefusalError                  every node would say the same, so no other one is asked
            CallRevertedError              BeyondHorizonError
            TransactionRefusedError        TooMuchGasError
            StateRootEmptyError
            AlreadyKnownError, NonceUsedError, UnderpricedError, InsufficientFundsError
        NodesUnreachableError, RateLimitedError, NodesRefuseError, WrongChainIdError
        InvalidAnswersError                RegistryMisreadError
        NoQuorumError
        ParametersRejectedError, MethodMissingError, RpcBatchTooLargeError
        BlockUnknownError                  TimeTooEarlyError
        StateNotAvailableError             HistoryPrunedError
        StateOfAnotherBlockError, ProofWindowExceededError, HistoryMissingError
        FeesTooHighError, KeyUsedElsewhereError
        SourceReorgError, AnotherBlockAccumulatedError
        RegistryAbsentError, RollupUnreadableError
        EnsUnresolvedError, EnsOffChainError
        BeaconError                        of beacon nodes and the light client; never a batch's
            BeaconNodesUnreachableError, BeaconNodesRefuseError
            BeaconObjectUnknownError, BeaconAnswersInvalidError, CheckpointTooOldError
        EventError
            EventNotFoundError
            EventExistsError               BloomInconclusiveError
            EventNotProvableError
"""

import re
from typing import ClassVar, Self

from queries.proving import keccak256


class ChainError(Exception):
    """The nodes of a chain gave no usable answer, or the chain refused."""

    code: ClassVar[str]  # for programs
    template: ClassVar[str]  # the sentence for people
    retryable: ClassVar[bool] = True  # whether the same work can succeed later
    is_certain: ClassVar[bool] = False  # if a quorum confirms it, reject at once, do not wait

    def __init__(self, sentence: str, data: bytes = b"") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.data = data  # of a revert
        self.detail = ""  # the cause in a word or two, or in a node's own text

    @classmethod
    def create(cls, chain: str, method: str = "", detail: str = "", data: bytes = b"") -> Self:
        """Create the error with the sentence of its class."""
        error = cls(cls.template.format(chain=chain, method=method, detail=detail), data)
        error.detail = detail
        return error

    def __eq__(self, other: object) -> bool:
        """Errors of two nodes are equal if class and data are, whatever the text."""
        return type(self) is type(other) and self.data == getattr(other, "data", b"")

    def __hash__(self) -> int:
        return hash((type(self), self.data))


# Refusals by the chain itself: every node would give the same answer, so no other node is asked.


class ChainRefusalError(ChainError):
    """The chain refused. This counts as an answer."""


class CallRevertedError(ChainRefusalError):
    code = "call_reverted"
    template = "The contract on {chain} refused the call."
    retryable = False


class BeyondHorizonError(CallRevertedError):
    code = "beyond_horizon"
    template = (
        "The block is at or after the state horizon of the registry on {chain}. From there on, "
        "headers do not commit to the state of their block, so no account or slot can be proven."
    )
    selector = keccak256(b"BeyondHorizon(uint256,uint256)")[:4]


class TransactionRefusedError(ChainRefusalError):
    code = "transaction_refused"
    template = "{chain} rejects the transaction{detail}."
    retryable = False


class TooMuchGasError(TransactionRefusedError):
    code = "too_much_gas"
    template = "The transaction needs more gas than {chain} allows{detail}."


class StateRootEmptyError(ChainRefusalError):
    """A node returns accounts of a block, often the genesis, whose header has an empty root."""

    code = "state_root_empty"
    template = (
        "The block's header has an empty state root, so {chain} has no accounts to prove in it."
    )
    retryable = False
    is_certain = True


class AlreadyKnownError(ChainRefusalError):
    code = "already_known"
    template = "{chain} knows this transaction already."


class NonceUsedError(ChainRefusalError):
    code = "nonce_used"
    template = "A transaction with this nonce is already mined on {chain}."


class UnderpricedError(ChainRefusalError):
    code = "underpriced"
    template = "The transaction's fee is too low for {chain} right now."


class InsufficientFundsError(ChainRefusalError):
    code = "insufficient_funds"
    template = "The signer has too little to pay for the transaction on {chain}."


# Faults of a node: the next node is asked.


class NodesUnreachableError(ChainError):
    code = "nodes_unreachable"
    template = "No node of {chain} answers{detail}."


class RateLimitedError(ChainError):
    code = "nodes_rate_limited"
    template = "The nodes of {chain} accept no more requests for now."


class NodesRefuseError(ChainError):
    code = "nodes_refuse"  # an error that is not in `NODE_ERRORS`
    template = "The nodes of {chain} refuse {method}{detail}."


class InvalidAnswersError(ChainError):
    code = "invalid_answers"
    template = "No node of {chain} gives a valid answer to {method}.{detail}"


class RegistryMisreadError(InvalidAnswersError):
    code = "registry_misread"
    template = "A node of {chain} reports a registry value that was never proven."


class NoQuorumError(ChainError):
    code = "no_quorum"
    template = "The nodes of {chain} do not agree, or not all answer; they will be asked again."


class WrongChainIdError(ChainError):
    code = "wrong_chain_id"
    template = "The nodes configured for {chain} serve another chain."


class ParametersRejectedError(ChainError):
    code = "parameters_rejected"  # another form of the same request may be accepted
    template = "The nodes of {chain} reject the parameters of {method}{detail}."
    retryable = False


class MethodMissingError(ChainError):
    code = "method_missing"
    template = "The nodes of {chain} do not offer {method}."
    retryable = False


class RpcBatchTooLargeError(ChainError):
    code = "rpc_batch_too_large"
    template = "The nodes of {chain} reject this many calls in one JSON-RPC batch."


class BlockUnknownError(ChainError):
    code = "block_unknown"
    template = "The nodes of {chain} know no such block."


class TimeTooEarlyError(BlockUnknownError):
    code = "time_too_early"
    template = "The time lies before the first block of {chain}."
    retryable = False


class StateNotAvailableError(ChainError):
    code = "state_not_available"
    template = "The nodes of {chain} no longer have the state of that block."
    retryable = False


class HistoryPrunedError(StateNotAvailableError):
    code = "history_pruned"
    template = "The nodes of {chain} no longer have the transactions and receipts of that block."


class StateOfAnotherBlockError(ChainError):
    code = "state_of_another_block"
    template = "The nodes of {chain} answer {method} with the state of the wrong block."


class ProofWindowExceededError(ChainError):
    code = "proof_window_exceeded"
    template = "The nodes of {chain} keep proofs only for newer blocks."
    retryable = False


# Errors of a node that cannot prove a block this old.
PROOF_TOO_OLD_ERRORS = (StateNotAvailableError, ProofWindowExceededError, MethodMissingError)

# Found by our own checks.


class FeesTooHighError(ChainError):
    code = "fees_too_high"
    template = "Gas on {chain} costs more than the operator is willing to pay."


class KeyUsedElsewhereError(ChainError):
    code = "key_used_elsewhere"
    template = (
        "Another transaction of the signer's key, not sent by this service, has used one of its "
        "nonces on {chain}. Nothing is sent until the operator has checked who else uses the key."
    )


class SourceReorgError(ChainError):
    code = "source_reorg"
    template = "The source chain is reorganising."


class HistoryMissingError(ChainError):
    code = "history_missing"
    template = "{chain} keeps no history of its block hashes (EIP-2935)."


class RollupUnreadableError(ChainError):
    code = "rollup_unreadable"
    template = "The rollup's contracts on {chain} cannot be read."


class RegistryAbsentError(ChainError):
    code = "registry_absent"
    template = "There is no registry at the configured address on {chain}."


class AnotherBlockAccumulatedError(ChainError):
    code = "another_block_accumulated"
    template = "The registry on {chain} holds a header that the source chain does not have{detail}."
    retryable = False
    is_certain = True


class EnsUnresolvedError(ChainError):
    code = "ens_unresolved"
    template = "Neither the name's own resolver nor a parent's has an address for it."
    retryable = False
    is_certain = True


class EnsOffChainError(ChainError):
    code = "ens_off_chain"
    template = "The name's resolver needs an off-chain lookup, which is not supported."
    retryable = False
    is_certain = True


class BeaconError(ChainError):
    """Beacon nodes cannot show what is final. Batches wait with `finality_unknown` then."""


class BeaconNodesUnreachableError(BeaconError):
    code = "beacon_nodes_unreachable"
    template = "No beacon node of {chain} answers{detail}."


class BeaconNodesRefuseError(BeaconError):
    code = "beacon_nodes_refuse"
    template = "The beacon nodes of {chain} refuse to answer{detail}."


class BeaconObjectUnknownError(BeaconError):
    code = "beacon_object_unknown"
    template = "The beacon nodes of {chain} do not have {method}{detail}."


class BeaconAnswersInvalidError(BeaconError):
    code = "beacon_answers_invalid"
    template = "No beacon node of {chain} gives a valid answer.{detail}"


class CheckpointTooOldError(BeaconError):
    code = "checkpoint_too_old"
    template = "{detail} That is too old to be trusted: set a newer `beacon_checkpoint`."
    retryable = False


class EventError(ChainError):
    """A fact about a block's content cannot be proven.

    This is certain, because the header commits to the whole content.
    """

    retryable = False
    is_certain = True


class EventNotFoundError(EventError):
    code = "event_not_found"
    template = "The block has no such log, receipt, transaction or withdrawal."


class EventExistsError(EventError):
    code = "event_exists"
    template = "The block contains the item whose absence was requested."


class BloomInconclusiveError(EventExistsError):
    code = "bloom_inconclusive"
    template = "The block's bloom cannot show that no log has this address or topic."


class EventNotProvableError(EventError):
    code = "event_not_provable"
    template = "The proof is too large for a transaction, or the transaction's type is not known."


# Node errors by code or by a pattern in the message. The first match counts.
NODE_ERRORS: tuple[tuple[int | str, type[ChainError]], ...] = (
    # Reverts come first, because a contract chooses the text that follows.
    (3, CallRevertedError),  # the code of geth and its successors
    (r"^execution reverted", CallRevertedError),
    # JSON-RPC batches; before rate limits, whose words these also use
    (r"batch.*(too large|too big|limit|exceed|more than)", RpcBatchTooLargeError),
    (r"batch.*not (allowed|supported)", RpcBatchTooLargeError),
    (r"(too many|maximum).*batch|batch (size|request|call)", RpcBatchTooLargeError),
    # Proofs
    (r"maximum proof window", ProofWindowExceededError),  # reth
    (r"proofs? (are|is) (only )?available (only )?for", ProofWindowExceededError),  # erigon 2
    (r"block is too old|must be within \d+ blocks", ProofWindowExceededError),  # erigon
    # Contents of blocks (EIP-4444)
    (4444, HistoryPrunedError),  # geth, reth
    (r"pruned history|history .*pruned", HistoryPrunedError),
    # State
    (r"missing trie node", StateNotAvailableError),  # geth, bsc, nitro
    (r"histor(y|ical) state|state histor(y|ies)", StateNotAvailableError),  # geth
    (r"(no|world) state (is )?(un)?available", StateNotAvailableError),  # nethermind, besu
    (r"state .*(not available|unavailable|not found|is pruned|missing)", StateNotAvailableError),
    (r"no state (found )?for|pruned|pruning", StateNotAvailableError),  # reth, erigon 3, geth 4444
    (r"archive", StateNotAvailableError),  # gateways whose plan excludes archive nodes
    # Blocks
    (r"(header|block)\b.*(not found|not be found|unknown|does not exist)", BlockUnknownError),
    (r"(unknown|cannot find|could not find) (block|header)", BlockUnknownError),
    (r"could not be found|not currently canonical|blockoutofrange", BlockUnknownError),
    # Transactions
    (r"already ?known|\bknown transaction|already (been )?imported|same hash", AlreadyKnownError),
    (r"nonce (is )?too low|old ?nonce|nonce .*below", NonceUsedError),
    (r"replacement ?(not ?allowed|.*underpriced)|could not replace", UnderpricedError),
    (r"underpriced|fee ?too ?low|(gas price|tip) .*(too low|below|minimum)", UnderpricedError),
    (r"max fee per gas less than|fee cap (less|too low)", UnderpricedError),
    (r"less than block base ?fee", UnderpricedError),
    (r"insufficient ?funds|upfront cost exceeds|not enough funds", InsufficientFundsError),
    # More gas than is allowed; before calls that ran out of gas, whose messages are similar
    (r"gas required exceeds|exceed.*block gas ?limit|gas ?limit ?exceeded", TooMuchGasError),
    (r"gas limit .*(too high|greater than the cap)", TooMuchGasError),
    # Calls
    (r"revert|(vm execution|evm) error", CallRevertedError),
    (r"invalid opcode|out ?of ?gas|stack underflow", CallRevertedError),
    # Transactions that no retry makes valid
    (r"intrinsic gas|floor data gas", TransactionRefusedError),
    (r"gas ?limit|oversized|max(imum)? ?(init)?code", TransactionRefusedError),
    (r"invalid chain|(wrong|different) chain.?id", WrongChainIdError),
    (r"invalid (sender|signature)", TransactionRefusedError),
    (r"type not supported|exceeds the configured cap", TransactionRefusedError),
    # Requests for too many logs, with the words of other limits
    (r"more than [0-9]+ (results|logs)|response size", ParametersRejectedError),
    (r"(block|query) range|range (is )?too", ParametersRejectedError),
    # Limits, mostly of gateways
    (r"\brate\b|too many requests|compute units|capacity|quota|limit(ed)?\b", RateLimitedError),
    (r"txpool is full|pool is full|busy|overloaded|try again", RateLimitedError),
    # The request itself
    (r"method .*(not|n't) .*(exist|found|available|supported|allowed)", MethodMissingError),
    (r"(unsupported|unknown|disallowed) method|not whitelisted", MethodMissingError),
    (r"invalid (argument|param|input)|cannot unmarshal", ParametersRejectedError),
    (r"failed to (parse|deserialize)", ParametersRejectedError),
    # Codes
    (429, RateLimitedError),
    (-32005, RateLimitedError),  # "limit exceeded"
    (-32016, RateLimitedError),
    (-32601, MethodMissingError),
    (-32602, ParametersRejectedError),
    (-32001, BlockUnknownError),
    (-32002, StateNotAvailableError),
)  # fmt: skip

# Only these run a transaction or call, so only these can return an error of the chain itself.
EXECUTION_METHODS = {"eth_call", "eth_estimateGas", "eth_sendRawTransaction"}
# anvil also says this of a block whose state it has dropped.
_OUT_OF_RANGE = re.compile(
    r"block height is (?P<height>[0-9]{1,20}) but requested was (?P<requested>[0-9]{1,20})"
)
# A plain word, a name such as FinalityUpdate or NOT_FOUND, or a number, with punctuation after it:
# nothing that could be a key.
_HARMLESS_WORD = re.compile(
    r"\(?([A-Za-z]{1,15}(-[a-z]{1,15}|'[a-z]{1,2})?|[A-Za-z][a-z]{2,14}([A-Z][a-z]{2,14}){1,3}"
    r"|[A-Z]{2,15}(_[A-Z]{2,15}){1,2}|[0-9]{1,26}|[*+<>=-])[,:;)]?"
)


class NodeError(Exception):
    """One node cannot answer; another may. `kind` is the error to raise if none can."""

    def __init__(self, kind: type[ChainError], detail: str = "", sentence: str = "") -> None:
        super().__init__(sentence or kind.code)
        self.kind = kind
        self.detail = detail


def classify_node_error(method: str, message: str, code: int) -> type[ChainError]:
    """Map a node's error to a class; to a `ChainRefusalError` only for `EXECUTION_METHODS`."""
    match = _OUT_OF_RANGE.search(message)
    if match and int(match["requested"]) <= int(match["height"]):
        return StateNotAvailableError
    for pattern, kind in NODE_ERRORS:
        if pattern == code or (
            isinstance(pattern, str) and re.search(pattern, message, re.IGNORECASE)
        ):
            is_allowed = method in EXECUTION_METHODS or not issubclass(kind, ChainRefusalError)
            return kind if is_allowed else NodesRefuseError
    return NodesRefuseError


def revert_data(data: str) -> bytes:
    """Decode a revert's data; empty if missing or malformed."""
    try:
        return bytes.fromhex(data.removeprefix("Reverted ").removeprefix("0x"))
    except ValueError:
        return b""


def redact(message: str) -> str:
    """Replace words of a node's message that could be an address or a key."""
    words = message.rstrip(". ").split()
    return " ".join(word if _HARMLESS_WORD.fullmatch(word) else "…" for word in words)
