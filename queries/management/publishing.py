"""Prove a proof file's facts to a registry. This needs neither the service nor a database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from queries.chain import AccountSlots, BeaconNodes, CallRevertedError, ChainClient, Signer
from queries.config.chains import NodeAddress
from queries.contracts.abi import selector
from queries.contracts.create2 import verifier_address
from queries.management.sending import Report, send_and_wait
from queries.planning.anchors import AnchorSearch
from queries.planning.calls import AccountPiece, Anchor, PlannedCall, cut_into_pieces
from queries.planning.dry_runs import describe_refusal
from queries.proving import (
    HEADERS_PER_HOP,
    PROVE_EVENTS_SELECTOR,
    AccountProof,
    BlockProof,
    Header,
    encode_event_groups,
    prove_events_call,
)
from queries.proving.facts import BlockFact, group_facts
from queries.sources import (
    KINDS,
    BeaconRegistry,
    HashNotKnown,
    KnownBlocks,
    NativeRegistry,
    Preparation,
    Registry,
    RegistryBlock,
    RegistryReader,
    SetupError,
    deployed_registry,
    has_built_code,
)

BLOCK_NOT_KNOWN = selector("BlockNotKnown(uint256,bytes32)")


class NotPublishedError(Exception):
    """A block's facts cannot be proven to the registry; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class PublishContext:
    destination: ChainClient
    signer: Callable[[], Signer]  # called when a transaction is needed
    source: ChainClient | None  # has the headers up to a block that the registry knows
    beacon_nodes: tuple[NodeAddress, ...]  # of the source, for updates of a beacon registry
    receipt_timeout: float  # seconds
    report: Report


def identify_registry(destination: ChainClient, address: str, source: int) -> Registry:
    """Return the registry at `address`, which must be of this version and for this source."""
    code = destination.code(address)
    kind = next((kind for kind in KINDS.values() if has_built_code(kind, code)), None)
    if kind is None:
        problem = "is not a registry of this version" if code else "has no code"
        raise NotPublishedError(
            f"The address {address} on {destination.chain.name} {problem}. Name a registry with "
            "--registry."
        )
    try:
        registry = deployed_registry(kind, source, destination, address)
    except SetupError as error:
        raise NotPublishedError(f"The registry at {address} cannot be used. {error}") from None
    if isinstance(registry, NativeRegistry) and not registry.is_of_own_past:
        raise NotPublishedError(
            f"The registry at {address} proves the past of {destination.chain.name} itself, but "
            f"the facts are of chain {source}."
        )
    if registry.source != source:
        raise NotPublishedError(f"The registry at {address} is for another source than {source}.")
    return registry


def check_source(registry: Registry, context: PublishContext) -> None:
    """Check that the registry's hashes are those of the proof's source, or report that this cannot
    be checked without a node of it.
    """
    try:
        remark = registry.check_source(context.source, context.destination)
    except SetupError as error:
        sentence = f"The registry at {registry.address} cannot be used. {error}"
        raise NotPublishedError(sentence) from None
    if remark:
        context.report(f"{remark} Name a node of it with --source-node URL.")


def publish_block(block: BlockProof, registry: Registry, context: PublishContext) -> int:
    """Prove the block's facts. Returns the cost in wei: 0 if the registry has all of them."""
    registry_reader = RegistryReader(context.destination, registry)
    file_words = block.words
    verifier = verifier_address(registry.address)
    if block.events and not context.destination.code(verifier):
        raise NotPublishedError(
            f"No events verifier is deployed for the registry at {registry.address}. There is no "
            f"contract at {verifier} on {context.destination.chain.name}; `deploy_registry` "
            "deploys it."
        )
    cost = 0
    # Record a hash, hop to the block, prove its header, then its accounts, and then its events.
    last_progress: object = None
    while True:
        registry_block = _read_registry_block(registry_reader, block, file_words)
        if not registry_block.missing_facts:
            return cost
        anchor = _find_publish_anchor(block, registry, context, registry_block)
        left = anchor.transactions if isinstance(anchor, Preparation) else 0
        progress = registry_block.words, registry_block.leaf, type(anchor), left
        if progress == last_progress:  # the node lags behind, or lies
            raise NotPublishedError(
                f"Block {block.header.number:,} is still not proven. Run this again later."
            )
        last_progress = progress
        for call in _next_calls(block, context, registry_block, anchor):
            is_for_verifier = call.startswith(PROVE_EVENTS_SELECTOR)
            cost += _send_call(
                verifier if is_for_verifier else registry.address, call, registry, context
            )


def _send_call(address: str, call: bytes, registry: Registry, context: PublishContext) -> int:
    """Send the call and wait for its receipt. Returns its cost in wei."""
    signer, timeout = context.signer(), context.receipt_timeout
    try:
        report = context.report
        return send_and_wait(context.destination, signer, address, call, timeout, report).cost
    except CallRevertedError as error:
        raise NotPublishedError(_revert_sentence(error, registry)) from None


