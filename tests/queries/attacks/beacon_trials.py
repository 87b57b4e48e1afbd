"""Updates and deployments of BeaconRegistry, and whether it refuses them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from py_arkworks_bls12381 import G2Point, Scalar

from explorer.demo.beacon_stand_in import BeaconStandIn, Members
from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.proving.beacon import SLOTS_PER_PERIOD, Bootstrap, Update, begin_call, update_call
from queries.proving.ssz import WORD, ZERO
from queries.proving.sync_committees import HASH_DOMAIN
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    DENEB,
    MAX_AGE,
    STAND_IN,
    chain_at,
    checkpoint_at,
    committee_call,
    committee_of,
    recorded_call,
    registry_arguments,
    update_at,
    update_parts,
)
from tests.queries.attacks.registry_attacks import IGNORED
from tests.rigs.deployed_contracts import DeployedContract, error_name

NAME = "BeaconRegistry"
FIELD_ORDER = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    16,
)
CURVE_ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
COORDINATE = 48

CHECKPOINT, FINALIZED = DENEB + 32, DENEB + 100
PERIOD = DENEB // SLOTS_PER_PERIOD
NEXT_PERIOD = (PERIOD + 1) * SLOTS_PER_PERIOD  # its first slot
FOREIGN = BeaconStandIn(CHAIN, b"committees of others")
LIE = b"\x66" * WORD

Parts = dict[str, bytes]


@dataclass(frozen=True)
class Deployer:
    """Deploys this build of the registry, or the committed one."""

    node: LocalNode
    bytecode: bytes | None = None

    def __call__(self, arguments: bytes) -> DeployedContract:
        return DeployedContract(self.node, NAME, arguments, self.bytecode)

    def refusal(self, arguments: bytes) -> str:
        """The error of a deployment; an empty text if it succeeds."""
        try:
            self(arguments)
        except TransactionRevertedError as error:
            return error_name(NAME, error.data)
        return ""


Run = Callable[[Deployer], str]


@dataclass(frozen=True)
class BeaconAttack:
    """`run` returns the error of the refusal, or an empty text if the attack succeeds."""

    run: Run
    refusal: str


# Updates


@dataclass(frozen=True)
class Trial:
    """The parts of an update, and the registry that gets it."""

    parts: Parts
    before: Sequence[Update] = ()  # honest ones
    now: int = 0  # a slot that has begun; that of the signature if zero
    max_age: int = MAX_AGE
    checkpoint: Bootstrap = field(default_factory=lambda: checkpoint_at(CHECKPOINT))

    def run(self, deployer: Deployer) -> str:
        """The error of the refusal; an empty text if the hash and the committee are recorded."""
        now = self.now or int.from_bytes(self.parts["signature_slot"])
        registry = registry_of(deployer, now, self.max_age, self.checkpoint.header.root)
        before = [update_call(update, committee_of(update)) for update in self.before]
        period = int.from_bytes(self.parts["attested"][:8]) // SLOTS_PER_PERIOD
        reads = [recorded_call(self.parts["block_hash"]), committee_call(period + 1)]
        *accepted, sent, is_recorded, committee = registry.simulate(
            [begin_call(self.checkpoint), *before, b"".join(self.parts.values()), *reads]
        )
        assert all(call.success for call in accepted)
        if not sent.success:
            return error_name(NAME, sent.data)
        is_lie = any(is_recorded.data) and self.parts["next_committee"] in {ZERO, committee.data}
        return "" if is_lie else IGNORED


@cache
def registry_of(deployer: Deployer, now: int, max_age: int, checkpoint: bytes) -> DeployedContract:
    chain = chain_at(deployer.node, now)
    return deployer(registry_arguments(chain, checkpoint, max_age=max_age))


def honest(absent: Sequence[int] = (), *, with_committee: bool = False) -> Parts:
    update = update_at(FINALIZED, absent=tuple(absent), with_committee=with_committee)
    return parts_of(update)


def parts_of(update: Update, members: Members | None = None) -> Parts:
    """The parts of its calldata, with the committee of these members or of its period."""
    return update_parts(update, members.committee if members else committee_of(update))


def signed(update: Update, message: bytes | None = None, members: Members | None = None) -> Update:
    """The update with a new signature."""
    if message is None:
        message = CHAIN.signing_root(update.attested.root, update.signature_slot)
    members = members or STAND_IN.members(update.period)
    return replace(update, signature=members.sign(message, update.absent))


def signed_by_secret(parts: Parts, update: Update, secret: int) -> Parts:
    message = CHAIN.signing_root(update.attested.root, update.signature_slot)
    scalar = Scalar.from_be_bytes_mod_order((secret % CURVE_ORDER).to_bytes(WORD))
    point = G2Point.hash_to_curve(message, HASH_DOMAIN) * scalar
    return parts | {"signature": point.to_xy_bytes_be()}


def negated(key: bytes) -> bytes:
    """The point with the other y."""
    return key[:COORDINATE] + (FIELD_ORDER - y_of(key)).to_bytes(COORDINATE)


def y_of(key: bytes) -> int:
    return int.from_bytes(key[COORDINATE:])


def with_x(key: bytes, change: Callable[[int], int]) -> bytes:
    x = int.from_bytes(key[:COORDINATE])
    return change(x).to_bytes(COORDINATE) + key[COORDINATE:]


def with_y(key: bytes, change: Callable[[int], int]) -> bytes:
    return key[:COORDINATE] + change(y_of(key)).to_bytes(COORDINATE)


def honest_next_committee() -> Update:
    """An update that brings the second period's committee."""
    return update_at(FINALIZED, with_committee=True)
