"""How the registry can know a block: by its hash, by headers or a hop from a known block above it,
or after a transaction that prepares for it.

A hop is a proof of one slot: a block's state holds the hashes of the 8,191 blocks before it
(EIP-2935). For older blocks several hops lead down. They stop at blocks from which later proofs can
start as well.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from django.db.models import Max

from accounts.shared.wording import counted
from queries.attestations.records import attesting_call
from queries.chain.errors import (
    TOO_OLD,
    AnotherBlockAccumulated,
    BlockUnknown,
    HistoryMissing,
    SourceReorganises,
    StateNotAvailable,
)
from queries.chain.games import Game, Games
from queries.chain.reader import Asked, SourceChain
from queries.chain.registry import HASH_HISTORY, UNKNOWN, Known, RegistryFacts
from queries.chain.registry_checks import BLOCKHASH_WINDOW, HISTORY_WINDOW
from queries.chain.sender import Destination
from queries.config.registries import Registry, RegistryKind
from queries.contracts.abi import call_data, selector
from queries.models import Attestation, BlockJob, NodeRecord
from queries.planning.calls import Anchor
from queries.planning.readers import ChainReaders
from queries.proving.accounts import AccountProof
from queries.proving.headers import WORD_BYTES, Header, HeaderField
from queries.proving.packing import BYTE, CALLDATA_BYTES, HEADERS_OF_A_HOP
from queries.proving.registry_calls import (
    HISTORY_RING,
    HeaderStep,
    accumulated_section,
    headers_section,
    prove_call,
    slot_of_hop,
)
from queries.proving.witnesses import AccountRequest, build_witness
from queries.wait_reasons import Reason, WaitCode

# Two epochs: so many blocks may leave the windows before the transaction is mined and final.
MARGIN = 2 * 32
HISTORY = bytes.fromhex(HASH_HISTORY[2:])
NO_PROOF = (BlockUnknown, *TOO_OLD)
MESSAGE_PASSER = bytes.fromhex("4200000000000000000000000000000000000016")  # of an OP-stack chain


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """The block is older than its chain's history, and the nearest known block is too far above."""

    code: ClassVar[str] = "block_out_of_reach"
    distance: int
    headers: int  # how many may lead down to it
    possible: int | None  # the first block that hops reach

    def sentence(self, block: int) -> str:
        begins = "which the chain does not have"
        if self.possible is not None:
            begins = f"which begins at block {self.possible:,}"
        return (
            f"Block {block:,} lies {self.distance:,} blocks below the nearest one that the "
            f"registry can know; at most {self.headers:,} headers lead down. Hops go further, but "
            f"not before the block-hash history (EIP-2935), {begins}."
        )


@dataclass(frozen=True, slots=True)
class NotKnownYet:
    """The registry knows no hash at or above the block yet, but will learn one."""

    why: Reason


@dataclass(frozen=True, slots=True)
class Preparation:
    """A transaction that has to be mined first: it records a block's hash in the registry, or
    hops down towards the block.
    """

    call: bytes
    leads_to: int  # a block from which the way goes on
    sentence: str = "A block's hash is recorded in the registry first."
    on_its_way: Reason = WaitCode.HASH_PENDING.reason
    hops: int = 0  # how many lead to that block, which the last of them accumulates
    in_call: int = 0  # how many of them fit into the call, from the top down
    way: bytes = b""  # the sections that show these
    start: int = 0  # the block that they begin at


# From one block to another, child after child.
Headers = Callable[[int, int], Sequence[Header]]
# The state of accounts at a block.
Proofs = Callable[[Header, Sequence[Asked]], Sequence[AccountProof]]
Found = Anchor | Preparation | OutOfReach | NotKnownYet


