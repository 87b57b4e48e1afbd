"""A route of each kind of registry: how its source of block hashes goes on, what a user reads until
then, and what a prover has to send.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, ClassVar

from eth_account import Account as Key

from queries.attestations.body import SignedAttestation
from queries.attestations.records import attest_call
from queries.proving.attestations import BlockAttestation
from queries.proving.beacon import SLOTS_PER_PERIOD
from queries.proving.registry_calls import prove_call
from queries.sources.registry import RegistryKind
from tests.rigs.anvil import DAY, L1_BLOCK, Chain
from tests.rigs.beacon_node import BeaconNode, BeaconRig
from tests.rigs.faulty_node import Node
from tests.rigs.rollups import Assertions, DisputeGames
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    HORIZON,
    SIGNER,
    VALID_UNTIL,
    Service,
    accounts,
    request,
)
from tests.scenarios.fixtures import Install

DESTINATION, SOURCE, OLD_SOURCE = 31337, 1337, 1338
AGE = 5 * DAY  # of the chains
OLD_BLOCKS = 600  # of the source without EIP-2935
PROVE = f"0x{prove_call([])[:4].hex()}"
ATTESTERS = sorted(
    (Key.from_key(f"0x{32 * f'{number:02x}'}") for number in (1, 2, 3)),
    key=lambda attester: int(attester.address, 16),
)
THRESHOLD = 2
PERIODS = 12  # of a sync committee, before the checkpoint
MAX_AGE = 10 * SLOTS_PER_PERIOD  # seconds, as slots have one


class SourceCase(ABC):
    """A route of one kind in a service with two provers."""

    kind: ClassVar[RegistryKind]
    is_of_own_past: ClassVar[bool] = False
    # What a batch waits for while its block's hash cannot be known: a code, and a part of the
    # sentence. It waits in this step.
    wait_code: ClassVar[str]
    wait_words: ClassVar[str]
    waits_in: ClassVar[str] = "BLOCKHASH_AVAILABLE"
    # What the batch's page says of who has to vouch for the hash.
    awaited_words: ClassVar[str]
    # How many transactions make a block known, before the one that proves it.
    preparations: ClassVar[int] = 1
    # A known block so far above is reached by so many hops.
    distance: ClassVar[int] = 50
    hops: ClassVar[int] = 1
    # The readiness of a block that neither headers nor hops reach; empty if no local node has one.
    far_readiness: ClassVar[str] = "OUT_OF_REACH"
    # What `check_setup` prints: about this route, and about a broken one.
    setup_words: ClassVar[str]
    broken_words: ClassVar[str]
    # What `publish_proof` has to be given besides the destination's node, to prove a block so far
    # before a known one.
    publish_option: ClassVar[str] = "--source-node URL"
    publish_distance: ClassVar[int] = 20

    def __init__(
        self, service: Service, source: Chain, destination: Chain, *, is_verifiable: bool
    ) -> None:
        """Add the source and the route to the service. `is_verifiable` is whether the registry's
        address proves its code; two of the same arguments would have the same address.
        """
        self.service, self.source, self.destination = service, source, destination
        self.route = (source.id, destination.id)
        self.open = ExitStack()
        self.add_source()
        self.registry = service.add_registry(
            self.kind, source, destination, by_factory=is_verifiable, **self.settings
        )

    def close(self) -> None:
        self.open.close()

    # What differs between kinds

    def add_source(self) -> None:
        self.service.add_chain(self.source, finality=2)

    @property
    def settings(self) -> dict[str, Any]:
        """Members of the route that only this kind has."""
        return {}

    def new_block(self) -> int:
        """A new block that is final, and whose hash the registry cannot know yet."""
        return self.source.mine(20) - 10

    @abstractmethod
    def make_known(self, block: int) -> None:
        """Let the registry, or a prover, learn the block's hash."""

    @abstractmethod
    def deploy_another(self) -> str:
        """Deploy another registry of this source. It knows, or the command `publish_proof` can
        make it know, the block that was made known last.
        """

    @property
    def publish_nodes(self) -> list[str]:
        """The nodes that `publish_proof` needs besides the destination's."""
        return ["--source-node", self.source.url]

    @abstractmethod
    def broken_route(self) -> dict[str, str]:
        """What to replace in the routes file, so that the registry cannot learn hashes."""

    @property
    @abstractmethod
    def trusted(self) -> list[str]:
        """Whom the registry's page says one trusts."""

    @property
    def vouchers(self) -> list[str]:
        """Who the page of a batch says has vouched for its hash."""
        return [self.awaited_words]

    # What users and observers of the chain see

    def data(self, block: int) -> dict[Any, Any]:
        return {self.source.id: {block: accounts(HOLDER)}}

    def submit(self, block: int, **more: Any) -> str:
        return self.service.submit(self.data(block), to=self.destination.id, **more)

    def estimate(self, block: int) -> dict[str, Any]:
        """The estimate of a batch; empty while the server has not seen the block."""
        body = request(self.data(block), to=self.destination.id)
        answer: dict[str, Any] = self.service.post("/estimate", body).json()
        assert "blocks" in answer or answer["retryable"], answer
        return answer if "blocks" in answer else {}

    def prove(self, block: int) -> str:
        """Submit a batch, and wait until it is DONE and its balance is on chain."""
        batch = self.submit(block)
        self.service.wait(batch)
        assert self.balance(block) == HOLDER_BALANCE
        return batch

    def balance(self, block: int) -> int:
        return self.service.field(HOLDER, block, BALANCE, route=self.route)

    def is_proven(self, block: int) -> bool:
        return self.service.is_proven(HOLDER, block, route=self.route)

    def sent_since(self, head: int) -> list[dict[str, Any]]:
        """The provers' transactions after this block of the destination."""
        return self.destination.transactions_of(SIGNER, since=head + 1)

    def preparations_since(self, head: int) -> list[dict[str, Any]]:
        return [sent for sent in self.sent_since(head) if not sent["input"].startswith(PROVE)]

    def cost_since(self, head: int) -> int:
        return sum(self.destination.cost(sent["hash"]) for sent in self.sent_since(head))


