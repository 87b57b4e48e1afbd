"""Attacks on BeaconRegistry: calls that would record a false hash or committee."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count

from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from explorer.demo.beacon_stand_in import BeaconStandIn, Members, StandInBlock, branch_at
from queries.proving.beacon import (
    DOMAIN_SYNC_COMMITTEE,
    BeaconHeader,
    FinalizedBlock,
    begin_call,
    deneb,
    update_call,
)
from queries.proving.ssz import WORD, ZERO, hash_pair
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE, SyncCommittee
from tests.queries.attacks.beacon_setup_attacks import SETUP_ATTACKS
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    DENEB,
    ELECTRA,
    FORKS,
    GLOAS,
    MAX_AGE,
    SEED,
    STAND_IN,
    checkpoint_at,
    committee_of,
    contradict_call,
    update_at,
)
from tests.queries.attacks.beacon_trials import (
    CHECKPOINT,
    COORDINATE,
    CURVE_ORDER,
    FIELD_ORDER,
    FINALIZED,
    FOREIGN,
    LIE,
    NEXT_PERIOD,
    PERIOD,
    BeaconAttack,
    Deployer,
    Parts,
    Run,
    Trial,
    honest,
    honest_next_committee,
    negated,
    parts_of,
    registry_of,
    signed,
    signed_by_secret,
    with_x,
    with_y,
    y_of,
)
from tests.queries.attacks.registry_attacks import simulated_error
from tests.rigs.deployed_contracts import DeployedContract

BEACON_ATTACKS: dict[str, BeaconAttack] = {**SETUP_ATTACKS}


def update_attack(refusal: str) -> Callable[[Callable[[], Trial]], Callable[[], Trial]]:
    def register(trial: Callable[[], Trial]) -> Callable[[], Trial]:
        def run(deployer: Deployer) -> str:
            return trial().run(deployer)

        BEACON_ATTACKS[trial.__name__] = BeaconAttack(run, refusal)
        return trial

    return register


def setup_attack(refusal: str) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        BEACON_ATTACKS[run.__name__] = BeaconAttack(run, refusal)
        return run

    return register


# The committee


@update_attack("NotTheCommittee")
def a_foreign_committee() -> Trial:
    update = update_at(FINALIZED, source=FOREIGN)
    return Trial(parts_of(update, FOREIGN.members(PERIOD)))


@update_attack("SignatureInvalid")
def a_signature_by_others_under_the_committees_name() -> Trial:
    update = update_at(FINALIZED, source=FOREIGN)
    return Trial(parts_of(update, STAND_IN.members(PERIOD)))


@update_attack("NotTheCommittee")
def the_old_committee_in_the_next_period() -> Trial:
    old = STAND_IN.members(PERIOD)
    update = signed(update_at(NEXT_PERIOD + 100), members=old)
    return Trial(parts_of(update, old), [honest_next_committee()])


@update_attack("NotTheCommittee")
def the_old_committee_in_the_first_slot_of_the_next_period() -> Trial:
    """The attested block is still of the old one's period."""
    old = STAND_IN.members(PERIOD)
    update = signed(update_at(NEXT_PERIOD - 65), members=old)
    assert update.signature_slot == update.attested.slot + 1 == NEXT_PERIOD
    return Trial(parts_of(update, old), [honest_next_committee()])


@update_attack("CommitteeNotKnown")
def a_period_whose_committee_is_unknown() -> Trial:
    return Trial(parts_of(update_at(NEXT_PERIOD + 100)))


@update_attack("TooManyAbsent")
def signatures_of_341_members() -> Trial:
    return Trial(honest(range(0, 342, 2)))


@update_attack("TooManyAbsent")
def the_signature_of_nobody() -> Trial:
    zero = {"signature": bytes(192)}
    return Trial(honest(range(SYNC_COMMITTEE_SIZE)) | zero)


@update_attack("NotTheCommittee")
def bits_that_name_another_member() -> Trial:
    parts, signature = honest([4]), honest([5])["signature"]
    members = parts["members"].replace(_absent_key(parts, 4), _negated_key(5))
    return Trial(parts | {"members": members, "signature": signature})


@update_attack("SignatureInvalid")
def bits_that_deny_an_absence() -> Trial:
    return Trial(honest() | {"signature": honest([5])["signature"]})


@update_attack("SignatureInvalid")
def an_absent_member_who_has_signed() -> Trial:
    return Trial(honest([5]) | {"signature": honest()["signature"]})


