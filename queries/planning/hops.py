"""Proofs of the history that a block's state holds: the hashes of the 8,191 blocks before it
(EIP-2935).

Hops prove an older block's hash in the state of a newer block. For older blocks several hops follow
one another. Horizon evidence shows that a header holds the state root from before its block
(EIP-7862): from there on, the registry must take no accounts and slots, so its horizon is lowered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db.models import Max

from accounts.shared.wording import format_count
from queries.chain.answers import AccountSlots
from queries.chain.client import ChainClient
from queries.chain.errors import PROOF_TOO_OLD, BlockUnknownError, HistoryMissingError
from queries.chain.registry import EMPTY_WORD, HASH_HISTORY
from queries.config.registries import Registry
from queries.contracts.abi import call_data
from queries.models import NodeRecord
from queries.planning.calls import Preparation
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField
from queries.proving.packing import CALLDATA_BYTES, GasRules
from queries.proving.registry_calls import (
    HISTORY_RING,
    HeaderStep,
    accumulated_section,
    headers_section,
    history_slot,
    prove_call,
)
from queries.proving.witnesses import AccountToStore, build_witness
from queries.wait_reasons import Reason, WaitCode

HISTORY = bytes.fromhex(HASH_HISTORY[2:])
NO_PROOF = (BlockUnknownError, *PROOF_TOO_OLD)

# Fetches the headers from one block to another, child after child.
FetchHeaders = Callable[[int, int], Sequence[Header]]
# Fetches proofs of the state of accounts at a block.
FetchProofs = Callable[[Header, Sequence[AccountSlots]], Sequence[AccountProof]]


@dataclass(frozen=True, slots=True)
class HopBuilder:
    """Builds hops on the chain of this registry's source."""

    registry: Registry
    fetch_headers: FetchHeaders
    fetch_proofs: FetchProofs
    names_proof_windows: bool  # in error sentences, as measured by provers

    def section(
        self, start: Header, target: Header, *, is_accumulated: bool, accumulate: bool = False
    ) -> bytes:
        """The section that shows a block, and the hash of an older one in its state."""
        try:
            (proof,) = self.fetch_proofs(start, [(HISTORY, [history_slot(target.number)])])
        except NO_PROOF as error:
            raise type(error)(
                f"Block {target.number:,} is reached by a hop from block {start.number:,}, and no "
                f"node of chain {self.registry.source} proves the state of that one."
                f"{self._proof_window()}"
            ) from None
        if proof.slots[0].value != int.from_bytes(target.hash):
            raise HistoryMissingError(
                f"The state of block {start.number:,} of chain {self.registry.source} does not "
                f"hold the hash of block {target.number:,} (EIP-2935)."
            )
        witness = build_witness([AccountToStore(proof, frozenset())])
        if is_accumulated:
            words = start.number, start.timestamp, start.hash
            return accumulated_section(*words, witness, is_hop=True)
        return headers_section([HeaderStep(start, witness, accumulate, is_hop=True)])

    def preparation(
        self, start: int, target: int, *, is_accumulated: bool, rules: GasRules
    ) -> Preparation:
        """The first hops from `start` towards the target, as many as fit into one transaction. Hops
        stop at blocks whose numbers are multiples of 8,191, so that proofs of all older blocks can
        start there.
        """
        stops = range((start - 1) // HISTORY_RING * HISTORY_RING, target - 1, -HISTORY_RING)
        sections, call, header = list[bytes](), b"", self._header(start)
        for number in stops:
            stop, is_first = self._header(number), not sections
            section = self.section(
                header, stop, is_accumulated=is_accumulated and is_first, accumulate=not is_first
            )
            arrival = headers_section([HeaderStep(stop, accumulate=True)])
            longer_call = prove_call([*sections, section, arrival])
            gas = rules.floor_byte * len(longer_call) + rules.new_slot * (len(sections) + 1)
            if sections and (len(longer_call) > CALLDATA_BYTES or gas > rules.items_gas):
                break
            header, call = stop, longer_call
            sections.append(section)
        count = format_count(len(stops), "hop")
        pending = f"A transaction with hops is not mined yet ({count} in all)."
        return Preparation(
            call,
            stops[-1],
            "The block is far before the nearest one that the registry knows: "
            f"{count} must be sent first.",
            Reason(WaitCode.HOPS_PENDING, pending),
            hops=len(stops),
            hops_in_call=len(sections),
            hop_sections=b"".join(sections),
            hop_start=start,
        )

    def _header(self, number: int) -> Header:
        return self.fetch_headers(number, number)[0]

    def _proof_window(self) -> str:
        if not self.names_proof_windows:
            return ""
        nodes = NodeRecord.objects.filter(chain=self.registry.source, proof_window__gte=0)
        window = nodes.aggregate(max=Max("proof_window"))["max"]
        return "" if window is None else f" They prove the last {format_count(window, 'block')}."


def history_request(header: Header) -> list[AccountSlots]:
    """The slots of the grandparent's and the parent's hash, if the chain may have the contract."""
    if header.number <= 1 or not header.has_field(HeaderField.REQUESTS_HASH):
        return []
    return [(HISTORY, [history_slot(header.number - back) for back in (2, 1)])]


def horizon_evidence(
    source: ChainClient, headers: Sequence[Header], history: AccountProof
) -> bytes | None:
    """The `endedBy` call if the first header's state root is that before its block: its history has
    the grandparent's hash and lacks the parent's. The last header is known to the registry.
    """
    header = headers[0]
    grandparent_hash, parent_hash = (slot.value.to_bytes(32) for slot in history.slots)
    if parent_hash in {EMPTY_WORD, header.parent_hash}:
        return None
    parent = source.header_by_hash(header.parent_hash)
    if grandparent_hash != parent.parent_hash:  # a history of another size
        return None
    if history_slot(parent.number) == 0:  # `endedBy` takes no slots around the end of the ring
        (history,) = source.account_proofs(parent, history_request(parent))
        return horizon_evidence(source, (parent, *headers), history)
    witness = build_witness([AccountToStore(history, frozenset())])
    first = HeaderStep(parent, fields=frozenset({HeaderField.PARENT_HASH}))
    steps = [first, HeaderStep(header, witness), *map(HeaderStep, headers[1:])]
    return call_data("endedBy(bytes)", headers_section(steps))