class NativeCase(SourceCase):
    """A chain on itself. Its contracts know a block once there is another one."""

    kind = RegistryKind.NATIVE
    is_of_own_past = True
    wait_code, wait_words = "block_not_final", "is not final yet"
    waits_in = "INITIAL_STATE"
    awaited_words = "No one: the contract reads block hashes from"
    preparations = 0
    distance, hops = 300, 0  # EIP-2935 has the last 8,191 hashes
    setup_words = "sees 8,191 blocks"
    broken_words = f"Contracts on Chain {DESTINATION} do not see its own block hashes."
    publish_option = ""

    def add_source(self) -> None:
        self.service.add_chain(self.source)

    def new_block(self) -> int:
        return self.source.mine()

    def make_known(self, block: int) -> None:
        self.source.mine(max(block + 1 - self.source.head, 0))

    def deploy_another(self) -> str:
        return self.destination.deploy("NativeRegistry", ["uint256"], [HORIZON])

    @property
    def publish_nodes(self) -> list[str]:
        return []

    def broken_route(self) -> dict[str, str]:
        """As on Arbitrum, whose EVM has other hashes; a local node's are always right."""
        node = self.open.enter_context(closing(Node(self.source)))

        def hide_hash(params: list[Any], result: Any) -> Any:
            return result if "to" in params[0] else f"0x{bytes(33).hex()}"

        node.falsify("eth_call", hide_hash)
        return {self.source.url: node.url}

    @property
    def trusted(self) -> list[str]:
        return ["No one: the contract reads block hashes from"]


class OptimismCase(SourceCase):
    """An L1 on its OP-stack chain, whose L1Block contract has the newest block."""

    kind = RegistryKind.OPTIMISM
    wait_code, wait_words = "hash_not_recorded", "does not know the hash of this block or of a"
    awaited_words = "alone: its own L1Block contract gives the registry the hash"
    setup_words = f"sees Chain {SOURCE} up to block"
    broken_words = f"Chain {SOURCE} is not an OP-stack chain (no code at {L1_BLOCK})"

    def make_known(self, block: int) -> None:
        self.destination.set_l1_block(self.source, block)

    def deploy_another(self) -> str:
        return self.destination.deploy("OptimismRegistry", ["uint256"], [HORIZON])

    def broken_route(self) -> dict[str, str]:
        """The other way round: the L1 is not an OP-stack chain."""
        ends = "source = {}\ndestination = {}".format
        registry = self.source.deploy("OptimismRegistry", ["uint256"], [HORIZON], by_factory=True)
        return {ends(*self.route): ends(*reversed(self.route)), self.registry: registry}

    @property
    def trusted(self) -> list[str]:
        return ["alone: its own L1Block contract gives the registry the hash of the newest L1"]