@update_attack("NotTheCommittee")
def an_absent_member_named_twice() -> Trial:
    """The key also stands in the neighbour's position."""
    parts = honest([4, 5])
    both = b"".join(_absent_key(parts, index) for index in (4, 5))
    return Trial(parts | {"members": parts["members"].replace(both, 2 * _absent_key(parts, 4))})


@update_attack("NotTheCommittee")
def a_key_of_zero_in_place_of_an_absent_members() -> Trial:
    """Then the signature of that member would count."""
    parts = honest([5])
    zeros = parts["members"].replace(_absent_key(parts, 5), bytes(2 * COORDINATE))
    return Trial(parts | {"members": zeros, "signature": honest()["signature"]})


def _absent_key(parts: Parts, index: int) -> bytes:
    key = _negated_key(index)
    assert key in parts["members"]
    return key


def _negated_key(index: int) -> bytes:
    keys = STAND_IN.members(PERIOD).committee.keys
    return bytes((-G1Point.from_compressed_bytes(keys[index])).to_xy_bytes_be())


@cache
def _cancelling_members() -> Members:
    """The keys of all but the last two members add up to zero."""
    pair = [1234567, CURVE_ORDER - 1234567]
    last = [89, 97]
    keys = {secret: _key(secret) for secret in (*pair, *last)}
    secrets = (*(SYNC_COMMITTEE_SIZE // 2 - 1) * pair, *last)
    committee = SyncCommittee(tuple(keys[secret] for secret in secrets), _key(sum(last)))
    return Members(secrets, committee)


def _key(secret: int) -> bytes:
    scalar = Scalar.from_be_bytes_mod_order(secret.to_bytes(WORD))
    return bytes((G1Point() * scalar).to_compressed_bytes())


class CancellingStandIn(BeaconStandIn):
    """Each of its committees has keys that cancel."""

    def members(self, period: int) -> Members:  # noqa: ARG002
        return _cancelling_members()


@update_attack("NobodySigned")
def keys_that_cancel_with_the_zero_signature() -> Trial:
    source = CancellingStandIn(CHAIN)
    update = update_at(
        FINALIZED, absent=(SYNC_COMMITTEE_SIZE - 2, SYNC_COMMITTEE_SIZE - 1), source=source
    )
    parts = parts_of(update, _cancelling_members())
    assert not any(parts["signature"])
    return Trial(parts, checkpoint=checkpoint_at(CHECKPOINT, source))


# Signatures


@update_attack("SignatureInvalid")
def a_negated_signature() -> Trial:
    parts = honest()
    signature = parts["signature"]
    halves = (
        (-int.from_bytes(signature[start : start + COORDINATE])) % FIELD_ORDER
        for start in (2 * COORDINATE, 3 * COORDINATE)
    )
    other = signature[: 2 * COORDINATE] + b"".join(half.to_bytes(COORDINATE) for half in halves)
    return Trial(parts | {"signature": other})


@update_attack("SignatureInvalid")
def the_zero_signature() -> Trial:
    return Trial(honest() | {"signature": bytes(192)})


@update_attack("PrecompileFailed")
def a_signature_outside_the_subgroup() -> Trial:
    points = (bytes((0x80, *bytes(94), number)) for number in count(1))
    for encoded in points:
        try:
            point = G2Point.from_compressed_bytes_unchecked(encoded)
        except ValueError:
            continue
        if not point.is_in_subgroup():
            return Trial(honest() | {"signature": bytes(point.to_xy_bytes_be())})
    raise AssertionError


@update_attack("PrecompileFailed")
def a_signature_off_the_curve() -> Trial:
    signature = honest()["signature"]
    return Trial(honest() | {"signature": signature[:-1] + bytes((signature[-1] ^ 1,))})


@update_attack("SignatureInvalid")
def a_signature_under_another_forks_version() -> Trial:
    """The version of genesis."""
    update = update_at(FINALIZED)
    forks = tuple(replace(fork, version=bytes(4)) for fork in FORKS)
    other = replace(CHAIN, forks=forks)
    message = other.signing_root(update.attested.root, update.signature_slot)
    return Trial(parts_of(signed(update, message)))


@update_attack("SignatureInvalid")
def a_signature_under_the_version_of_its_own_slot() -> Trial:
    """In a fork's first slot, the version of the slot before is signed."""
    update = update_at(ELECTRA - 65)
    assert update.signature_slot == ELECTRA
    message = CHAIN.signing_root(update.attested.root, ELECTRA + 1)
    return Trial(parts_of(signed(update, message)), [honest_next_committee()])


@update_attack("SignatureInvalid")
def a_signature_for_another_beacon_chain() -> Trial:
    update = update_at(FINALIZED)
    other = replace(CHAIN, genesis_validators_root=ZERO)
    message = other.signing_root(update.attested.root, update.signature_slot)
    return Trial(parts_of(signed(update, message)))


@update_attack("SignatureInvalid")
def a_signature_of_another_domain() -> Trial:
    """The domain of proposals."""
    update = update_at(FINALIZED)
    fork_root = hash_pair(FORKS[0].version.ljust(WORD, b"\0"), CHAIN.genesis_validators_root)
    domain = bytes(len(DOMAIN_SYNC_COMMITTEE)) + fork_root[:28]
    return Trial(parts_of(signed(update, hash_pair(update.attested.root, domain))))


@update_attack("SignatureInvalid")
def another_block_hash() -> Trial:
    return Trial(honest() | {"block_hash": LIE})


@update_attack("SignatureInvalid")
def another_finalized_slot() -> Trial:
    finalized = honest()["finalized"]
    slot = int.from_bytes(finalized[:8]) - 1
    return Trial(honest() | {"finalized": slot.to_bytes(8) + finalized[8:]})


@update_attack("SignatureInvalid")
def another_attested_slot() -> Trial:
    attested = honest()["attested"]
    slot = int.from_bytes(attested[:8]) - 1
    return Trial(honest() | {"attested": slot.to_bytes(8) + attested[8:]})


# Points


@update_attack("PrecompileFailed")
def a_sum_whose_x_has_the_bits_of_a_compressed_key() -> Trial:
    """Its leaf is the true one."""
    return Trial(_with_sum(lambda key: with_x(key, lambda x: x | 1 << 383 | 1 << 381)))


@update_attack("PrecompileFailed")
def a_sum_whose_y_is_greater_by_the_order() -> Trial:
    """Both are the greater one of the two y, so the leaf is the true one."""
    return Trial(_with_sum(lambda key: with_y(key, lambda y: y + FIELD_ORDER)))


@update_attack("NotTheCommittee")
def a_sum_whose_x_is_greater_by_the_order() -> Trial:
    return Trial(_with_sum(lambda key: with_x(key, lambda x: x + FIELD_ORDER)))


@update_attack("PrecompileFailed")
def a_sum_off_the_curve() -> Trial:
    return Trial(_with_sum(lambda key: with_y(key, lambda y: y - 1)))


@update_attack("NotTheCommittee")
def a_negated_sum_with_a_negated_signature() -> Trial:
    parts = _with_sum(negated)
    return Trial(parts | {"signature": a_negated_signature().parts["signature"]})


@update_attack("NotTheCommittee")
def a_sum_of_zero() -> Trial:
    return Trial(_with_sum(lambda key: bytes(len(key))) | {"signature": bytes(192)})


def _with_sum(change: Callable[[bytes], bytes]) -> Parts:
    parts = honest()
    assert y_of(parts["sum"]) > FIELD_ORDER // 2
    return parts | {"sum": change(parts["sum"])}


# A member whose negated key has the greater y
ABSENT = 4


@update_attack("PrecompileFailed")
def an_absent_key_whose_x_has_the_bits_of_a_compressed_key() -> Trial:
    return Trial(_with_absent_key(lambda key: with_x(key, lambda x: x | 1 << 383)))


@update_attack("PrecompileFailed")
def an_absent_key_whose_y_is_greater_by_the_order() -> Trial:
    return Trial(_with_absent_key(lambda key: with_y(key, lambda y: y + FIELD_ORDER)))


@update_attack("PrecompileFailed")
def an_absent_key_whose_x_is_greater_by_the_order() -> Trial:
    return Trial(_with_absent_key(lambda key: with_x(key, lambda x: x + FIELD_ORDER)))


@update_attack("PrecompileFailed")
def an_absent_key_off_the_curve() -> Trial:
    return Trial(_with_absent_key(lambda key: with_y(key, lambda y: y - 1)))


@update_attack("NotTheCommittee")
def an_absent_key_added_instead_of_subtracted() -> Trial:
    """The member has signed twice."""
    secrets = STAND_IN.members(PERIOD).secrets
    update = update_at(FINALIZED, absent=(ABSENT,))
    parts = _with_absent_key(negated)
    return Trial(signed_by_secret(parts, update, sum(secrets) + secrets[ABSENT]))


def _with_absent_key(change: Callable[[bytes], bytes]) -> Parts:
    parts, key = honest([ABSENT]), _negated_key(ABSENT)
    assert y_of(key) > FIELD_ORDER // 2
    return parts | {"members": parts["members"].replace(key, change(key))}


# Time


@update_attack("UpdateTooOld")
def an_old_update() -> Trial:
    parts = honest()
    attested = int.from_bytes(parts["attested"][:8])
    return Trial(parts, now=attested + MAX_AGE // CHAIN.seconds_per_slot + 1)


@update_attack("UpdateTooOld")
def an_old_update_with_a_newer_signature_slot() -> Trial:
    """The slot is of the same period, so the signature is valid."""
    slot = NEXT_PERIOD - 1
    parts = honest() | {"signature_slot": slot.to_bytes(8)}
    return Trial(parts, now=slot, max_age=20_000)


@update_attack("SlotsOutOfOrder")
def old_keys_that_sign_a_new_block() -> Trial:
    """The signature's slot, which is not signed, is claimed to be in their period."""
    attested = GLOAS + 500
    finalized = STAND_IN.make_block(attested - 64, LIE)
    update = STAND_IN.update(
        finalized, attested, signature_slot=FINALIZED + 65, with_committee=False
    )
    return Trial(parts_of(update), now=attested + 1, max_age=20_000)


@update_attack("SlotsOutOfOrder")
def a_signature_in_the_slot_of_the_attested_block() -> Trial:
    return Trial(parts_of(update_at(FINALIZED, attested=64, signature=64)))


@update_attack("SlotsOutOfOrder")
def a_finalized_block_after_the_attested_one() -> Trial:
    return Trial(parts_of(update_at(FINALIZED + 80, attested=-10, signature=65)))


@update_attack("SlotNotBegun")
def a_signature_of_a_slot_that_has_not_begun() -> Trial:
    """It begins in an hour, so not while the tests run."""
    hour = 3600 // CHAIN.seconds_per_slot
    return Trial(parts_of(update_at(FINALIZED, signature=65 + hour)), now=FINALIZED + 65)


# Contradictions

OTHER_SLOT = FINALIZED + 1


def _recorded(deployer: Deployer) -> tuple[DeployedContract, list[bytes], tuple[bytes, bytes]]:
    """A registry; the calls by which it records a true hash and a lie for the same slot; and both
    hashes.
    """
    lie = STAND_IN.make_block(FINALIZED, LIE)
    updates = update_at(FINALIZED), STAND_IN.update(lie, FINALIZED + 64, with_committee=False)
    registry = registry_of(
        deployer, OTHER_SLOT + 65, MAX_AGE, checkpoint_at(CHECKPOINT).header.root
    )
    calls = [update_call(update, committee_of(update)) for update in updates]
    true, false = (update.finalized.block_hash for update in updates)
    return registry, [begin_call(checkpoint_at(CHECKPOINT)), *calls], (true, false)


@setup_attack("Contradicted")
def an_update_after_a_contradiction(deployer: Deployer) -> str:
    registry, calls, hashes = _recorded(deployer)
    later = update_at(OTHER_SLOT)
    return simulated_error(
        registry, *calls, contradict_call(*hashes), update_call(later, committee_of(later))
    )


@setup_attack("NotAContradiction")
def a_contradiction_of_one_hash(deployer: Deployer) -> str:
    registry, calls, (true, _) = _recorded(deployer)
    return simulated_error(registry, *calls, contradict_call(true, true))


@setup_attack("NotAContradiction")
def a_contradiction_by_hashes_of_two_slots(deployer: Deployer) -> str:
    registry, calls, (true, _) = _recorded(deployer)
    later = update_at(OTHER_SLOT)
    call = contradict_call(true, later.finalized.block_hash)
    return simulated_error(registry, *calls, update_call(later, committee_of(later)), call)


@setup_attack("NotAContradiction")
def a_contradiction_by_hashes_that_are_not_recorded(deployer: Deployer) -> str:
    registry, calls, _ = _recorded(deployer)
    return simulated_error(registry, *calls, contradict_call(b"\1" * WORD, b"\2" * WORD))


# The next committee


@update_attack("NotTheNextCommittee")
def another_next_committee() -> Trial:
    root = FOREIGN.members(PERIOD + 1).committee.root
    return Trial(honest(with_committee=True) | {"next_committee": root})


@update_attack("NotTheNextCommittee")
def another_next_committee_without_a_branch() -> Trial:
    root = FOREIGN.members(PERIOD + 1).committee.root
    return Trial(honest() | {"next_committee": root})


@update_attack("NotTheNextCommittee")
def the_current_committee_as_the_next_one() -> Trial:
    update = update_at(FINALIZED)
    block = STAND_IN.blocks[update.attested.root]
    branch = b"".join(branch_at(block.state, FORKS[0].current_committee))
    root = committee_of(update).root
    return Trial(honest() | {"next_committee": root, "next_branch": branch})


@update_attack("NextCommitteeNotFinal")
def a_next_committee_that_is_not_final() -> Trial:
    """The finalized block is of the period before."""
    update = update_at(NEXT_PERIOD - 60, with_committee=True)
    assert update.attested.period == update.finalized.beacon.period + 1
    return Trial(parts_of(update), [honest_next_committee()])


@update_attack("AnotherCommitteeKnown")
def a_second_next_committee() -> Trial:
    """The same members have signed another attested state."""
    other = update_at(FINALIZED, attested=70, signature=71, source=FOREIGN, with_committee=True)
    update = signed(other, members=STAND_IN.members(PERIOD))
    return Trial(parts_of(update), [honest_next_committee()])


@update_attack("SignatureInvalid")
def a_foreign_next_committee_under_a_recorded_hash() -> Trial:
    """Only an update that brings nothing new is not checked."""
    other = update_at(FINALIZED, source=FOREIGN, with_committee=True)
    return Trial(parts_of(other, STAND_IN.members(PERIOD)), [update_at(FINALIZED)])


# Branches and layouts


@update_attack("NotTheCommittee")
def an_inner_node_as_the_block_hash() -> Trial:
    """The parent of the hash and its sibling, with a branch shorter by one."""
    parts = honest()
    branch = parts["block_branch"]
    node = hash_pair(parts["block_hash"], branch[:WORD])
    return Trial(parts | {"block_hash": node, "block_branch": branch[WORD:]})


def _with_changed_branch(name: str, change: Callable[[bytes], bytes]) -> Run:
    def run(deployer: Deployer) -> str:
        parts = honest(with_committee=True)
        return Trial(parts | {name: change(parts[name])}).run(deployer)

    return run


_BRANCH_ERRORS = {
    "block_branch": ("NotTheCommittee", "NotTheCommittee"),
    "finality_branch": ("NotTheCommittee", "NotTheCommittee"),
    "members": ("NotTheCommittee", "NotTheNextCommittee"),
    "next_branch": ("NotTheNextCommittee", "ProofEndMismatch"),
}
for _name, (_shorter, _longer) in _BRANCH_ERRORS.items():
    BEACON_ATTACKS |= {
        f"a_shorter_{_name}": BeaconAttack(
            _with_changed_branch(_name, lambda branch: branch[WORD:]), _shorter
        ),
        f"a_longer_{_name}": BeaconAttack(
            _with_changed_branch(_name, lambda branch: branch + ZERO), _longer
        ),
    }


@update_attack("ProofEndMismatch")
def a_byte_behind_the_end() -> Trial:
    return Trial(honest() | {"next_branch": b"\0"})


@update_attack("ProofEndMismatch")
def a_zero_at_the_end_cut_off() -> Trial:
    parts = honest(with_committee=True)
    assert parts["next_branch"].endswith(b"\0")
    return Trial(parts | {"next_branch": parts["next_branch"][:-1]})


@update_attack("NotTheCommittee")
def the_state_layout_of_the_finalized_blocks_fork() -> Trial:
    """It is Deneb's, under an attested header of Electra."""
    forks = (FORKS[0], deneb(ELECTRA, FORKS[1].version), *FORKS[2:])
    source = BeaconStandIn(replace(CHAIN, forks=forks), SEED)
    update = update_at(ELECTRA - 60, source=source)
    return Trial(parts_of(update), [honest_next_committee()])


@update_attack("NotTheCommittee")
def the_body_layout_of_the_attested_headers_fork() -> Trial:
    """It is that of Gloas, in a block of Fulu."""
    layout = replace(FORKS[2], block_hash=FORKS[3].block_hash)
    source = BeaconStandIn(replace(CHAIN, forks=(*FORKS[:2], layout, FORKS[3])), SEED)
    update = update_at(GLOAS - 60, source=source)
    return Trial(parts_of(update), checkpoint=checkpoint_at(GLOAS - 500))


@update_attack("SlotBeforeForks")
def a_finalized_block_before_the_first_fork() -> Trial:
    """Without an index, the body's root would be taken for the block's hash."""
    header = BeaconHeader(DENEB - 1, 7, b"\1" * WORD, b"\2" * WORD, LIE)
    block = StandInBlock(header, LIE, {}, FinalizedBlock(header, LIE, ()))
    update = STAND_IN.update(block, FINALIZED, with_committee=False)
    return Trial(parts_of(update))