def _revert_sentence(error: CallRevertedError, registry: Registry) -> str:
    if error.data.startswith(BLOCK_NOT_KNOWN):
        number, block_hash = int.from_bytes(error.data[4:36]), error.data[36:68].hex()
        return (
            f"The registry does not know block {number:,} of chain {registry.source} with the "
            f"hash 0x{block_hash}: it is of another chain, or too old for the registry."
        )
    return describe_refusal(error)


def _read_registry_block(
    registry_reader: RegistryReader, block: BlockProof, file_words: Mapping[BlockFact, bytes]
) -> RegistryBlock:
    registry_block = registry_reader.read_block(block.header, file_words)
    for fact, word in registry_block.words.items():
        if word not in {None, file_words[fact]}:
            raise NotPublishedError(
                f"The registry's value differs from the proof of block {block.header.number:,}: "
                f"0x{(word or b'').hex()}, not 0x{file_words[fact].hex()}. The registry has "
                "another block with this number, or the node lies."
            )
    return registry_block


def _beacon_nodes(registry: Registry, context: PublishContext) -> BeaconNodes | None:
    if not isinstance(registry, BeaconRegistry):
        return None
    if not (context.source and context.beacon_nodes):
        return None
    chain = replace(
        context.source.chain, beacon=context.beacon_nodes, custom_beacon_chain=registry.beacon_chain
    )
    return BeaconNodes(chain)


def _find_publish_anchor(
    block: BlockProof, registry: Registry, context: PublishContext, registry_block: RegistryBlock
) -> Anchor | Preparation:
    source, chain = context.source, ProofFileChain(block, context.source)
    head_client = context.destination if registry.is_of_own_past else source
    head = block.trusted_header.number + HEADERS_PER_HOP
    if head_client:
        head = head_client.head().number
    search = AnchorSearch(
        block.header,
        registry_block,
        registry,
        context.destination,
        chain,
        head,
        KnownBlocks(registry, RegistryReader(context.destination, registry)),
        _beacon_nodes(registry, context),
    )
    anchor = search.find()
    if isinstance(anchor, HashNotKnown):
        raise NotPublishedError(_refusal_reason(anchor, block, registry, has_source=bool(source)))
    return anchor


def _next_calls(
    block: BlockProof,
    context: PublishContext,
    registry_block: RegistryBlock,
    anchor: Anchor | Preparation,
) -> Iterator[bytes]:
    if isinstance(anchor, Preparation):
        yield anchor.calldata
        return
    rules, groups = context.destination.gas_rules, group_facts(registry_block.missing_facts)
    proofs = [entry.proof for entry in block.accounts if entry.proof.address in groups.accounts]
    if any(not fact.is_event for fact in registry_block.missing_facts):
        pieces = cut_into_pieces(0, anchor, groups, proofs, rules)
        yield from (PlannedCall.create([piece]).data for piece in pieces)
        return
    missing_events = set(groups.events)
    for witness in block.events:
        if any(missing_events & group.words.keys() for group in witness):
            fields = frozenset(group.field for group in witness)
            section = AccountPiece(0, anchor, fields=fields, rules=rules).section
            yield prove_events_call(section, encode_event_groups(witness))


def _refusal_reason(
    result: HashNotKnown, block: BlockProof, registry: Registry, *, has_source: bool
) -> str:
    if result.is_permanent:
        return result.reason.sentence
    hint = "" if has_source else _source_node_hint(registry.source)
    return registry.publish_hint(result.reason, block.trusted_header.number, hint)


@dataclass(frozen=True, slots=True)
class ProofFileChain:
    """The source chain from the proof file's block to one that the registry knows."""

    block: BlockProof
    source: ChainClient | None

    def headers(self, first: int, last: int) -> Sequence[Header]:
        headers = self._own_headers
        if headers[0].number <= first and last <= headers[-1].number:
            return [header for header in headers if first <= header.number <= last]
        if self.source is None:
            raise NotPublishedError(
                f"No headers lead up to block {last:,}: {_source_node_hint(self.block.chain)}"
            )
        return self.source.headers(first, last)

    def header_by_hash(self, block_hash: bytes) -> Header:
        for header in self._own_headers:
            if header.hash == block_hash:
                return header
        return self._required_source("A later block").header_by_hash(block_hash)

    @property
    def _own_headers(self) -> list[Header]:
        return [header for header in (self.block.header, self.block.next_header) if header]

    def account_proofs(
        self, header: Header, requested_slots: Sequence[AccountSlots]
    ) -> Sequence[AccountProof]:
        return self._required_source("A hop").account_proofs(header, requested_slots)

    def _required_source(self, subject: str) -> ChainClient:
        if self.source is None:
            raise NotPublishedError(f"{subject} is missing: {_source_node_hint(self.block.chain)}")
        return self.source


def _source_node_hint(chain: int) -> str:
    return f"name a node of chain {chain} with --source-node URL."
