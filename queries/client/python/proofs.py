"""Verify a proof file, and report what it proves.

The facts of a file are true if its block hashes are right, so callers pass hashes that they trust.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from accounts.wording import format_count, format_timestamp
from queries.amounts import UNIT_DIGITS, format_units
from queries.client.python.errors import NotProvenError, UsageError
from queries.client.python.facts import ProvenFact
from queries.proving import (
    ADDRESS_BYTES,
    FIELD_RULES,
    MAX_BUNDLE_MIB,
    BlockProof,
    Bundle,
    BundleRefusedError,
    BundleTooLargeError,
    FieldFormat,
    HeaderField,
    Log,
    check_bundle,
    checksum_address,
)
from queries.proving.facts import BlockAtTimeFact, BlockFact, EventFact, SlotFact
from queries.selectors import block_selector

BLOCK_HASH = re.compile("0x[0-9a-fA-F]{64}")
MAX_ALIGNED_NAME = 24  # longer slot numbers do not widen the column


def verify_proof(
    content: bytes, hashes: Iterable[str], max_mib: int = MAX_BUNDLE_MIB
) -> tuple[ProvenFact, ...]:
    """Verify a proof file offline, with the hashes of its blocks that you trust.

    Raises NotProvenError, which names the block if its hash is missing. The facts of events have no
    `contract`.
    """
    bundle = read_proof(content, max_mib)
    trust_reasons(bundle, hashes)
    return tuple(
        ProvenFact(
            chain=block.chain,
            block=block.header.number,
            selector=block_selector(block.header.number),
            account=checksum_address(fact.account) if fact.account else None,
            ens=None,
            name=fact.name,
            word=f"0x{word.hex()}",
            contract="" if fact.is_event else checksum_address(block.registry.address),
        )
        for block in bundle.blocks
        for fact, word in block.words.items()
    )


def read_proof(content: bytes, max_mib: int) -> Bundle:
    """Check a proof file, except for its block hashes. Raises NotProvenError."""
    try:
        return check_bundle(content, max_mib)
    except BundleRefusedError as error:
        is_large = isinstance(error, BundleTooLargeError)
        hint = f" If its batch is that large, use --max-mib {4 * max_mib}." if is_large else ""
        raise NotProvenError(f"Nothing is proven. {error}{hint}") from None


def trust_reasons(
    bundle: Bundle,
    hashes: Iterable[str],
    ask_nodes: Callable[[BlockProof], Iterable[str]] = lambda _: (),
    advice: str = "",
) -> list[str]:
    """Return for each block why its hash can be trusted: you gave it, or nodes confirm it.

    Raises NotProvenError if nothing confirms a hash, with `advice`.
    """
    trusted_hashes = _parse_block_hashes(hashes)
    _check_hashes(bundle, trusted_hashes)
    return [
        _trust_reason(block, trusted_hashes, list(ask_nodes(block)), advice)
        for block in bundle.blocks
    ]


def _parse_block_hashes(texts: Iterable[str]) -> list[bytes]:
    hashes = list(texts)
    if not all(map(BLOCK_HASH.fullmatch, hashes)):
        raise UsageError("--hash takes a block's hash: 0x and 64 hex digits.")
    return [bytes.fromhex(text[2:]) for text in hashes]


def _check_hashes(bundle: Bundle, hashes: Sequence[bytes]) -> None:
    """Refuse a hash of none of the proof's blocks, or of blocks on two chains."""
    required_hashes = {block.trusted_header.hash for block in bundle.blocks}
    parents = {block.header.hash: block for block in bundle.blocks if block.next_header}
    for hash_ in hashes:
        if hash_ in parents and hash_ not in required_hashes:
            block = parents[hash_]
            raise NotProvenError(
                f"0x{hash_.hex()} is block {block.header.number:,}. Give the hash of block "
                f"{block.trusted_header.number:,}: it shows which block was the last at that time."
            )
        if hash_ not in required_hashes:
            raise NotProvenError(f"Nothing is proven. The proof has no block 0x{hash_.hex()}.")
        blocks = [block for block in bundle.blocks if block.trusted_header.hash == hash_]
        if len(chains := sorted({block.chain for block in blocks})) > 1:
            raise NotProvenError(
                f"Nothing is proven. Chains {' and '.join(map(str, chains))} of the proof share "
                f"the block hash 0x{hash_.hex()}. `tacitus verify_proof --node URL` asks a node "
                "of each."
            )


