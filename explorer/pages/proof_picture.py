"""A fact's proof, drawn from the known block hash down to the value."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.wallets import short_hash
from accounts.wording import format_count
from queries.amounts import short_amount
from queries.proving import (
    BLOOM_BYTES,
    HISTORY_RING,
    MIN_COMMITTEE_SIGNERS,
    SYNC_COMMITTEE_SIZE,
    AccountState,
)
from queries.reading import FactProof, FactView, ProofNode
from queries.sources import BeaconRegistry, Registry

BAR_HEIGHT, BAR_GAP, MAX_BAR_WIDTH, BARS_WIDTH = 12, 3, 40, 260
MAX_NODE_SIZE = 532  # bytes of a branch with sixteen hashes
MAX_DRAWN_NODES = 64
KILOBYTE = 1_000
_TRIE_REASON = "The {} has the hash of its root; each node has the hash of the next one."


@dataclass(frozen=True, slots=True)
class Level:
    """A step of the proof, and why it follows from the one above it."""

    name: str
    detail: str
    reason: str
    hash: str = ""
    nodes: tuple[ProofNode, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()  # of an account

    @property
    def bars(self) -> SafeString:
        """A bar per node, as wide as its bytes; its hash shows on hover."""
        nodes = self.nodes[:MAX_DRAWN_NODES]
        room = min(BARS_WIDTH // max(len(nodes), 1) - BAR_GAP, MAX_BAR_WIDTH)
        x, bars = 0, list[tuple[int, int, int, str, str]]()
        for node in nodes:
            width = max(room * min(node.size, MAX_NODE_SIZE) // MAX_NODE_SIZE, 1)
            bars.append((x, width, BAR_HEIGHT, node.hash, format_bytes(node.size)))
            x += width + BAR_GAP
        form = '<rect x="{}" width="{}" height="{}"><title>{}, {}</title></rect>'
        return format_html(
            '<svg class="nodes" width="{}" height="{}" role="img" aria-label="{}, {}">{}</svg>',
            *(BARS_WIDTH, BAR_HEIGHT, self.name, self.detail),
            format_html_join("", form, bars),
        )


@dataclass(frozen=True, slots=True)
class ProofPicture:
    levels: tuple[Level, ...]
    summary: str
    is_stored: bool
    remark: str


def proof_picture(
    proof: FactProof, fact: FactView, levels: Iterable[Level], registry: Registry | None
) -> ProofPicture:
    """`levels`: from the header down to the value."""
    all_levels = (*_header_levels(proof, fact, registry), *levels)
    first, *others = all_levels
    parts = [f"{first.name}, {first.detail}"]
    parts += (f"{level.name}, {level.detail}" if level.nodes else level.name for level in others)
    remark = "A bar is a header or a trie node, as wide as its bytes."
    if not proof.is_stored:
        nodes = "witness is" if fact.event else "trie nodes are"
        remark = f"The {nodes} not stored here: others had proven the fact before."
    elif fact.event:
        remark = ""
    return ProofPicture(all_levels, " → ".join(parts), proof.is_stored, remark)


def format_bytes(size: int) -> str:
    return f"{size:,} bytes" if size < KILOBYTE else f"{size / KILOBYTE:.1f} kB"


def _header_levels(proof: FactProof, fact: FactView, registry: Registry | None) -> Iterator[Level]:
    headers = (proof.header, *proof.later_headers)
    number = fact.block + len(proof.later_headers)
    if isinstance(registry, BeaconRegistry) and _begins_with_record(proof):
        yield from _beacon_levels(proof, number, headers[-1].hash, registry)
    else:
        trust = _trust_reason(proof, number, registry)
        yield Level(f"hash of block {number:,}", *trust, headers[-1].hash)
    reason = "Hashed, it gives the hash above."
    if proof.later_headers:
        name = format_count(len(proof.later_headers), "later header")
        nodes = headers[:0:-1]
        yield Level(name, _total(nodes), "Each has the hash of the header before it.", nodes=nodes)
        reason = "Hashed, it gives the parent hash in the header after it."
    size = format_bytes(proof.header.size)
    yield Level(f"header of block {fact.block:,}", size, reason, proof.header.hash)


def _begins_with_record(proof: FactProof) -> bool:
    """Whether the first hash was recorded, and not known from an earlier proof."""
    return proof.is_recorded and proof.mined_block is not None and not proof.hops


def _beacon_levels(
    proof: FactProof, number: int, block_hash: str, registry: BeaconRegistry
) -> Iterator[Level]:
    slot, detail = registry.slot_of_block(proof.known_time), "signed by the sync committee"
    signed = f"At least {MIN_COMMITTEE_SIGNERS}"
    if proof.voucher and proof.voucher.signed:
        signed = str(proof.voucher.signed)
    signatures = (
        f"{signed} of {SYNC_COMMITTEE_SIZE} validators have signed that it is final, and the "
        "registry has checked their signatures."
    )
    branch = "A branch of hashes leads from the signed block to this hash."
    yield Level("beacon block", detail if slot is None else f"slot {slot:,}, {detail}", signatures)
    yield Level(f"hash of execution block {number:,}", "in the beacon block", branch, block_hash)


def bloom_level() -> Level:
    return Level("bloom of its logs", format_bytes(BLOOM_BYTES), "The header holds it.")


def trie_level(proof: FactProof, fact: FactView) -> Iterator[Level]:
    witness = f"{format_bytes(proof.witness_size)} of witness" if proof.witness_size else ""
    name = fact.event.field.name.removesuffix("_ROOT").lower() if fact.event else ""
    reason = "Rebuilt from the witness, it has the root in the header."
    yield Level(f"{name} trie", witness, reason, proof.event_root)


def receipt_levels(proof: FactProof, fact: FactView) -> Iterator[Level]:
    yield from trie_level(proof, fact)
    detail = f"of transaction {fact.identity.key}"
    yield Level("receipt", detail, "The trie holds it at its index.")


def account_levels(proof: FactProof, fact: FactView, currency: str) -> Iterator[Level]:
    if not proof.is_stored:
        return
    root = proof.state[0].hash if proof.state else ""
    reason = _TRIE_REASON.format("header")
    yield Level("state trie", _count(proof.state), reason, root, proof.state)
    name = short_hash(fact.account)
    if not proof.account:
        yield Level("no such account", name, "Its place in the trie is empty.")
        return
    fields = _account_fields(proof.account, currency)
    yield Level("account", name, "The last node of the state trie holds it.", fields=fields)


def slot_levels(proof: FactProof, fact: FactView, currency: str) -> Iterator[Level]:
    yield from account_levels(proof, fact, currency)
    if proof.is_stored and proof.account:
        reason = _TRIE_REASON.format("account")
        reason = reason if proof.storage else "Nothing is stored in any slot."
        root = f"0x{proof.account.storage_root.hex()}"
        yield Level("storage trie", _count(proof.storage), reason, root, proof.storage)


def _account_fields(account: AccountState, currency: str) -> tuple[tuple[str, str], ...]:
    return (
        ("nonce", f"{account.nonce:,}"),
        ("balance", short_amount(account.balance, currency)),
        ("storage root", short_hash(f"0x{account.storage_root.hex()}")),
        ("code hash", short_hash(f"0x{account.code_hash.hex()}")),
    )


def _trust_reason(proof: FactProof, number: int, registry: Registry | None) -> tuple[str, str]:
    """Explain, in short and in full, why the registry trusts the proof's first block hash."""
    if proof.mined_block is None:
        # An event's header need not be accumulated.
        summary = (
            "known to the registry" if proof.event_root else "accumulated in the registry before"
        )
        return summary, "The registry knew it from an earlier proof."
    if proof.hops:
        hops = format_count(proof.hops, "hop")
        ring = registry.history_ring if registry else HISTORY_RING
        history = f"The contract of EIP-2935 keeps the hashes of the {ring:,} blocks before it."
        return f"reached by {hops} through EIP-2935", history
    if registry is None:
        return "known to the registry", ""
    return registry.hash_origin(proof.mined_block - number)


def _count(nodes: Sequence[ProofNode]) -> str:
    return f"{format_count(len(nodes), 'node')}, {_total(nodes)}" if nodes else "empty"


def _total(nodes: Sequence[ProofNode]) -> str:
    return format_bytes(sum(node.size for node in nodes))
