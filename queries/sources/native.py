"""A chain's own past: contracts read its block hashes by BLOCKHASH and from EIP-2935."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from queries.chain import CallRevertedError, ChainClient, read_hex
from queries.config.networks import Network, find_network
from queries.proving import HASH_BYTES, HISTORY_RING, Header, HeaderField
from queries.sources.hashes import MARGIN, SourceHashes
from queries.sources.reader import BLOCKHASH_WINDOW, HASH_HISTORY, RegistryReader
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    NewestBlock,
    Registry,
    RegistryKind,
    SetupError,
)

# A contract knows the hashes of blocks before the one it runs in, and the caller's next call may
# reach a node that is a few blocks behind.
LAG = 4


class NativeRegistry(Registry):
    kind = RegistryKind.NATIVE
    arguments = (HORIZON_ARGUMENT,)
    block_work = ("native-header",)
    trusted = "nobody"

    @property
    def trust(self) -> str:
        return f"trusts {self._trusted or self.trusted}"

    @property
    def _trusted(self) -> str:
        """Who names the chain's hashes to its contracts; empty if its rules guarantee them."""
        network = find_network(self.source)
        return network.names_own_hashes if network else ""

    @classmethod
    def trusted_for(cls, source: Network) -> str:
        return source.names_own_hashes or cls.trusted

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        return source == destination

    @classmethod
    def check_chain(cls, destination: ChainClient) -> None:
        cls._count_visible(destination)

    @staticmethod
    def _count_visible(destination: ChainClient) -> int:
        visible_blocks = visible_own_hashes(destination)
        if not visible_blocks:
            raise SetupError(
                f"Contracts on {destination.chain.name} do not see its own block hashes. Use an "
                "attested registry."
            )
        return visible_blocks

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        visible_blocks = self._count_visible(destination)
        has_history = visible_blocks == HISTORY_RING
        remark = "" if has_history else " (the chain has no history contract, EIP-2935)"
        return f"sees {visible_blocks:,} blocks{remark}"

    @classmethod
    def provable_after(cls, source: Network) -> str:
        seconds = round(2 * source.block_seconds)
        return f"{seconds} seconds" if seconds > 1 else "a second"

    def newest_block(
        self, reader: RegistryReader, head: int, final: int, server_head: Callable[[], int]
    ) -> NewestBlock:
        return NewestBlock(max(min(head - LAG, final), 0))

    def last_valid_block(self, reader: RegistryReader, blocks: Sequence[int]) -> int | None:
        expiring_blocks = set(blocks).difference(reader.known_blocks(blocks))
        if not expiring_blocks:
            return None
        return min(expiring_blocks) + visible_own_hashes(reader.client)

    def remarks(self) -> Iterator[str]:
        if self._trusted:
            yield f"Its readers trust {self._trusted}, because no proof covers BLOCKHASH there."

    def trust_sentence(self, source: str, destination: str) -> str:
        if self._trusted:
            return (
                f"{self._trusted.capitalize()} of {destination}: the contract reads block hashes "
                "from the chain itself, but no proof covers them."
            )
        return f"No one: the contract reads block hashes from {destination} itself."

    def reach_sentence(self, source: str) -> str:
        return "The contract knows the last 8,191 blocks at any time."

    def hash_origin(self, age: int) -> tuple[str, str]:
        if age <= BLOCKHASH_WINDOW:
            return "known by BLOCKHASH", "The EVM gives contracts the last 256 block hashes."
        return "known by EIP-2935", "Its contract gives the last 8,191 block hashes."


class NativeHashes(SourceHashes[NativeRegistry]):
    @cached_property
    def visible_blocks(self) -> range:
        """The chain's latest blocks."""
        head, reach = self.source_head, BLOCKHASH_WINDOW - MARGIN
        if self.header.number < head - reach and self.destination.code(HASH_HISTORY):
            reach = HISTORY_RING - MARGIN
        return range(max(head - reach, 0), head + 1)

    def nearest_block(self) -> int:
        return self.visible_blocks.start

    def can_look_up(self, header: Header) -> bool:
        """Beacon roots (EIP-4788) are kept for as many blocks as hashes. A dry run shows whether it
        can.
        """
        has_root = header.has_field(HeaderField.PARENT_BEACON_BLOCK_ROOT)
        has_short_extra = len(header.payload(HeaderField.EXTRA_DATA)) <= HASH_BYTES
        return header.number - 1 in self.visible_blocks and has_root and has_short_extra


def visible_own_hashes(destination: ChainClient) -> int:
    """The number of own hashes that contracts on the chain can read, tried with a recent block."""
    number = destination.latest_head().number - 1
    if number < 0:
        raise SetupError(f"{destination.chain.name} has no blocks yet (evm_mine makes one).")
    block_hash = destination.header(number).hash
    # PUSH32 number, BLOCKHASH, and return a zero byte and the hash: nodes take the output for a
    # contract's code, which must not begin with EF (EIP-3541).
    program = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        call = {"data": f"0x{program.hex()}"}
        answer = destination.fetch("eth_call", (call, "latest"), read_hex)
    except CallRevertedError:
        return 0  # a chain without PUSH0, where our registries do not run
    if answer != b"\0" + block_hash:
        return 0
    (stored_hash,) = destination.call_contract(HASH_HISTORY, [number.to_bytes(32, "big")])
    return HISTORY_RING if stored_hash == block_hash else BLOCKHASH_WINDOW
