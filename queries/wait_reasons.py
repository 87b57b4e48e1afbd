"""Why something waits: a sentence for people, and a code that says the same to programs.

Where a node's fault is waited out, the code is the fault's own, as if the batch were rejected for
it. All codes are listed where the API describes itself; a test holds the two together.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class WaitCode(StrEnum):
    """What is waited for where no node is at fault, each with what the docs say of it."""

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # A prover
    NOT_TAKEN = "not_taken", "No prover has taken the batch yet."
    NO_PROVER = "no_prover", "No prover has been seen for long: the operator is to start one."
    PRICE_ASKED_AGAIN = (
        "price_asked_again",
        "A node asks for more than the fee. The price is asked again; a higher fee goes sooner.",
    )
    FAULT_OF_OURS = "fault_of_ours", "A prover failed; the operator finds why in its log."
    # The source chain
    BLOCK_NOT_FINAL = "block_not_final", "The block is not final on its chain yet."
    TIME_NOT_REACHED = (
        "time_not_reached",
        "No block after the time that was asked for is there yet.",
    )
    # What the destination knows
    NEXT_BLOCK_MISSING = (
        "next_block_missing",
        "The chain proves to itself, and its next block is not there yet.",
    )
    HASH_NOT_RECORDED = (
        "hash_not_recorded",
        "The destination has not recorded a hash at or above the block yet.",
    )
    NOT_ATTESTED = "not_attested", "Too few signers have attested a block at or above this one."
    HASH_ON_ITS_WAY = "hash_on_its_way", "A transaction tells the registry a block's hash."
    HEADERS_ON_THEIR_WAY = (
        "headers_on_their_way",
        "A transaction shows the registry headers that lead down to the block.",
    )
    # The transaction
    TRANSACTION_ON_ITS_WAY = "transaction_on_its_way", "The proof is sent, and not mined yet."
    LANE_BUSY = "lane_busy", "Other transactions of the same signer are being signed."
    FEE_HELD_BACK = (
        "fee_held_back",
        "What the batch offers is held back for a transaction until it is known what that costs.",
    )
    DAY_SPENT = (
        "day_spent",
        "What the operator lets a day's transactions cost is spent: it goes on as the day passes.",
    )
    # Until it counts
    CONFIRMING = "confirming", "It is mined, and more blocks of the destination are to confirm it."
    OTHER_NODE_BEHIND = (
        "other_node_behind",
        "Another node of the destination, which is to say the same, is not so far yet.",
    )
    ANOTHER_BLOCK_SUSPECTED = (
        "another_block_suspected",
        "Whether the registry holds another header of the block is looked at.",
    )
    REGISTRY_REFUSES = (
        "registry_refuses",
        "The registry does not take the proof; it is tried again some times.",
    )
    CHAIN_LEFT = "chain_left", "The destination is not one of this server's any more."


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is a `WaitCode`, or a chain fault's."""

    code: str
    sentence: str
