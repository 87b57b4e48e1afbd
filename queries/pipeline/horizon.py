"""Evidence that a header's state root is not that of the state after its block (EIP-7862).

A block's state holds its parent's hash (EIP-2935). If it still holds an older hash in that slot, and
the grandparent's hash in the slot before, it is the state before the block.
"""

from collections.abc import Sequence

from queries.chain.registry import HASH_HISTORY, UNKNOWN
from queries.chain.solidity import call_data
from queries.chain.source import Asked, SourceChain
from queries.pipeline.anchors import Preparation
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField
from queries.proving.registry_calls import HeaderStep, headers_section, slot_of_hop
from queries.proving.witnesses import AccountRequest, build_witness
from queries.wait_reasons import WaitCode

HISTORY = bytes.fromhex(HASH_HISTORY[2:])


def history_request(header: Header) -> list[Asked]:
    """The slots of the grandparent's and the parent's hash, if the chain may have the contract."""
    if header.number <= 1 or not header.has(HeaderField.REQUESTS_HASH):
        return []
    return [(HISTORY, [slot_of_hop(header.number - back) for back in (2, 1)])]


def evidence(
    source: SourceChain, header: Header, above: Sequence[Header], history: AccountProof
) -> Preparation | None:
    """The `endedBy` call against this header; None if nothing contradicts its state root.

    `above`: the headers from there to a known block. `history`: the proof of `history_request`.
    """
    before, own = (slot.value.to_bytes(32) for slot in history.slots)
    if own in {UNKNOWN, header.parent_hash}:
        return None
    parent = source.header_of(header.parent_hash)
    if before != parent.parent_hash:  # a history of another size
        return None
    if slot_of_hop(parent.number) == 0:  # `endedBy` takes no slots around the end of the ring
        (history,) = source.account_proofs(parent, history_request(parent))
        return evidence(source, parent, (header, *above), history)
    witness = build_witness([AccountRequest(history, frozenset())])
    steps = [
        HeaderStep(parent, fields=frozenset({HeaderField.PARENT_HASH})),
        HeaderStep(header, witness),
        *map(HeaderStep, above),
    ]
    call = call_data("endedBy(bytes)", headers_section(steps))
    return Preparation(call, header.number, on_its_way=WaitCode.HORIZON_PENDING.reason)
