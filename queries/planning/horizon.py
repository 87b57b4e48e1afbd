"""Horizon evidence shows that a header holds the state root from before its block (EIP-7862).

From there on, the registry must take no accounts and slots, so its horizon is lowered.
"""

from collections.abc import Sequence

from queries.chain import AccountSlots, ChainClient
from queries.contracts.abi import call_data, selector
from queries.planning.anchors import HASH_HISTORY_BYTES
from queries.proving import (
    AccountProof,
    AccountToStore,
    Header,
    HeaderField,
    SectionHeader,
    build_witness,
    headers_section,
    history_slot,
)
from queries.sources import EMPTY_WORD, Preparation, Registry
from queries.wait_reasons import Reason, WaitCode

LOWER_HORIZON = "lowerHorizon(bytes)"


class HorizonPreparation(Preparation):
    """Lowers the registry's horizon."""

    @property
    def pending_reason(self) -> Reason:
        return WaitCode.HORIZON_PENDING.reason

    def is_served_by(self, calldata: bytes, hops: int) -> bool:
        """Whichever evidence it holds: any lowers the horizon."""
        return calldata.startswith(selector(LOWER_HORIZON))


def history_request(header: Header, registry: Registry) -> list[AccountSlots]:
    """The slots of the grandparent's and parent's hash in the history contract (EIP-2935).

    Empty if the chain cannot have that contract at this block.
    """
    if header.number <= 1 or not registry.has_history(header):
        return []
    slots = [history_slot(header.number - back, registry.history_ring) for back in (2, 1)]
    return [(HASH_HISTORY_BYTES, slots)]


def horizon_evidence(
    source: ChainClient, registry: Registry, headers: Sequence[Header], history: AccountProof
) -> bytes | None:
    """The `lowerHorizon` call if the first header holds the state root from before its block: its
    history has the grandparent's hash and lacks the parent's. The registry knows the last header.
    """
    header = headers[0]
    grandparent_hash, parent_hash = (slot.value.to_bytes(32) for slot in history.slots)
    if parent_hash in {EMPTY_WORD, header.parent_hash}:
        return None
    parent = source.header_by_hash(header.parent_hash)
    if grandparent_hash != parent.parent_hash:  # a history of another size
        return None
    # `lowerHorizon` takes no slots around the end of the ring.
    if history_slot(parent.number, registry.history_ring) == 0:
        (history,) = source.account_proofs(parent, history_request(parent, registry))
        return horizon_evidence(source, registry, (parent, *headers), history)
    witness = build_witness([AccountToStore(history, frozenset())])
    first = SectionHeader(parent, fields=frozenset({HeaderField.PARENT_HASH}))
    section = [first, SectionHeader(header, witness), *map(SectionHeader, headers[1:])]
    return call_data(LOWER_HORIZON, headers_section(section))
