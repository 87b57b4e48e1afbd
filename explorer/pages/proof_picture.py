"""A fact's proof, drawn from the known block hash down to the value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.wallets import short_hash
from accounts.wording import format_count
from queries.amounts import short_amount
from queries.facts import BLOCK_AT_TIME
from queries.proving.accounts import AccountState
from queries.proving.block_items import BLOOM_BYTES
from queries.proving.facts import BlockFact, FactKind
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import HISTORY_RING
from queries.proving.sync_committees import MEMBERS, MIN_SIGNERS
from queries.reading.fact_proof import FactProof, ProofNode
from queries.reading.facts import FactView
from queries.sources.beacon import BeaconRegistry
from queries.sources.registry import Registry

BAR_HEIGHT, BAR_GAP, MAX_BAR_WIDTH, BARS_WIDTH = 12, 3, 40, 260
MAX_NODE_SIZE = 532  # bytes of a branch with sixteen hashes
MAX_DRAWN_NODES = 64
KILOBYTE = 1_000
VALUE_REASONS = {
    FactKind.HEADER_FIELD: "The header holds it.",
    FactKind.LOG: "The receipt holds it.",
    FactKind.RECEIPT: "The trie holds it at its index.",
    FactKind.TRANSACTION: "The trie holds the transaction at this index; this is its hash.",
    FactKind.WITHDRAWAL: "The trie holds it at its index.",
    FactKind.ABSENT_TRANSACTION: "The trie ends before this index.",
    FactKind.ABSENT_WITHDRAWAL: "The trie ends before this index.",
    FactKind.ABSENT_LOG: "All logs of the receipt are compared with it.",
    FactKind.SILENT_BLOCK: "Each such log would set three bits of the bloom; they are not all set.",
}


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
    proof: FactProof, fact: FactView, value: str, registry: Registry | None, currency: str = "ETH"
) -> ProofPicture:
    levels = tuple(_levels(proof, fact, value, registry, currency))
    first, *others = levels
    parts = [f"{first.name}, {first.detail}"]
    parts += (f"{level.name}, {level.detail}" if level.nodes else level.name for level in others)
    remark = "A bar is a header or a trie node, as wide as its bytes."
    if not proof.is_stored:
        nodes = "witness is" if fact.event else "trie nodes are"
        remark = f"The {nodes} not stored here: others had proven the fact before."
    elif fact.event:
        remark = ""
    return ProofPicture(levels, " → ".join(parts), proof.is_stored, remark)


def format_bytes(size: int) -> str:
    return f"{size:,} bytes" if size < KILOBYTE else f"{size / KILOBYTE:.1f} kB"


def _levels(
    proof: FactProof, fact: FactView, value: str, registry: Registry | None, currency: str
) -> Iterator[Level]:
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
    if fact.kind in {FactKind.ACCOUNT_FIELD, FactKind.STORAGE_SLOT} and proof.is_stored:
        yield from _account_levels(proof, fact, currency)
    if fact.event:
        yield from _event_levels(proof, fact.event)
    yield Level("value", value, _why_value(proof, fact))


def _begins_with_record(proof: FactProof) -> bool:
    """Whether the first hash was recorded, and not known from an earlier proof."""
    return proof.is_recorded and proof.mined_block is not None and not proof.hops


def _beacon_levels(
    proof: FactProof, number: int, block_hash: str, registry: BeaconRegistry
) -> Iterator[Level]:
    slot, detail = registry.slot_of_block(proof.known_time), "signed by the sync committee"
    signatures = (
        f"At least {MIN_SIGNERS} of {MEMBERS} validators have signed that it is final, and the "
        "registry has checked their signatures."
    )
    branch = "A branch of hashes leads from the signed block to this hash."
    yield Level("beacon block", detail if slot is None else f"slot {slot:,}, {detail}", signatures)
    yield Level(f"hash of execution block {number:,}", "in the beacon block", branch, block_hash)


def _event_levels(proof: FactProof, event: BlockFact) -> Iterator[Level]:
    witness = f"{format_bytes(proof.witness_size)} of witness" if proof.witness_size else ""
    if event.field is HeaderField.LOGS_BLOOM:
        yield Level("bloom of its logs", format_bytes(BLOOM_BYTES), "The header holds it.")
        return
    trie = f"{event.field.name.removesuffix('_ROOT').lower()} trie"
    reason = "Rebuilt from the witness, it has the root in the header."
    yield Level(trie, witness, reason, proof.event_root)
    if event.kind in {FactKind.LOG, FactKind.ABSENT_LOG}:
        reason = VALUE_REASONS[FactKind.RECEIPT]
        yield Level("receipt", f"of transaction {event.key}", reason)


def _account_levels(proof: FactProof, fact: FactView, currency: str) -> Iterator[Level]:
    trie = "The {} has the hash of its root; each node has the hash of the next one."
    root = proof.state[0].hash if proof.state else ""
    yield Level("state trie", _count(proof.state), trie.format("header"), root, proof.state)
    name = short_hash(fact.account)
    if not proof.account:
        yield Level("no such account", name, "Its place in the trie is empty.")
        return
    fields = _account_fields(proof.account, currency)
    yield Level("account", name, "The last node of the state trie holds it.", fields=fields)
    if fact.kind is FactKind.STORAGE_SLOT:
        reason = trie.format("account") if proof.storage else "Nothing is stored in any slot."
        root = f"0x{proof.account.storage_root.hex()}"
        yield Level("storage trie", _count(proof.storage), reason, root, proof.storage)


def _account_fields(account: AccountState, currency: str) -> tuple[tuple[str, str], ...]:
    return (
        ("nonce", f"{account.nonce:,}"),
        ("balance", short_amount(account.balance, currency)),
        ("storage root", short_hash(f"0x{account.storage_root.hex()}")),
        ("code hash", short_hash(f"0x{account.code_hash.hex()}")),
    )


def _why_value(proof: FactProof, fact: FactView) -> str:
    if fact.name == BLOCK_AT_TIME:
        return "The header has this time or an earlier one, and the next header a later one."
    if fact.kind in VALUE_REASONS:
        return VALUE_REASONS[fact.kind]
    if proof.proves_absence:
        return "An account that does not exist has this value."
    if fact.kind is FactKind.STORAGE_SLOT:
        is_empty = int(fact.word, 16) == 0
        return f"{'No' if is_empty else 'The last'} node of the storage trie holds it."
    return "The account holds it."


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
