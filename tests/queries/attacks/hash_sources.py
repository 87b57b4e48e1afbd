"""Sources of block hashes: attesting signers with their EIP-712 signatures, and dispute games."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from queries.contracts.abi import call_data
from queries.proving.outputs import output_root
from queries.proving.registry_calls import HORIZON
from tests.rigs.deployed_contracts import DeployedContract

SOURCE_CHAIN = 5
DESTINATION_CHAIN = 31_337
# Other values that a signature may be about.
OTHER_SOURCE, OTHER_DESTINATION = 6, 1
OTHER_REGISTRY = "0x00000000000000000000000000000000000000C3"

SIGNERS: list[LocalAccount] = sorted(
    (Account.from_key(bytes([number]) * 32) for number in range(1, 5)),
    key=lambda signer: int(signer.address, 16),
)
OTHER_SIGNER: LocalAccount = Account.from_key(bytes([99]) * 32)
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def sign(
    signer: LocalAccount, registry: DeployedContract, number: int, block_hash: bytes, **other: Any
) -> bytes:
    """`other` are members of the domain or message that differ from what the registry expects."""
    domain = {
        "name": "Tacitus block hashes",
        "version": "1",
        "chainId": DESTINATION_CHAIN,
        "verifyingContract": registry.address,
    }
    message = {"sourceChainId": SOURCE_CHAIN, "blockNumber": number, "blockHash": block_hash}
    types = {
        "BlockHash": [
            {"name": "sourceChainId", "type": "uint256"},
            {"name": "blockNumber", "type": "uint256"},
            {"name": "blockHash", "type": "bytes32"},
        ]
    }
    for member, value in other.items():
        (domain if member in domain else message)[member] = value
    return bytes(signer.sign_message(encode_typed_data(domain, types, message)).signature)


def signed_by(
    signers: Iterable[LocalAccount], registry: DeployedContract, number: int, block_hash: bytes
) -> list[bytes]:
    return [sign(signer, registry, number, block_hash) for signer in signers]


def attest(number: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    return call_data("attest(uint256,bytes32,bytes[])", number, block_hash, signatures)


def high_s_signature(signature: bytes) -> bytes:
    """The equivalent signature with s in the upper half of the order."""
    s, v = int.from_bytes(signature[32:64], "big"), signature[64]
    return signature[:32] + (_ORDER - s).to_bytes(32, "big") + bytes((55 - v,))


Deploy = Callable[..., DeployedContract]


@dataclass(frozen=True)
class Output:
    """The preimage of a game's root claim."""

    state_root: bytes
    message_passer: bytes
    block_hash: bytes

    @property
    def root(self) -> bytes:
        return output_root(self.state_root, self.message_passer, self.block_hash)


OUTPUT = Output(bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32)


def output_with_hash(block_hash: bytes) -> Output:
    return replace(OUTPUT, block_hash=block_hash)


class Games:
    """The games of a chain, and registries that read them."""

    def __init__(self, deploy: Deploy, chain: int = SOURCE_CHAIN) -> None:
        self._deploy = deploy
        self._contracts = deploy("DisputeGamesStandIn", encode(["uint256"], [chain]))
        self.address = self._contracts.address
        self._count = 0
        self._pass_second()  # games of the one that it was deployed in are retired

    def registry(self, source: int = SOURCE_CHAIN) -> DeployedContract:
        arguments = encode(["uint256", "uint256", "address"], [HORIZON, source, self.address])
        return self._deploy("OutputRegistry", arguments)

    def propose(self, claim: bytes, extra: bytes = b"") -> str:
        self._contracts.send(call_data("propose(uint32,bytes32,bytes)", 0, claim, extra))
        word = self._contracts.ask(call_data("games(uint256)", self._count))
        self._count += 1
        return f"0x{word[12:].hex()}"

    def set_super_roots(self, *, active: bool) -> None:
        """Make the portal one that says whether games claim super roots; older ones do not."""
        self._contracts.send(call_data("setSuperRootsActive(bool)", active))

    def settle(self, game: str, *, valid: bool) -> None:
        """End the game; it counts from the next second on."""
        self._contracts.send(call_data("settle(address,bool)", game, valid))
        self._pass_second()

    def _pass_second(self) -> None:
        self._contracts.node.rpc.ask("evm_increaseTime", "0x1")
        self._contracts.node.rpc.ask("anvil_mine", "0x1")


def record_output(game: str, output: Output, super_root: bytes = b"") -> bytes:
    return call_data(
        "recordOutput(address,bytes,bytes32,bytes32,bytes32)",
        game,
        super_root,
        output.state_root,
        output.message_passer,
        output.block_hash,
    )


class Rollup:
    """The outbox of an Arbitrum chain, and registries that ask it."""

    def __init__(self, deploy: Deploy, chain: int = SOURCE_CHAIN) -> None:
        self._deploy = deploy
        self._contract = deploy("RollupStandIn", encode(["uint256"], [chain]))
        self.address = self._contract.address

    def registry(self, source: int = SOURCE_CHAIN) -> DeployedContract:
        arguments = encode(["uint256", "uint256", "address"], [HORIZON, source, self.address])
        return self._deploy("ArbitrumRegistry", arguments)

    def create(self, send_root: bytes, block_hash: bytes) -> None:
        self._contract.send(call_data("create(bytes32,bytes32)", send_root, block_hash))

    def confirm(self, send_root: bytes, block_hash: bytes) -> None:
        self._contract.send(call_data("confirm(bytes32,bytes32)", send_root, block_hash))