@dataclass(frozen=True)
class AnchorSearch:
    """Looks for what the registry knows at or above a block, and for the way down from there."""

    registry: Registry
    destination: Destination
    headers: Headers
    proofs: Proofs
    source_head: int  # no block above it is known; on a native route the destination's may be
    after: Preparation | None = None  # search as if this one were mined
    ours: bool = True  # whether this server's jobs and attestations count

    @classmethod
    def of(cls, chains: ChainReaders, registry: Registry, view: Destination | None = None) -> Self:
        """`view`: of one node of the destination."""
        source, head = chains.source(registry.source), chains.head(registry.source).number
        destination = view or chains.destination(registry.destination)
        return cls(registry, destination, source.headers, source.account_proofs, head)

    @property
    def facts(self) -> RegistryFacts:
        return RegistryFacts(self.destination, self.registry)

    @cached_property
    def games(self) -> Games:
        return Games(self.registry, self.destination)

    def find(self, header: Header, known: Known) -> Found:
        """How the missing facts of the block can be proven now, or why they cannot be yet."""
        if known.of_another_block:
            chain = self.destination.chain.name
            raise AnotherBlockAccumulated.of(chain, why=f": block {header.number:,}")
        if known.accumulated and not known.needs_child:
            return Anchor(header, accumulated=True)
        above = self._above(header, header.number + int(known.needs_child))
        anchor = Anchor(header, known.accumulated, above)
        target = above[-1] if above else header  # the registry has to know this one
        window = self._window(target)
        anchor = replace(anchor, fills_hashes=self._fills_hashes(header, window))
        if window and target.number >= window.stop:
            return NotKnownYet(WaitCode.NEXT_BLOCK_MISSING.reason)
        has_history = target.has(HeaderField.REQUESTS_HASH)  # field and history came with Prague
        # Without hops half of a transaction is for headers, and half for proofs.
        longest = CALLDATA_BYTES // 2 // len(header.encoded)
        most = HEADERS_OF_A_HOP if has_history else longest
        newest = max(self.source_head, window.stop - 1)
        near = range(target.number, min(target.number + most, newest) + 1)
        nearest = self._nearest(near, window)
        if nearest is not None:
            return replace(anchor, above=self._above(header, nearest))
        if bringing := self._bringing(target, near):
            return bringing
        if has_history:
            return self._by_hops(anchor, target, window)
        return self._without_history(target, near, window)

    def _by_hops(self, anchor: Anchor, target: Header, window: range) -> Found:
        starts = self._starts(target, window)
        reaching = [start for start in starts if start <= target.number + HISTORY_RING]
        if reaching:  # the newest, whose state most nodes have
            start = max(reaching)
            hop = self._hop(self._header(start), target, accumulated=starts[start])
            return replace(anchor, hop=hop, hop_from=start)
        if starts:
            start = min(starts)
            return self._way_down(start, target.number, accumulated=starts[start])
        later = range(target.number, self.source_head + 1)
        return self._bringing(target, later) or self._not_known(target)

    def _header(self, number: int) -> Header:
        return self.headers(number, number)[0]

    def _above(self, header: Header, last: int) -> tuple[Header, ...]:
        """The headers above the block, up to this one."""
        if last == header.number:
            return ()
        own, *above = self.headers(header.number, last)
        if own.hash != header.hash:
            raise SourceReorganises(SourceReorganises.says)
        return tuple(above)

    # What is known

    def _window(self, target: Header) -> range:
        """The blocks whose hashes the registry can know without a mapping by number.

        On a native route these are the chain's own newest blocks. On an output route it is the one
        block whose hash was recorded from a game (games name no numbers). With `after` it is the
        block that this one records.
        """
        if self.after and not self.after.hops:
            return range(self.after.leads_to, self.after.leads_to + 1)
        if self.registry.kind is RegistryKind.OUTPUT:
            return self._recorded_output(target)
        if self.registry.kind is not RegistryKind.NATIVE:
            return range(0)
        head = self.destination.head(known_final=0).number
        reach = BLOCKHASH_WINDOW - MARGIN
        if target.number < head - reach and self.facts.keeps_history():
            reach = HISTORY_WINDOW - MARGIN
        return range(max(head - reach, 0), head + 1)

    def _fills_hashes(self, header: Header, window: range) -> bool:
        """Whether a native registry should find the parent's hash and the beacon root (EIP-4788),
        which the chain keeps as long. A dry run shows whether it does.
        """
        is_native = self.registry.kind is RegistryKind.NATIVE and header.number - 1 in window
        has_root = header.has(HeaderField.PARENT_BEACON_BLOCK_ROOT)
        return is_native and has_root and len(header.payload(HeaderField.EXTRA_DATA)) <= WORD_BYTES

    def _recorded_output(self, target: Header) -> range:
        if self.facts.is_recorded(target.hash):
            return range(target.number, target.number + 1)
        game = self.games.valid(target)
        if game and self.facts.is_recorded(self._header(game.block).hash):
            return range(game.block, game.block + 1)
        return range(0)

    def _nearest(self, near: range, window: range) -> int | None:
        """The lowest of these blocks that the registry knows."""
        if near.start in window:
            return near.start
        found = [*self.facts.anchored(near), *window[:1]]
        return min((number for number in found if number in near), default=None)

    def _starts(self, target: Header, window: range) -> dict[int, bool]:
        """Blocks from which hops can lead down, and whether each is accumulated."""
        if self.after:
            return {self.after.leads_to: bool(self.after.hops)}
        first, most = target.number, self.destination.chain.limits.batch_questions
        asked = set(_proven_above(self.registry, first, most)) if self.ours else set()
        if self.registry.kind is RegistryKind.OPTIMISM:
            newest, _ = self.facts.newest_l1_block()
            asked |= {*range(max(newest - BLOCKHASH_WINDOW, first), newest + 1)}
        found = self.facts.anchored(sorted(asked - {first}))
        # Of the multiples of 8,191, where hops stop, the lowest accumulated one is enough.
        stops = range((first // HISTORY_RING + 1) * HISTORY_RING, self.source_head, HISTORY_RING)
        for start in range(0, min(len(stops), most * most), most):
            if accumulated := self.facts.accumulated(stops[start : start + most]):
                found[accumulated[0]] = True
                break
        if window:
            reached = min(first + HISTORY_RING, window.stop - MARGIN)
            found.setdefault(max(reached, window.start), False)
        return found

    def _bringing(self, target: Header, blocks: range) -> Preparation | None:
        """A transaction that makes one of these blocks known."""
        if self.registry.kind is RegistryKind.ATTESTED and self.ours:
            found = attesting_call(self.registry, blocks)
            return Preparation(*found) if found else None
        if self.registry.kind is RegistryKind.OUTPUT:
            game = self.games.valid(target)
            return self._recording_output(game) if game and game.block in blocks else None
        if self.registry.kind is not RegistryKind.OPTIMISM:
            return None
        # Anyone can have the registry record the L1 hash that an OP-stack chain holds now.
        number, block_hash = self.facts.newest_l1_block()
        if block_hash == UNKNOWN or number not in blocks:
            return None
        return Preparation(selector("recordHash()"), number)

    def _recording_output(self, game: Game) -> Preparation:
        header = self._header(game.block)
        (passer,) = self.proofs(header, [(MESSAGE_PASSER, [])])
        words = (header.state_root, passer.state.storage_root, header.hash)
        call = call_data("recordOutput(address,bytes32,bytes32,bytes32)", game.address, *words)
        return Preparation(call, game.block)

    def _not_known(self, target: Header) -> NotKnownYet:
        if self.registry.kind is RegistryKind.OUTPUT:
            return NotKnownYet(self.games.waits_for(target))
        attested = self.registry.kind is RegistryKind.ATTESTED
        code = WaitCode.NOT_ATTESTED if attested else WaitCode.HASH_NOT_RECORDED
        return NotKnownYet(code.reason)

    def _without_history(
        self, target: Header, near: range, window: range
    ) -> OutOfReach | NotKnownYet:
        """Only headers lead to the block. It is out of reach if no hash near it can become known:
        chains report only newer hashes, but signers can attest any block, and games can cover any.
        """
        lowest = window.start
        if self.registry.kind is RegistryKind.OPTIMISM:
            lowest, _ = self.facts.newest_l1_block()
        if self.registry.kind is RegistryKind.OUTPUT and (game := self.games.valid(target)):
            lowest = game.block
        if lowest < near.stop:
            return self._not_known(target)

        def has_history(number: int) -> bool:
            try:
                return self._header(number).has(HeaderField.REQUESTS_HASH)
            except (BlockUnknown, StateNotAvailable):  # dropped by the nodes (EIP-4444)
                return False

        head, first = self.source_head, near.start
        possible = bisect_left(range(head), 1, lo=first, key=has_history)
        return OutOfReach(lowest - first, len(near) - 1, possible if possible < head else None)

    # Hops

    def _hop(
        self, at: Header, target: Header, *, accumulated: bool, accumulate: bool = False
    ) -> bytes:
        """The section that shows a block, and the hash of an earlier one in its state."""
        try:
            (proof,) = self.proofs(at, [(HISTORY, [slot_of_hop(target.number)])])
        except NO_PROOF as fault:
            raise type(fault)(
                f"Block {target.number:,} is reached by a hop from block {at.number:,}, and no "
                f"node of chain {self.registry.source} proves the state of that one."
                f"{self._their_window()}"
            ) from None
        if proof.slots[0].value != int.from_bytes(target.hash):
            raise HistoryMissing(
                f"The state of block {at.number:,} of chain {self.registry.source} does not hold "
                f"the hash of block {target.number:,} (EIP-2935)."
            )
        witness = build_witness([AccountRequest(proof, frozenset())])
        if accumulated:
            return accumulated_section(at.number, at.timestamp, at.hash, witness, is_hop=True)
        return headers_section([HeaderStep(at, witness, accumulate, is_hop=True)])

    def _their_window(self) -> str:
        if not self.ours:
            return ""
        nodes = NodeRecord.objects.filter(chain=self.registry.source, proof_window__gte=0)
        window = nodes.aggregate(longest=Max("proof_window"))["longest"]
        return "" if window is None else f" They prove the last {counted(window, 'block')}."

    def _way_down(self, start: int, first: int, *, accumulated: bool) -> Preparation:
        """As many hops as fit into one transaction. They stop at blocks whose numbers are multiples
        of 8,191, so that proofs of all older blocks can start there.
        """
        stops = range((start - 1) // HISTORY_RING * HISTORY_RING, first - 1, -HISTORY_RING)
        rules, hops = self.destination.chain.gas_rules, list[bytes]()
        at, call = self._header(start), b""
        for stop in stops:
            target = self._header(stop)
            hop = self._hop(at, target, accumulated=accumulated and not hops, accumulate=bool(hops))
            arrival = headers_section([HeaderStep(target, accumulate=True)])
            longer = prove_call([*hops, hop, arrival])
            gas = BYTE * len(longer) + rules.new_slot * (len(hops) + 1)
            if hops and (len(longer) > CALLDATA_BYTES or gas > rules.room):
                break
            at, call = target, longer
            hops.append(hop)
        count, way = counted(len(stops), "hop"), b"".join(hops)
        return Preparation(
            call,
            stops[-1],
            f"The block is far below the nearest one that the registry knows: {count} first.",
            Reason(WaitCode.HOPS_PENDING, f"The way down to its block is sent: {count}."),
            hops=len(stops),
            in_call=len(hops),
            way=way,
            start=start,
        )


def _proven_above(registry: Registry, first: int, most: int) -> list[int]:
    """Blocks that this server may have accumulated, within a hop's reach, or signers attested."""
    route = {"source": registry.source, "destination": registry.destination}
    jobs = BlockJob.objects.filter(**route, block__range=(first, first + HISTORY_RING))
    proven = jobs.exclude(header=b"").order_by("-block")
    signed = Attestation.objects.filter(**route, registry=registry.address, block__gte=first)
    found = [proven, signed.order_by("block")]
    return [block for rows in found for block in rows.values_list("block", flat=True)[:most]]


# Evidence against a state root


def history_request(header: Header) -> list[Asked]:
    """The slots of the grandparent's and the parent's hash, if the chain may have the contract."""
    if header.number <= 1 or not header.has(HeaderField.REQUESTS_HASH):
        return []
    return [(HISTORY, [slot_of_hop(header.number - back) for back in (2, 1)])]


def evidence(source: SourceChain, above: Sequence[Header], history: AccountProof) -> bytes | None:
    """The `endedBy` call if the first header's state root is that before its block (EIP-7862): the
    grandparent's hash is in its history, and the parent's not yet. `above` ends with a known block.
    """
    header, (before, own) = above[0], (slot.value.to_bytes(32) for slot in history.slots)
    if own in {UNKNOWN, header.parent_hash}:
        return None
    parent = source.header_of(header.parent_hash)
    if before != parent.parent_hash:  # a history of another size
        return None
    if slot_of_hop(parent.number) == 0:  # `endedBy` takes no slots around the end of the ring
        (history,) = source.account_proofs(parent, history_request(parent))
        return evidence(source, (parent, *above), history)
    witness = build_witness([AccountRequest(history, frozenset())])
    first = HeaderStep(parent, fields=frozenset({HeaderField.PARENT_HASH}))
    steps = [first, HeaderStep(header, witness), *map(HeaderStep, above[1:])]
    return call_data("endedBy(bytes)", headers_section(steps))