def _trust_reason(
    block: BlockProof, hashes: Sequence[bytes], node_origins: Sequence[str], advice: str
) -> str:
    header = block.trusted_header
    origins = ["you gave"] * (header.hash in hashes) + [*node_origins]
    name = block_name(block)
    if not origins:
        raise NotProvenError(
            f"Nothing is proven yet: the facts are true if {name} has the hash "
            f"0x{header.hash.hex()}. Look it up where you trust it, and give it with --hash 0x…"
            f"{advice}."
        )
    return f"that {name} has the hash 0x{header.hash.hex()}, which {' and '.join(origins)}"


def block_name(block: BlockProof) -> str:
    return f"block {block.trusted_header.number:,} of chain {block.chain}"


def report_lines(bundle: Bundle, reasons: Sequence[str], caveats: Iterable[str]) -> Iterator[str]:
    """Report what a proof file proves, and what was not checked; `caveats` adds to that."""
    yield f"Batch {bundle.batch} (the service's id for it), for chain {bundle.destination}"
    for block in bundle.blocks:
        yield ""
        yield from _block_lines(block)
    facts = format_count(sum(len(block.words) for block in bundle.blocks), "fact")
    yield ""
    yield f"Proven: {facts}. This assumes that keccak-256 is secure, and"
    yield from (f"  {reason}" for reason in reasons)
    yield ""
    yield "Not checked, because it needs a node of the destination:"
    yield f"  that the registry on chain {bundle.destination} has these facts now"
    for block in bundle.blocks:
        for transaction in block.transactions:
            yield (
                f"  that transaction 0x{transaction.hash.hex()} in block {transaction.block:,} "
                f"proved facts of block {block.header.number:,}"
            )
    yield from caveats


def _block_lines(block: BlockProof) -> Iterator[str]:
    header = block.header
    yield f"Block {header.number:,} of chain {block.chain}, {format_timestamp(header.timestamp)}"
    yield f"  hash 0x{header.hash.hex()}"
    address, kind = checksum_address(block.registry.address), block.registry.kind
    yield f"  facts, as the {kind} registry {address} keeps them on chain {block.destination}:"
    absentees = {entry.proof.address for entry in block.accounts if not entry.proof.exists}
    logs = block.logs
    rows = [
        (_owner_line(fact, absentees), *_name_and_value(fact, word, logs))
        for fact, word in block.words.items()
    ]
    width = max(min(len(name), MAX_ALIGNED_NAME) for _, name, _ in rows)
    for owner, group in groupby(rows, key=itemgetter(0)):
        yield f"    {owner}"
        yield from (f"      {name:{width}}  {value}" for _, name, value in group)


def _owner_line(fact: BlockFact, absentees: Collection[bytes | None]) -> str:
    if not fact.account:
        if fact.is_event:
            return "its events, kept by the events verifier beside the registry"
        return "its time" if isinstance(fact, BlockAtTimeFact) else "its header"
    remark = " (there was no such account)" if fact.account in absentees else ""
    return f"{checksum_address(fact.account)}{remark}"


def _name_and_value(fact: BlockFact, word: bytes, logs: Mapping[str, Log]) -> tuple[str, str]:
    if isinstance(fact, EventFact):
        return fact.report(word, logs.get(fact.name))
    number = int.from_bytes(word, "big")
    if isinstance(fact, BlockAtTimeFact):
        return format_timestamp(fact.key), f"block {number:,} was the last one"
    if not fact.has_account:
        return fact.name, _header_value(HeaderField(fact.key), word)
    if isinstance(fact, SlotFact):
        return f"slot 0x{fact.key:x}", f"0x{word.hex()} ({number})" if number else "0"
    if fact.name == "BALANCE":
        return fact.name, f"{format_units(number, UNIT_DIGITS)} ({number} wei)"
    return fact.name, str(number) if fact.name == "NONCE" else f"0x{word.hex()}"


def _header_value(field: HeaderField, word: bytes) -> str:
    number = int.from_bytes(word, "big")
    if field is HeaderField.TIMESTAMP:
        return f"{number} ({format_timestamp(number)})"
    if field is HeaderField.COINBASE:
        return checksum_address(word[-ADDRESS_BYTES:])
    return str(number) if FIELD_RULES[field].format is FieldFormat.INTEGER else f"0x{word.hex()}"