class RollupCase(SourceCase):
    """A rollup on its L1, whose contracts accept claims about its blocks."""

    wait_code = "output_not_recorded"
    member: ClassVar[str]  # of the route, with the address of the contracts
    contracts: DisputeGames | Assertions

    @abstractmethod
    def deploy_contracts(self) -> DisputeGames | Assertions:
        """Deploy the rollup's contracts."""

    @abstractmethod
    def claim(self, block: int) -> None:
        """Have the contracts accept a claim about the block."""

    def make_known(self, block: int) -> None:
        """No claim is made before its block."""
        self.destination.reach_time(int(self.source.header(block)["timestamp"], 16) + 1)
        self.claim(block)

    def add_source(self) -> None:
        super().add_source()
        self.contracts = self.deploy_contracts()

    @property
    def settings(self) -> dict[str, Any]:
        return {self.member: self.contracts.address}

    def deploy_for(self, contracts: str, *, by_factory: bool) -> str:
        types, values = ["uint256", "uint256", "address"], [HORIZON, self.source.id, contracts]
        name = f"{self.kind.capitalize()}Registry"
        return self.destination.deploy(name, types, values, by_factory=by_factory)

    def deploy_another(self) -> str:
        return self.deploy_for(self.contracts.address, by_factory=False)

    def broken_route(self) -> dict[str, str]:
        """Contracts that are gone; a registry cannot be deployed without them."""
        contracts = self.deploy_contracts().address
        registry = self.deploy_for(contracts, by_factory=True)
        self.destination.rpc("anvil_setCode", contracts, "0x")
        return {self.registry: registry, self.contracts.address: contracts}


class OutputCase(RollupCase):
    kind = RegistryKind.OUTPUT
    wait_words = "dispute game that covers the block"
    awaited_words = "not yet: a dispute game has to cover the block"
    member = "portal"
    setup_words = "the newest valid game is 0x"
    broken_words = f"on Chain {DESTINATION} is not the portal of a chain that a registry can read"
    contracts: DisputeGames

    def deploy_contracts(self) -> DisputeGames:
        return DisputeGames(self.source, self.destination)

    def claim(self, block: int) -> None:
        self.contracts.resolve(self.contracts.propose(block))

    @property
    def trusted(self) -> list[str]:
        return [self.contracts.address, "its dispute games, its guardian"]

    @property
    def vouchers(self) -> list[str]:
        return ["the dispute game 0x", "about block"]


class ArbitrumCase(RollupCase):
    """Its registry asks the outbox while it proves, so nothing is recorded first."""

    kind = RegistryKind.ARBITRUM
    wait_words = "An assertion that covers the block is expected to be confirmed from"
    awaited_words = "not yet: an assertion has to cover the block"
    preparations = 0
    # Headers of local nodes have a random number where Arbitrum's have its version, by which all
    # blocks would have EIP-2935.
    far_readiness = ""
    member = "outbox"
    setup_words = "the newest confirmed assertion is 0x"
    broken_words = f"on Chain {DESTINATION} is not the outbox of a chain that a registry can read"
    contracts: Assertions

    def deploy_contracts(self) -> Assertions:
        return Assertions(self.source, self.destination)

    def claim(self, block: int) -> None:
        self.contracts.create(block)
        self.contracts.confirm(block)

    @property
    def trusted(self) -> list[str]:
        return [self.contracts.address, "its confirmed assertions, its security council"]

    @property
    def vouchers(self) -> list[str]:
        return ["its confirmed assertions", "The proof begins with the hash of block"]


class BeaconCase(SourceCase):
    """A chain whose sync committees sign that blocks are final. The destination takes a signature
    once its own time is that of the signature's slot.
    """

    kind = RegistryKind.BEACON
    wait_code = "update_pending"
    wait_words = "The newest block that its sync committee has shown to be final is of"
    awaited_words = "not yet: the sync committee of period"
    setup_words = "knows the sync committees until"
    broken_words = "refuses all updates"
    publish_option = "--beacon-node URL"

    def add_source(self) -> None:
        self.source.mine(20)
        self.rig = BeaconRig(self.source, age=PERIODS * SLOTS_PER_PERIOD)
        self.node = self.open.enter_context(closing(BeaconNode(self.rig)))
        self.checkpoint = self.rig.checkpoint(10)
        settings = self.rig.settings(self.node, checkpoint=self.checkpoint)
        self.service.add_chain(self.source, **settings)
        self.service.add_beacon_chain(self.source, self.rig)

    @property
    def settings(self) -> dict[str, Any]:
        return {"rig": self.rig, "checkpoint": self.checkpoint, "max_age": MAX_AGE}

    def new_block(self) -> int:
        block = self.source.mine(20, seconds=5) - 10
        self.rig.finalize(block)
        return block

    def make_known(self, block: int) -> None:
        slot = self.rig.finalize(block)
        self.destination.reach_time(self.rig.facts.start_of(slot + 2))

    def deploy_another(self) -> str:
        return self._deploy(self.checkpoint, by_factory=False)

    def _deploy(self, checkpoint: str, *, by_factory: bool) -> str:
        types, values = self.rig.constructor_arguments(checkpoint, MAX_AGE)
        types, values = ["uint256", "uint256", *types], [HORIZON, self.source.id, *values]
        return self.destination.deploy("BeaconRegistry", types, values, by_factory=by_factory)

    @property
    def publish_nodes(self) -> list[str]:
        return [*super().publish_nodes, "--beacon-node", self.node.url]

    def broken_route(self) -> dict[str, str]:
        """It begins with a committee of long ago."""
        old = f"0x{self.rig.stand_in.make_block(5, bytes(32)).root.hex()}"
        return {self.registry: self._deploy(old, by_factory=True), self.checkpoint: old}

    @property
    def trusted(self) -> list[str]:
        return [self.checkpoint, "Two thirds of the 512 validators of a sync committee"]

    @property
    def vouchers(self) -> list[str]:
        return ["512 of 512 validators, the sync committee of period"]


