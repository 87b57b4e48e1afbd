"""Whether a chain's contracts see the chain's own block hashes, as a native registry must.

On some chains, such as those of Arbitrum's kind, a contract sees another chain's block number, and
BLOCKHASH of that is nothing that proves the chain's own past.
"""

from enum import Enum, auto

from queries.chain.destination import Destination
from queries.chain.errors import CallReverted
from queries.chain.registry_facts import HASH_HISTORY


class OwnHashes(Enum):
    """What contracts see of the chain's own hashes."""

    NONE = auto()
    RECENT = auto()  # BLOCKHASH: 256 blocks
    HISTORY = auto()  # EIP-2935's contract as well: 8191 blocks
    NO_BLOCKS_YET = auto()


def own_hashes(destination: Destination) -> OwnHashes:
    """Ask the chain for the hash of a recent block as a contract would, and compare."""
    number = destination.head().number - 1
    if number < 0:
        return OwnHashes.NO_BLOCKS_YET
    expected = destination.block_hash(number)
    # PUSH32 number, BLOCKHASH, and return the word behind a zero: what such a call returns is taken
    # for a contract's code, and since EIP-3541 none may begin with EF, as one hash of 256 does.
    asking = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        seen = destination.run(asking)
    except CallReverted:
        return OwnHashes.NONE  # a chain without PUSH0, where no registry of ours runs
    if expected is None or seen != b"\0" + expected:
        return OwnHashes.NONE
    (kept,) = destination.call_many(HASH_HISTORY, [number.to_bytes(32, "big")])
    return OwnHashes.HISTORY if kept == expected else OwnHashes.RECENT
