"""A source and a destination chain with an Optimism or an attested route."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from eth_abi.abi import encode
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, local_node
from queries.attestations.body import SignedAttestation
from queries.chain.signer import Signer
from queries.config.chains import Chain, NodeAddress
from queries.contracts.abi import call_data, load_artifact
from queries.proving.attestations import BlockAttestation
from queries.proving.registry_calls import HORIZON
from queries.sources.attested import VALID_UNTIL, AttestedRegistry
from queries.sources.optimism import OptimismRegistry
from queries.sources.reader import L1_BLOCK
from queries.sources.registry import Registry
from queries.sources.routes import Routes
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, SIGNER_KEY, Service, serving
from tests.rigs.deployed_contracts import HORIZON_WORD
from tests.rigs.registry_reads import RegistryReads

SOURCE = 1_337
SIGNERS = sorted(
    (Signer("0x" + 32 * f"{n:02x}") for n in (1, 2, 3)), key=lambda s: s.address.lower()
)


@dataclass(frozen=True)
class TwoChains:
    """A source and a destination chain."""

    source: LocalNode
    destination: LocalNode

    def routes(self, registry: Registry) -> Routes:
        chains = {
            SOURCE: Chain(SOURCE, "Source", (NodeAddress(self.source.url),), finality=2),
            CHAIN_ID: Chain(
                CHAIN_ID, "Local", (NodeAddress(self.destination.url),), finality=0, free=True
            ),
        }
        return Routes(chains, {(SOURCE, CHAIN_ID): registry})

    def deploy(self, name: str, arguments: bytes = b"") -> str:
        code = load_artifact(name).bytecode + (arguments or HORIZON_WORD)
        return to_checksum_address(self.destination.deploy(code))

    def final_block(self) -> int:
        self.source.rpc.ask("anvil_mine", "0x4", "0x2")
        return int(self.source.rpc.ask("eth_blockNumber"), 16) - 2

    def header(self, block: int) -> dict[str, str]:
        (answer,) = self.source.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
        assert isinstance(answer, dict)
        return answer

    def hash_of(self, block: int) -> bytes:
        return bytes.fromhex(self.header(block)["hash"][2:])

    def set_l1_block(self, block: int) -> None:
        data = call_data("set(uint64,bytes32)", block, self.hash_of(block))
        self.destination.send(L1_BLOCK, data)

    @contextmanager
    def serving_optimism(self) -> Iterator[Service]:
        code = load_artifact("L1BlockStandIn").deployed_bytecode
        self.destination.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")
        address = self.deploy("OptimismRegistry")
        registry = OptimismRegistry(SOURCE, CHAIN_ID, address)
        with serving(self.destination, self.routes(registry)) as running:
            yield running

    def attested_registry(self) -> Registry:
        addresses = [signer.address for signer in SIGNERS]
        words = [HORIZON, SOURCE, addresses, 2, VALID_UNTIL]
        arguments = encode(["uint256", "uint256", "address[]", "uint256", "uint256"], words)
        return AttestedRegistry(
            SOURCE,
            CHAIN_ID,
            self.deploy("AttestedRegistry", arguments),
            signers=tuple(addresses),
            threshold=2,
        )

    @contextmanager
    def serving_attested(self) -> Iterator[Service]:
        with serving(self.destination, self.routes(self.attested_registry())) as running:
            yield running


@contextmanager
def two_chains() -> Iterator[TwoChains]:
    """`HOLDER` has 55 ether on the source."""
    with ExitStack() as stack:
        source = stack.enter_context(local_node("--chain-id", str(SOURCE)))
        destination = stack.enter_context(local_node())
        source.rpc.ask("anvil_setBalance", HOLDER, hex(55 * ETHER))
        destination.rpc.ask("anvil_setBalance", Key.from_key(SIGNER_KEY).address, hex(99 * ETHER))
        yield TwoChains(source, destination)


def sign_attestation(
    service: Service, chains: TwoChains, signer: Signer, block: int
) -> SignedAttestation:
    registry = bytes.fromhex(service.routes.registries[SOURCE, CHAIN_ID].address[2:])
    attestation = BlockAttestation(SOURCE, CHAIN_ID, registry, block, chains.hash_of(block))
    return SignedAttestation(attestation, signer.sign_digest(attestation.digest))


def ask_balance(service: Service, block: int) -> str:
    entry = {"header": ["TIMESTAMP"], "accounts": {HOLDER: {"props": ["BALANCE"]}}}
    return service.submit({str(SOURCE): {f"block:{block}": entry}})


def assert_proven(service: Service, chains: TwoChains, batch: str, block: int) -> None:
    assert service.status(batch)["queryStatus"] == "DONE"
    registry = service.routes.registries[SOURCE, CHAIN_ID].address
    reads = RegistryReads(lambda data: chains.destination.call(registry, data))
    word = reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
    assert word is not None
    assert int.from_bytes(word) == 55 * ETHER
