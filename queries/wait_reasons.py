"""Reasons for which a batch or job waits: a sentence for people and a code for programs.

A batch that waits because nodes fail has the code of that failure, as a rejection would. A test
compares these codes with the API description.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class WaitCode(StrEnum):
    """Reasons for which a batch or job waits, except errors of nodes. The guides show `meaning`."""

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # A prover
    NOT_CLAIMED = "not_claimed", "No prover has claimed the batch yet."
    NO_PROVER = "no_prover", "No prover has run for some time; the operator has to start one."
    FEE_BELOW_GAS_PRICE = (
        "fee_below_gas_price",
        "Proving costs more than the fee right now. A batch with a higher fee is sent sooner.",
    )
    INTERNAL_ERROR = "internal_error", "A prover failed; its log says why."
    DATABASE_UNAVAILABLE = (
        "database_unavailable",
        "A prover could not use its database, and tries again in some seconds.",
    )
    # The source chain
    BLOCK_NOT_FINAL = "block_not_final", "The block is not final on its chain yet."
    FINALITY_UNKNOWN = (
        "finality_unknown",
        "The chain's beacon nodes have not shown for some time which blocks are final.",
    )
    TIME_NOT_REACHED = ("time_not_reached", "The chain has no block after the requested time yet.")
    # What the destination knows
    NEXT_BLOCK_MISSING = (
        "next_block_missing",
        "On a native route the next block is needed; it does not exist yet.",
    )
    HASH_NOT_RECORDED = (
        "hash_not_recorded",
        "The destination does not know the hash of this block or of a later one yet.",
    )
    OUTPUT_NOT_RECORDED = (
        "output_not_recorded",
        "The rollup's contracts have not accepted a claim about the block or a later one yet.",
    )
    NO_VALID_OUTPUT = (
        "no_valid_output",
        "No dispute game or assertion that covers the block is accepted, although one should be.",
    )
    UPDATE_PENDING = (
        "update_pending",
        "No sync committee has signed yet that the block or a later one is final.",
    )
    UPDATE_MISSING = (
        "update_missing",
        "The registry can learn no hash of this block or a later one from a sync committee.",
    )
    NOT_ATTESTED = "not_attested", "Too few signers have attested a block at or above this one."
    HASH_PENDING = (
        "hash_pending",
        "A transaction that records a block's hash in the registry is not mined yet.",
    )
    HOPS_PENDING = ("hops_pending", "A transaction with hops to the block is not mined yet.")
    HORIZON_PENDING = (
        "horizon_pending",
        "A transaction that lowers the registry's state horizon is not mined yet.",
    )
    # The transaction
    TRANSACTION_PENDING = ("transaction_pending", "The transaction was sent, but is not mined yet.")
    CONCURRENT_PROVER = "concurrent_prover", "Another prover is working on the same block or batch."
    FEE_RESERVED = (
        "fee_reserved",
        "The batch's fee is reserved until the cost of an earlier transaction is known.",
    )
    DAILY_BUDGET_SPENT = (
        "daily_budget_spent",
        (
            "The operator's daily budget is spent. Proving continues once earlier costs are more "
            "than 24 hours old."
        ),
    )
    # A delivery
    FACTS_REOPENED = (
        "facts_reopened",
        "A reorganisation may have removed facts of the batch, which are proven again first.",
    )
    CONTRACT_REFUSES = (
        "contract_refuses",
        "The contract refuses the call. It is tried again at growing pauses.",
    )
    COURIER_MISSING = (
        "courier_missing",
        "The contract that makes deliveries is not deployed on the destination.",
    )
    DELIVERY_GAS_SPENT = (
        "delivery_gas_spent",
        (
            "The account's deliveries have used the gas that one account may use on this chain in "
            "24 hours. It is sent once earlier ones are more than 24 hours old."
        ),
    )
    EARLIER_DELIVERY = (
        "earlier_delivery",
        (
            "An earlier delivery of the batch is not mined yet, or is tried again after a refusal. "
            "This one is sent after it, also if it fails."
        ),
    )
    # Confirmation
    CONFIRMING = "confirming", "The transaction is mined and waits for more confirmations."
    NODE_BEHIND = ("node_behind", "A node of the destination is some blocks behind the others.")
    REGISTRY_CONFLICT = (
        "registry_conflict",
        "The service is checking whether the registry holds a different header of this block.",
    )
    REGISTRY_REFUSES = (
        "registry_refuses",
        "The registry refuses the proof. The prover tries again a few times.",
    )
    DESTINATION_REMOVED = (
        "destination_removed",
        "The destination is no longer configured on this server.",
    )

    @property
    def reason(self) -> "Reason":
        return Reason(self, self.meaning)


# Waits for finality, for a later block or time, or for a dispute game. They never count as overdue.
EXPECTED_WAITS = frozenset(
    {
        WaitCode.BLOCK_NOT_FINAL,
        WaitCode.TIME_NOT_REACHED,
        WaitCode.NEXT_BLOCK_MISSING,
        WaitCode.OUTPUT_NOT_RECORDED,
    }
)
# Waits that `batch_max_age` does not count: also those for beacon nodes, attestations, a valid game
# and the budget.
EXEMPT_FROM_MAX_AGE = EXPECTED_WAITS | {
    WaitCode.FINALITY_UNKNOWN,
    WaitCode.NO_VALID_OUTPUT,
    WaitCode.UPDATE_PENDING,
    WaitCode.UPDATE_MISSING,
    WaitCode.NOT_ATTESTED,
    WaitCode.DAILY_BUDGET_SPENT,
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a batch or job waits, or why a block is out of reach."""

    code: str
    sentence: str
