"""Plan how facts of a block get into a registry: for a job, an estimate or a witness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from queries.chain import BlockContent, ChainClient
from queries.facts import facts_of
from queries.models import Query
from queries.planning.anchors import AnchorResult, AnchorSearch
from queries.planning.calls import Anchor, Piece, cut_into_pieces
from queries.planning.events import FoundEvent, cut_events, set_events
from queries.planning.known_blocks import StoredBlocks
from queries.planning.readers import ChainReaders
from queries.proving import AccountProof, Header
from queries.proving.facts import FactGroups, group_facts
from queries.sources import Registry, RegistryBlock, RegistryReader


@dataclass(frozen=True)
class BlockPlan:
    """The requested facts of a block: those that a registry has, and how it gets the rest."""

    chains: ChainReaders
    registry: Registry
    content: BlockContent
    registry_block: RegistryBlock
    events: Mapping[str, FoundEvent] = field(default_factory=dict)  # that were looked for, by name

    @classmethod
    def read(
        cls, chains: ChainReaders, registry: Registry, block: int, queries: Sequence[Query]
    ) -> Self:
        """Read the block, and which of its facts the registry has. Raises `ChainError`.

        Sets the accounts and events of unsaved queries that give an ENS name or a filter.

            plan = BlockPlan.read(chains, registry, 19_000_000, queries)
            plan.registry_block.is_complete or plan.find_anchor()
        """
        source = chains.client(registry.source)
        content = BlockContent(source, source.header(block))
        chains.set_accounts(content.header, queries)
        events = set_events(content, queries)
        facts = [fact for query in queries for fact in facts_of(query).values()]
        registry_block = chains.registry_reader(registry).read_block(content.header, facts)
        return cls(chains, registry, content, registry_block, events)

    @property
    def header(self) -> Header:
        return self.content.header

    @property
    def missing(self) -> FactGroups:
        return group_facts(self.registry_block.missing_facts)

    def find_anchor(
        self, node: ChainClient | None = None, assumed: Mapping[int, bool] | None = None
    ) -> AnchorResult:
        """Find how the missing facts can be proven now, or the reason why they cannot yet.

        `node`: ask only this node of the destination. `assumed`: blocks that count as known
        (False) or accumulated (True).
        """
        chains, registry = self.chains, self.registry
        is_own_head = node and registry.is_of_own_past
        head = node.latest_head() if node and is_own_head else chains.head(registry.source)
        destination = node or chains.client(registry.destination)
        search = AnchorSearch(
            self.header,
            self.registry_block,
            registry,
            destination,
            self.content.source,
            head.number,
            StoredBlocks(registry, RegistryReader(destination, registry), assumed or {}),
            chains.beacon_nodes(registry.source) if chains.chain(registry.source).beacon else None,
        )
        return search.find()

    def cut_into_pieces(
        self, job_key: int, anchor: Anchor, missing: FactGroups, proofs: Sequence[AccountProof]
    ) -> list[Piece]:
        """Cut the missing facts into pieces that each fit into a transaction.

        Raises `EventNotProvableError`.
        """
        rules = self.chains.client(self.registry.destination).gas_rules
        pieces = cut_into_pieces(job_key, anchor, missing, proofs, rules)
        reader = self.chains.registry_reader(self.registry)
        events = cut_events(job_key, anchor, missing.events, self.content, reader)
        return [*pieces, *events]
