"""Search for an anchor, the link between a block and a hash that the registry knows: the block's
own hash, or headers or a hop from a later block. Without one, a transaction may have to prepare it.

Hops prove an older block's hash in the state of a newer block, which holds the hashes of the 8,191
blocks before it (EIP-2935; on Arbitrum 393,168). For older blocks several hops follow one another.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from accounts.wording import format_count
from queries.chain import (
    AnotherBlockAccumulatedError,
    BeaconNodes,
    BlockUnknownError,
    ChainClient,
    HistoryMissingError,
    SourceReorgError,
    StateNotAvailableError,
)
from queries.planning.calls import Anchor, HopPreparation
from queries.proving import (
    CALLDATA_BYTES,
    HEADERS_PER_HOP,
    AccountToStore,
    Header,
    SectionHeader,
    accumulated_section,
    build_witness,
    headers_section,
    history_slot,
    prove_call,
)
from queries.sources import (
    HASH_HISTORY,
    HASHES,
    MARGIN,
    NO_PROOF_ERRORS,
    OUT_OF_REACH,
    HashNotKnown,
    KnownBlocks,
    Preparation,
    Registry,
    RegistryBlock,
    SourceChain,
    SourceHashes,
)
from queries.wait_reasons import Reason, WaitCode

HASH_HISTORY_BYTES = bytes.fromhex(HASH_HISTORY[2:])


AnchorResult = Anchor | Preparation | HashNotKnown


@dataclass(frozen=True)
class AnchorSearch:
    """Searches for a known block at or above a block, and for headers or hops from there to it."""

    header: Header
    registry_block: RegistryBlock
    registry: Registry
    destination: ChainClient
    source: SourceChain
    source_head: int  # no block above it is known
    known_blocks: KnownBlocks
    beacon_nodes: BeaconNodes | None = None  # of the source, for a beacon registry

    @cached_property
    def target(self) -> Header:
        """The block that the registry must know: to prove a time, the next one."""
        last = self.header.number + self.registry_block.needs_child
        return (self.header, *self._fetch_newer_headers(last))[-1]

    @cached_property
    def hashes(self) -> SourceHashes[Any]:
        """The hashes at or above the target that the registry knows."""
        return HASHES[type(self.registry)](
            self.registry,
            self.destination,
            self.source,
            self.target,
            self.source_head,
            self.known_blocks,
            self.beacon_nodes,
        )

    @property
    def history_ring(self) -> int:
        return self.registry.history_ring

    def find(self) -> AnchorResult:
        """Find how the missing facts can be proven now, or the reason why they cannot yet."""
        header, is_accumulated = self.header, self.registry_block.is_accumulated
        if self.registry_block.has_conflict:
            chain = self.destination.chain.name
            raise AnotherBlockAccumulatedError.create(chain, detail=f": block {header.number:,}")
        if is_accumulated and not self.registry_block.needs_child:
            return Anchor(header, is_accumulated=True)
        can_look_up = self.hashes.can_look_up(header)
        anchor = Anchor(header, is_accumulated, can_look_up_hashes=can_look_up)
        first, visible = self.target.number, self.hashes.visible_blocks
        if visible and first >= visible.stop:
            return HashNotKnown(WaitCode.NEXT_BLOCK_MISSING.reason)
        has_history = self.registry.has_history(self.target)
        # Without hops half of a transaction is for headers, and half for proofs.
        headers_per_half_call = CALLDATA_BYTES // 2 // len(header.rlp)
        max_headers = HEADERS_PER_HOP if has_history else headers_per_half_call
        last_known = max(self.source_head, visible.stop - 1)
        nearby_blocks = range(first, min(first + max_headers, last_known) + 1)
        nearest = self._nearest_known_block(nearby_blocks)
        if nearest is not None:
            return replace(anchor, newer_headers=self._fetch_newer_headers(nearest))
        if preparation := self.hashes.preparation(nearby_blocks):
            return preparation
        return self._find_hops(anchor) if has_history else self._check_reach(nearby_blocks)

    def _find_hops(self, anchor: Anchor) -> AnchorResult:
        first, starts = self.target.number, self._hop_starts()
        near_starts = [start for start in starts if start <= first + self.history_ring]
        if near_starts:
            start = max(near_starts)  # more nodes have the state of newer blocks
            header, is_accumulated = self._fetch_header(start), starts[start]
            hop = self._hop_section(header, self.target, is_accumulated=is_accumulated)
            newer_headers = (self.target,) if self.registry_block.needs_child else ()
            return replace(anchor, newer_headers=newer_headers, hop=hop, hop_start=start)
        if starts:
            start = min(starts)
            return self._prepare_hops(start, is_accumulated=starts[start])
        later_blocks = range(first, self.source_head + 1)
        return self.hashes.preparation(later_blocks) or self.hashes.not_known()

    def _fetch_header(self, number: int) -> Header:
        return self.source.headers(number, number)[0]

    def _fetch_newer_headers(self, last: int) -> tuple[Header, ...]:
        """The headers after the block, up to the last one."""
        if last == self.header.number:
            return ()
        current_header, *newer_headers = self.source.headers(self.header.number, last)
        if current_header.hash != self.header.hash:
            raise SourceReorgError(SourceReorgError.template)
        return tuple(newer_headers)

    def _nearest_known_block(self, nearby_blocks: range) -> int | None:
        """The lowest of these blocks that the registry knows."""
        if nearby_blocks.start in self.hashes.visible_blocks:
            return nearby_blocks.start
        numbers = [*self.known_blocks.find(nearby_blocks), *self.hashes.visible_blocks[:1]]
        return min((number for number in numbers if number in nearby_blocks), default=None)

    def _hop_starts(self) -> dict[int, bool]:
        """Known blocks from which hops can lead to the target, and whether they are accumulated."""
        first, limit = self.target.number, self.destination.chain.limits.max_batch_calls
        starts = self.known_blocks.find(sorted(self.hashes.candidates() - {first}))
        # Hops stop at multiples of the ring's size; the lowest known one is enough.
        ring = self.history_ring
        stops = range((first // ring + 1) * ring, self.source_head, ring)
        for offset in range(0, min(len(stops), limit * limit), limit):
            if known_stops := self.known_blocks.find(stops[offset : offset + limit]):
                starts[min(known_stops)] = known_stops[min(known_stops)]
                break
        if visible := self.hashes.visible_blocks:
            last = min(first + ring, visible.stop - MARGIN)
            starts.setdefault(max(last, visible.start), False)
        return starts

    def _hop_section(
        self, start: Header, target: Header, *, is_accumulated: bool, accumulate: bool = False
    ) -> bytes:
        """The section that proves a block, and in its state the hash of an older block."""
        try:
            slot = history_slot(target.number, self.history_ring)
            (proof,) = self.source.account_proofs(start, [(HASH_HISTORY_BYTES, [slot])])
        except NO_PROOF_ERRORS as error:
            raise type(error)(
                f"A hop to block {target.number:,} needs a proof of the state of block "
                f"{start.number:,}, which no node of chain {self.registry.source} has."
                f"{self._proof_window_sentence()}"
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
        return headers_section([SectionHeader(start, witness, accumulate, is_hop=True)])

    def _prepare_hops(self, start: int, *, is_accumulated: bool) -> Preparation:
        """Prepare as many hops from `start` towards the target as fit into one transaction.

        Hops stop at multiples of the ring's size. Proofs of all older blocks can start there.
        """
        rules, ring = self.destination.gas_rules, self.history_ring
        stops = range((start - 1) // ring * ring, self.target.number - 1, -ring)
        sections, call, header = list[bytes](), b"", self._fetch_header(start)
        for number in stops:
            stop, is_first = self._fetch_header(number), not sections
            section = self._hop_section(
                header, stop, is_accumulated=is_accumulated and is_first, accumulate=not is_first
            )
            stop_section = headers_section([SectionHeader(stop, accumulate=True)])
            longer_call = prove_call([*sections, section, stop_section])
            gas = rules.floor_byte * len(longer_call) + rules.new_slot * (len(sections) + 1)
            if sections and (len(longer_call) > CALLDATA_BYTES or gas > rules.items_gas):
                break
            header, call = stop, longer_call
            sections.append(section)
        return HopPreparation(
            call,
            stops[-1],
            transactions=len(stops) / len(sections),
            count=len(stops),
            count_in_call=len(sections),
            sections=b"".join(sections),
            start=start,
        )

    def _proof_window_sentence(self) -> str:
        window = self.known_blocks.proof_window()
        return (
            "" if window is None else f" Its nodes prove the last {format_count(window, 'block')}."
        )

    def _check_reach(self, nearby_blocks: range) -> HashNotKnown:
        """Say why no hash near a block too old for hops is known, and whether one can become so.

        Native and OP-stack routes learn only newer hashes. Signers and a rollup's contracts may
        still provide older ones.
        """
        nearest = self.hashes.nearest_block()
        if nearest < nearby_blocks.stop:
            return self.hashes.not_known()

        def has_history(number: int) -> bool:
            try:
                return self.registry.has_history(self._fetch_header(number))
            except (BlockUnknownError, StateNotAvailableError):  # dropped by the nodes (EIP-4444)
                return False

        head, first = self.source_head, nearby_blocks.start
        hop_target = bisect_left(range(head), 1, lo=first, key=has_history)
        history = "the chain does not have"
        if hop_target < head:
            history = f"begins at block {hop_target:,}"
        block, distance, max_headers = self.header.number, nearest - first, len(nearby_blocks) - 1
        sentence = (
            f"Block {block:,} is out of reach: it is {distance:,} blocks before the nearest block "
            f"that the registry can know, and a proof holds at most {max_headers:,} headers. Hops "
            f"go further, but not before the block-hash history (EIP-2935), which {history}."
        )
        return HashNotKnown(Reason(OUT_OF_REACH, sentence), is_permanent=True, distance=distance)
