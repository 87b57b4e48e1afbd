"""Local chains with a registry that knows the hash of a recorded block."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.abi import call_data, load_artifact
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from tests.bench.corpus import RecordedBlock
from tests.builds import artifact
from tests.rigs.deployed_contracts import HORIZON_WORD
from tests.rigs.registry_reads import RegistryReads

BLOCK_HASHES = "0x0000F90827F1C53a10cb7A02335B175320002935"
BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
RING = 8191  # entries in both contracts
# EIP-4788's contract, which the local node lacks: https://eips.ethereum.org/EIPS/eip-4788
BEACON_ROOTS_CODE = (
    "0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560"
    "495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff420642"
    "81555f359062001fff015500"
)
# More than the 256 blocks of BLOCKHASH, so that the history contract is asked, and too few for the
# node to overwrite its entries.
BLOCKS_AHEAD = 300
SECONDS_PER_BLOCK = 12

# For a block without a recorded header: realistic values, because these bytes are sent.
_USUAL_NUMBER = 21_925_176
_USUAL_TIMESTAMP = 1_740_450_000


class RegistryKind(Enum):
    NATIVE = "NativeRegistry"
    SETTABLE = "SettableRegistry"
    SETTABLE_BY_HASH = "SettableRegistry, accounts by hash"


@dataclass(frozen=True, slots=True)
class BlockWords:
    """The four words of an accumulated block."""

    number: int
    timestamp: int
    hash: bytes
    state_root: bytes

    @property
    def leaf(self) -> bytes:
        words = (self.number.to_bytes(32, "big"), self.timestamp.to_bytes(32, "big"))
        return keccak256(b"".join((*words, self.hash, self.state_root)))


def block_words(block: RecordedBlock) -> BlockWords:
    header = block.header
    if header is not None:
        return BlockWords(header.number, header.timestamp, header.hash, header.state_root)
    number = _USUAL_NUMBER if block.number is None else block.number
    return BlockWords(number, _USUAL_TIMESTAMP, keccak256(block.state_root), block.state_root)


@dataclass(frozen=True, slots=True)
class MeasuringChain:
    """A node, and a registry on it that knows a block's hash."""

    node: LocalNode
    registry: str
    kind: RegistryKind
    block: RecordedBlock

    @property
    def reads(self) -> RegistryReads:
        return RegistryReads(lambda data: self.node.call(self.registry, data))

    def accumulate(self) -> None:
        """Accumulate the block, by its header if one was recorded."""
        if self.block.header is not None:
            step = SectionHeader(self.block.header, accumulate=True)
            self.node.send(self.registry, prove_call([headers_section([step])]))
            return
        words = block_words(self.block)
        signature = "setAccumulated(uint256,uint256,bytes32,bytes32)"
        call = call_data(signature, words.number, words.timestamp, words.hash, words.state_root)
        self.node.send(self.registry, call)


@contextmanager
def native_chain(block: RecordedBlock) -> Iterator[MeasuringChain]:
    """The block's own chain, some blocks later, with a native registry."""
    header = block.header
    if header is None:
        raise ValueError("a native registry needs the block's header")
    options = (
        "--steps-tracing",
        "--number", str(header.number + BLOCKS_AHEAD),
        "--timestamp", str(header.timestamp + BLOCKS_AHEAD * SECONDS_PER_BLOCK),
    )  # fmt: skip
    with local_node(*options) as node:
        _set_storage(node, BLOCK_HASHES, header.number % RING, header.hash)
        if header.number > 0:
            _set_storage(node, BLOCK_HASHES, (header.number - 1) % RING, header.parent_hash)
        if header.has_field(HeaderField.PARENT_BEACON_BLOCK_ROOT):
            node.rpc.ask("anvil_setCode", BEACON_ROOTS, BEACON_ROOTS_CODE)
            place = header.timestamp % RING
            _set_storage(node, BEACON_ROOTS, place, header.timestamp.to_bytes(32, "big"))
            _set_storage(node, BEACON_ROOTS, place + RING, _beacon_root(header))
        registry = node.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
        yield MeasuringChain(node, registry, RegistryKind.NATIVE, block)


def settable_chain(node: LocalNode, block: RecordedBlock, kind: RegistryKind) -> MeasuringChain:
    """A registry with the hashes that a native one would find on its chain, set by hand."""
    by_hash = kind is RegistryKind.SETTABLE_BY_HASH
    arguments = encode(["bool", "bool"], [by_hash, False])
    registry = node.deploy(artifact("SettableRegistry").bytecode, arguments)
    words = block_words(block)
    known = {words.number: words.hash}
    if block.header is not None:
        if words.number > 0:
            known[words.number - 1] = block.header.parent_hash
        if block.header.has_field(HeaderField.PARENT_BEACON_BLOCK_ROOT):
            known[words.timestamp] = _beacon_root(block.header)
    for place, hash_ in known.items():
        node.send(registry, call_data("setHash(uint256,bytes32)", place, hash_))
    return MeasuringChain(node, registry, kind, block)


def _beacon_root(header: Header) -> bytes:
    return header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)


def _set_storage(node: LocalNode, contract: str, place: int, word: bytes) -> None:
    node.rpc.ask("anvil_setStorageAt", contract, hex(place), f"0x{word.hex()}")
