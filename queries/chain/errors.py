"""One tree of everything that can go wrong with a chain's nodes.

Each class has a code for programs, whether the same work can succeed when it is tried later, and
what a person is told. No sentence holds a node's address, which may hold a key, nor more of a
node's own words than `node_messages.quotable` lets through.
"""

# The classes say what happened: `NodesUnreachable` reads better than `NodesUnreachableError`.
# ruff: noqa: N818

from typing import ClassVar


class ChainError(Exception):
    """A chain could not be asked, or said no."""

    code: ClassVar[str] = "chain_error"
    retryable: ClassVar[bool] = True
    says: ClassVar[str] = "{chain} could not be asked{why}."
    known_for: float = 0.0  # seconds in which nobody is asked, where another look has found this

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


# What one node may say and another not: the next one is asked.


class NodesUnreachable(ChainError):
    """No node answers, or none in a way that can be read."""

    code = "nodes_unreachable"
    says = "No node of {chain} answers."


class NamesUnanswered(NodesUnreachable):
    """The nodes do not say in time whom ENS names mean; they are asked again after a pause."""

    code = "names_unanswered"
    says = "The nodes of {chain} do not say in time whom its ENS names mean."

    def __init__(self, sentence: str, rests_for: float = 0.0, *, asked: bool = False) -> None:
        super().__init__(sentence)
        self.rests_for = rests_for  # seconds until they are asked again
        self.asked = asked  # now, and for too many names perhaps; else they were left alone


class NodesLimited(ChainError):
    """The nodes answer, but not so many questions."""

    code = "nodes_limited"
    says = "The nodes of {chain} take no more questions for now."

    def __init__(self, sentence: str, retry_after: float = 0.0) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after  # seconds, where a node told them


class NodesRefuse(ChainError):
    """The nodes answer with an error that means nothing to us."""

    code = "nodes_refuse"
    says = "The nodes of {chain} refuse {method}{why}."


class NodesLie(ChainError):
    """What every node answered does not check."""

    code = "nodes_lie"
    says = "No node of {chain} answers {method} in a way that checks.{why}"


class NodesOfAnotherChain(ChainError):
    """The nodes are of another chain than the routes file says."""

    code = "nodes_of_another_chain"
    says = "The nodes of {chain} are of another chain."


class QuestionRefused(ChainError):
    """The nodes do not take the question's form; another form may do."""

    code = "question_refused"
    retryable = False
    says = "The nodes of {chain} do not take {method} as it was asked{why}."


class MethodMissing(ChainError):
    """The nodes do not offer the question at all."""

    code = "method_missing"
    retryable = False
    says = "The nodes of {chain} do not offer {method}."


class BatchTooLarge(ChainError):
    """Too many questions stood in one request; fewer may do."""

    code = "batch_too_large"
    says = "The nodes of {chain} do not take several questions at once."


class BlockUnknown(ChainError):
    """The nodes know no such block (yet)."""

    code = "block_unknown"
    says = "The nodes of {chain} know no such block."


class TimeTooEarly(BlockUnknown):
    """The time lies before the chain's first block."""

    code = "time_too_early"
    retryable = False

    def __init__(self, sentence: str, earliest: int) -> None:
        super().__init__(sentence)
        self.earliest = earliest


class TimeTooLate(BlockUnknown):
    """No block after that time is known yet, so which one was the last is open."""

    code = "time_too_late"

    def __init__(self, sentence: str, latest: int) -> None:
        super().__init__(sentence)
        self.latest = latest


class StateNotAvailable(ChainError):
    """The nodes have thrown that block's state away."""

    code = "state_not_available"
    retryable = False
    says = "The nodes of {chain} no longer have the state of that block."


class StateOfAnotherBlock(ChainError):
    """The nodes prove another block's state: mostly today's, where they keep no older one."""

    code = "state_of_another_block"
    says = "The nodes of {chain} answer {method} with the state of another block than was asked."


class ProofWindowExceeded(ChainError):
    """The nodes prove newer blocks only."""

    code = "proof_window_exceeded"
    retryable = False
    says = "The nodes of {chain} keep proofs only for newer blocks."


# What the chain itself says: every node would.


class ChainAnswer(ChainError):
    """A refusal that is the chain's, so no other node is asked."""


class CallReverted(ChainAnswer):
    """The contract refused the call."""

    code = "call_reverted"
    retryable = False
    says = "The contract on {chain} refused the call."

    def __init__(self, sentence: str, data: bytes = b"") -> None:
        super().__init__(sentence)
        self.data = data


class AlreadyKnown(ChainAnswer):
    """The very same transaction is already on its way."""

    code = "already_known"
    says = "{chain} knows this transaction already."


class NonceUsed(ChainAnswer):
    """A transaction of the sender with this nonce is mined."""

    code = "nonce_used"
    says = "A transaction with this nonce is already mined on {chain}."


class Underpriced(ChainAnswer):
    """The transaction offers less than the pool takes, or than replacing another one needs."""

    code = "underpriced"
    says = "The transaction offers {chain} too little for its gas."


class InsufficientFunds(ChainAnswer):
    """The signer cannot pay."""

    code = "insufficient_funds"
    says = "The signer has too little to pay for the transaction on {chain}."


class TransactionRefused(ChainAnswer):
    """The transaction will not be taken, whenever it is sent."""

    code = "transaction_refused"
    retryable = False
    says = "{chain} does not take the transaction{why}."


class TooMuchGas(TransactionRefused):
    """It takes more gas than any transaction, or any block of the chain, may have."""

    code = "too_much_gas"
    says = (
        "{chain} lets no transaction have the gas that this one takes{why}. Ask for fewer accounts "
        "or slots in a batch."
    )


# What we find ourselves


class FeesTooHigh(ChainError):
    """Gas costs more than the operator is willing to pay."""

    code = "fees_too_high"


class RegistryMisread(NodesLie):
    """A node says that a registry holds what was never proven to it."""

    code = "registry_misread"


class SourceReorganises(ChainError):
    """A header that was read is not of the chain that the blocks above it are of."""

    code = "source_reorganises"


class RegistryAbsent(ChainError):
    """At the registry's address nothing answers as a registry does."""

    code = "registry_absent"
