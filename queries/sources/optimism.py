"""An L1 on its OP-stack chain, whose L1Block contract holds the newest L1 block."""

from collections.abc import Callable

from queries.chain import BlockUnknownError, ChainClient
from queries.config.chains import Chain
from queries.config.networks import Network
from queries.contracts.abi import selector
from queries.sources.hashes import Preparation, SourceHashes
from queries.sources.reader import BLOCKHASH_WINDOW, EMPTY_WORD, L1_BLOCK, RegistryReader
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    NewestBlock,
    Registry,
    RegistryKind,
    SetupError,
)


class OptimismRegistry(Registry):
    kind = RegistryKind.OPTIMISM
    arguments = (HORIZON_ARGUMENT,)
    hash_view = "recorded(uint256)"
    details = "registries/optimism.html"
    block_work = ("recordHash", "hop")  # an upper bound: a recorded block needs no hop
    trusted = "the destination alone"
    trust = "trusts the OP chain"

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        return destination.l1 == source.chain and bool(destination.portal)

    @classmethod
    def check_chain(cls, destination: ChainClient) -> None:
        if not destination.code(L1_BLOCK):
            raise SetupError(
                f"{destination.chain.name} is not an OP-stack chain (no code at {L1_BLOCK}). Use "
                "an attested registry."
            )

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        self.check_chain(destination)
        number = visible_l1_block(self, source, destination)
        return f"sees {source.chain.name} up to block {number:,}"

    def check_source(self, source: ChainClient | None, destination: ChainClient) -> str:
        if source is None:
            return (
                f"Not checked: whether the L1 of {destination.chain.name} is chain {self.source}."
            )
        visible_l1_block(self, source, destination)
        return ""

    def newest_block(
        self, reader: RegistryReader, head: int, final: int, server_head: Callable[[], int]
    ) -> NewestBlock:
        l1_block, _ = reader.latest_l1_block(min(head, server_head()))
        return NewestBlock(min(l1_block, final), l1_block)

    def trust_sentence(self, source: str, destination: str) -> str:
        return (
            f"{destination} alone: its own L1Block contract gives the registry the hash of the "
            "newest L1 block."
        )

    def reach_sentence(self, source: str) -> str:
        return (
            f"The contract knows blocks of {source} whose hash was recorded while it was the "
            "newest."
        )

    @property
    def assumption(self) -> str:
        return f"that the L1 of chain {self.destination} is chain {self.source}"

    def hash_origin(self, age: int) -> tuple[str, str]:
        sentence = "The L1Block contract of the destination chain gives it to the registry."
        return "known by the L1Block contract", sentence


class OptimismHashes(SourceHashes[OptimismRegistry]):
    def candidates(self) -> set[int]:
        first, newest = self.header.number, self.nearest_block()
        recent_blocks = range(max(newest - BLOCKHASH_WINDOW, first), newest + 1)
        return super().candidates() | set(recent_blocks)

    def preparation(self, blocks: range) -> Preparation | None:
        """Anyone can have the registry record the L1 hash that the chain holds now."""
        number, block_hash = self.reader.latest_l1_block()
        if block_hash == EMPTY_WORD or number not in blocks:
            return None
        return Preparation(selector("recordHash()"), number)

    def nearest_block(self) -> int:
        number, _ = self.reader.latest_l1_block()
        return number


def visible_l1_block(registry: Registry, source: ChainClient, destination: ChainClient) -> int:
    """The newest L1 block that an OP-stack chain sees.

    Raises `SetupError` if the source has another block of that number. No optimism registry knows
    which chain its L1 is, so the hash has to be compared.
    """
    number, block_hash = RegistryReader(destination, registry).latest_l1_block()
    try:
        is_same = source.header(number).hash == block_hash
    except BlockUnknownError:
        is_same = False
    if not is_same:
        raise SetupError(
            f"Block {number:,} of the L1 that {destination.chain.name} sees is not block "
            f"{number:,} of {source.chain.name}. Correct the route's source, or check that its "
            "nodes keep up."
        )
    return number


def read_visible_l1_block(registry: Registry, source: Chain, destination: Chain) -> int:
    """The same for a visitor. Raises `ChainError` after `visitor_timeout` at the latest."""
    with (
        ChainClient.open_for_visitor(source) as source_chain,
        ChainClient.open_for_visitor(destination) as destination_chain,
    ):
        return visible_l1_block(registry, source_chain, destination_chain)
