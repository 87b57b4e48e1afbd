"""A fact's proof, drawn from the known block hash down to the value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.shared.wallets import short_hash
from accounts.shared.wording import format_count
from queries.config.registries import Registry, RegistryKind
from queries.proving.bundles import FactKind
from queries.reading.fact_proof import FactProof, ProofNode
from queries.reading.facts import FactView

WIDTH, LEFT, RIGHT, INDENT = 320, 2, 318, 12
BOX_HEIGHT, NODES_HEIGHT, GAP = 48, 20, 20
NODE_HEIGHT, NODE_GAP, MAX_NODE_WIDTH = 12, 3, 40
MAX_NODE_SIZE = 532  # bytes of a branch with sixteen hashes
MAX_DRAWN_NODES = 64
BLOCKHASH_REACH = 256
KILOBYTE = 1_000
_SOURCES = {RegistryKind.OPTIMISM: "the L1Block contract", RegistryKind.OUTPUT: "a dispute game"}


@dataclass(frozen=True, slots=True)
class Level:
    """A box of the picture. It has one hash, or nodes."""

    name: str
    detail: str
    hash: str = ""
    nodes: tuple[ProofNode, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofPicture:
    levels: tuple[Level, ...]
    summary: str
    elements: SafeString  # of an SVG
    width: int
    height: int
    is_stored: bool


def proof_picture(
    proof: FactProof, fact: FactView, value: str, registry: Registry | None
) -> ProofPicture:
    levels = tuple(_levels(proof, fact, value, registry))
    first, *others = levels
    parts = [f"{first.name}, {first.detail}"]
    parts += (f"{level.name}, {level.detail}" if level.nodes else level.name for level in others)
    elements, top = list[SafeString](), LEFT
    for level in levels:
        if level is not first:
            elements.append(_arrow(top))
            top += GAP
        height = BOX_HEIGHT + (NODES_HEIGHT if level.nodes else 0)
        is_end = level in {first, levels[-1]}
        elements.append(_box(level, "level end" if is_end else "level", top, height))
        top += height
    drawn = format_html_join("", "{}", ((element,) for element in elements))
    return ProofPicture(levels, " → ".join(parts), drawn, WIDTH, top + LEFT, proof.is_stored)


def format_bytes(size: int) -> str:
    return f"{size:,} bytes" if size < KILOBYTE else f"{size / KILOBYTE:.1f} kB"


def _levels(
    proof: FactProof, fact: FactView, value: str, registry: Registry | None
) -> Iterator[Level]:
    headers = (proof.header, *proof.later_headers)
    number = fact.block + len(proof.later_headers)
    reason = _why_known(proof, number, registry)
    yield Level(f"hash of block {number:,}", reason, hash=headers[-1].hash)
    if proof.later_headers:
        name = format_count(len(proof.later_headers), "later header")
        yield Level(name, _total(proof.later_headers), nodes=headers[:0:-1])
    size = format_bytes(proof.header.size)
    yield Level(f"header of block {fact.block:,}", size, hash=proof.header.hash)
    if fact.kind in {FactKind.ACCOUNT_FIELD, FactKind.STORAGE_SLOT} and proof.is_stored:
        absence = ": no such account" if proof.proves_absence else ""
        yield Level("state trie", _count(proof.state) + absence, nodes=proof.state)
        if fact.kind is FactKind.STORAGE_SLOT:
            yield Level("account", short_hash(fact.account))
            yield Level("storage trie", _count(proof.storage), nodes=proof.storage)
    yield Level("value", value)


def _why_known(proof: FactProof, number: int, registry: Registry | None) -> str:
    """Why the registry trusts the block hash from which the proof starts."""
    if proof.mined_block is None:
        return "accumulated in the registry before"
    if proof.hops:
        return f"reached by {format_count(proof.hops, 'hop')} through EIP-2935"
    if registry and registry.kind is RegistryKind.NATIVE:
        is_near = proof.mined_block - number <= BLOCKHASH_REACH
        return "known by BLOCKHASH" if is_near else "known by EIP-2935"
    if registry and registry.kind is RegistryKind.ATTESTED:
        return f"signed by {registry.threshold} of {len(registry.signers)} signers"
    return f"known by {_SOURCES[registry.kind]}" if registry else "known to the registry"


def _count(nodes: Sequence[ProofNode]) -> str:
    return f"{format_count(len(nodes), 'node')}, {_total(nodes)}" if nodes else "empty"


def _total(nodes: Sequence[ProofNode]) -> str:
    return format_bytes(sum(node.size for node in nodes))


def _arrow(top: int) -> SafeString:
    x, end = WIDTH // 2, top + GAP - 3
    path = f"M{x} {top + 3}V{end}M{x - 5} {end - 5}L{x} {end} {x + 5} {end - 5}"
    return format_html('<path class="arrow" d="{}"/>', path)


def _box(level: Level, kind: str, top: int, height: int) -> SafeString:
    return format_html(
        '<g class="{kind}">{title}'
        '<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="5"/>'
        '<text x="{x}" y="{first}">{name}</text>'
        '<text class="where" x="{x}" y="{second}">{detail}</text>{nodes}</g>',
        kind=kind,
        title=format_html("<title>{}</title>", level.hash) if level.hash else "",
        left=LEFT,
        top=top,
        width=RIGHT - LEFT,
        height=height,
        x=LEFT + INDENT,
        first=top + 20,
        second=top + 38,
        name=level.name.capitalize(),
        detail=level.detail,
        nodes=_node_boxes(level.nodes, top + BOX_HEIGHT),
    )


def _node_boxes(nodes: Sequence[ProofNode], top: int) -> SafeString:
    """A box per node, as wide as its bytes; its hash shows on hover."""
    nodes = nodes[:MAX_DRAWN_NODES]
    room = (RIGHT - LEFT - 2 * INDENT) // max(len(nodes), 1) - NODE_GAP
    x, boxes = LEFT + INDENT, list[tuple[int, int, int, int, str, str]]()
    for node in nodes:
        width = max(min(room, MAX_NODE_WIDTH) * min(node.size, MAX_NODE_SIZE) // MAX_NODE_SIZE, 1)
        boxes.append((x, top, width, NODE_HEIGHT, node.hash, format_bytes(node.size)))
        x += width + NODE_GAP
    form = '<rect class="node" x="{}" y="{}" width="{}" height="{}"><title>{}, {}</title></rect>'
    return format_html_join("", form, boxes)