class AttestedCase(SourceCase):
    """Any chain on any other: two of three signers attest a block."""

    kind = RegistryKind.ATTESTED
    wait_code, wait_words = "not_attested", "Too few signers have attested a block at or above"
    awaited_words = f"not yet: {THRESHOLD} of these must sign"
    far_readiness = "NOT_KNOWN"  # the signers may still attest older blocks
    publish_distance = 2  # without a database it does not know which later blocks are attested
    setup_words = f"takes attestations by {THRESHOLD} of {len(ATTESTERS)} signers until"
    broken_words = "It has taken no attestations since 2001-09-09T01:46:40Z."
    ENDED = 1_000_000_000

    @property
    def settings(self) -> dict[str, Any]:
        return {"signers": [attester.address for attester in ATTESTERS], "threshold": THRESHOLD}

    def attestations(self, registry: str, block: int) -> list[SignedAttestation]:
        block_hash = bytes.fromhex(self.source.header(block)["hash"][2:])
        attestation = BlockAttestation(*self.route, bytes.fromhex(registry[2:]), block, block_hash)
        return [
            SignedAttestation(attestation, attester.unsafe_sign_hash(attestation.digest).signature)
            for attester in ATTESTERS[:THRESHOLD]
        ]

    def make_known(self, block: int) -> None:
        """Import the signers' lines, as an operator does."""
        lines = [entry.line() for entry in self.attestations(self.registry, block)]
        file = self.service.folder / "attestations.jsonl"
        file.write_text("\n".join(lines))
        self.service.manage("attest", "--import", str(file))
        self.last_known = block

    def deploy_another(self) -> str:
        registry = self._deploy(VALID_UNTIL, by_factory=False)
        entries = self.attestations(registry, self.last_known)
        signatures = [entry.signature for entry in entries]
        call = attest_call(self.last_known, entries[0].attestation.block_hash, signatures)
        self.destination.send(registry, f"0x{call.hex()}")
        return registry

    def _deploy(self, valid_until: int, *, by_factory: bool) -> str:
        types = ["uint256", "uint256", "address[]", "uint256", "uint256"]
        signers = [attester.address for attester in ATTESTERS]
        values = [HORIZON, self.source.id, signers, THRESHOLD, valid_until]
        return self.destination.deploy("AttestedRegistry", types, values, by_factory=by_factory)

    def broken_route(self) -> dict[str, str]:
        threshold = f"threshold = {THRESHOLD}"
        ended = f"{threshold}\nvalid_until = 2001-09-09T01:46:40Z"
        return {self.registry: self._deploy(self.ENDED, by_factory=True), threshold: ended}

    @property
    def trusted(self) -> list[str]:
        return [attester.address for attester in ATTESTERS]

    @property
    def vouchers(self) -> list[str]:
        return [f"{' '.join(self.trusted[:THRESHOLD])} signed block {self.last_known:,}"]


CASES = {
    case.kind: case
    for case in (NativeCase, OptimismCase, OutputCase, ArbitrumCase, BeaconCase, AttestedCase)
}


@contextmanager
def running_case(kind: str, install: Install) -> Iterator[tuple[SourceCase, SourceCase]]:
    """Yield a route of this kind, and one from a source without EIP-2935 in the same service."""
    case_class = CASES[RegistryKind(kind)]
    with ExitStack() as stack:

        def start(chain: int, **options: Any) -> Chain:
            return stack.enter_context(closing(Chain(chain, **options)))

        destination = start(DESTINATION, age=AGE)
        source = destination if case_class.is_of_own_past else start(SOURCE, age=AGE)
        old = start(OLD_SOURCE, age=AGE + DAY // 12, hardfork="cancun")
        service = stack.enter_context(install())
        service.set_limits(
            poll_interval=0.5, check_interval=2, max_cooldown=1, max_retry_delay=1, update_wait=0,
            resend_after=1,
        )  # fmt: skip
        if not case_class.is_of_own_past:
            service.add_chain(destination)
        case = case_class(service, source, destination, is_verifiable=True)
        stack.callback(case.close)
        old_destination = old if case_class.is_of_own_past else destination
        old_case = case_class(service, old, old_destination, is_verifiable=False)
        stack.callback(old_case.close)
        old.mine(OLD_BLOCKS, seconds=1)
        service.serve()
        for _ in range(2):  # provers, which must not send the same preparation twice
            service.prove()
        yield case, old_case
