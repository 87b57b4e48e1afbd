"""Recorded light-client data of mainnet is decoded and checked; anything else is refused."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from queries.proving.beacon import (
    Bootstrap,
    Update,
    UpdateError,
    check_bootstrap,
    check_update,
    decode_bootstrap,
    decode_finality_update,
    decode_update,
)
from queries.proving.ssz import WORD, ZERO, SszError
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE
from tests.queries.attacks.beacon_attacks import CancellingStandIn
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    CHECKPOINT_PERIODS,
    DENEB,
    DEVNETS,
    ELECTRA,
    FULU,
    GLOAS,
    MAINNET,
    RECORDED_PERIODS,
    STAND_IN,
    checkpoint_at,
    committee_of,
    devnet_update,
    recorded_bootstrap,
    recorded_bootstrap_bytes,
    recorded_committee,
    recorded_update,
    recorded_update_bytes,
    update_at,
)
from tests.queries.tries.fuzzing import for_each

pytestmark = pytest.mark.no_database

CHECKPOINTS = {
    1347: "2e522016a5ac7d8d57d758b633a25491a43d12750db8f417fd6cf264b7ec5650",
    1421: "d9717ecc253684291f828688f311ba74d05af74c31654f6e14077669fca62f6a",
    1422: "b8758d4bd976e1b33e62937ed31a709dba0a855869641581bef3d2a48b527690",
    1428: "318d7c4a0013bc0527d1897557330bf25fc2edb0fa48d385d89d9efb4824b704",
}
FORKS = (DENEB, ELECTRA, FULU, GLOAS)


@pytest.mark.parametrize("period", CHECKPOINT_PERIODS)
def test_recorded_checkpoints_are_those_of_their_roots(corpus_folder: Path, period: int) -> None:
    bootstrap = recorded_bootstrap(corpus_folder, period)
    check_bootstrap(bootstrap, bytes.fromhex(CHECKPOINTS[period]), MAINNET)
    assert bootstrap.header.period == period


@pytest.mark.parametrize("period", RECORDED_PERIODS)
def test_recorded_updates_are_signed_by_their_committees(corpus_folder: Path, period: int) -> None:
    update = recorded_update(corpus_folder, period)
    check_update(update, recorded_committee(corpus_folder, period), MAINNET)
    assert update.period == update.attested.period == period
    assert update.next_committee


@pytest.mark.parametrize("devnet", DEVNETS)
def test_recorded_updates_of_gloas_are_signed(corpus_folder: Path, devnet: int) -> None:
    """The second one is about a block from before the fork, whose branch is padded with zeros."""
    chain, update, committee = devnet_update(corpus_folder, devnet)
    check_update(update, committee, chain)
    assert chain.fork_at(update.attested.slot).is_gloas
    assert chain.fork_at(update.finalized.beacon.slot).is_gloas == (devnet == 0)
    fulu = replace(chain, forks=chain.forks[:1])
    with pytest.raises((SszError, UpdateError)):
        check_update(update, committee, fulu)


def test_a_next_committee_is_that_of_the_next_checkpoint(corpus_folder: Path) -> None:
    following = recorded_bootstrap(corpus_folder, 1422).committee
    assert recorded_update(corpus_folder, 1421).next_committee == following


@pytest.mark.parametrize("slot", [fork + 100 for fork in FORKS])
def test_objects_of_all_forks_are_decoded_as_nodes_encode_them(slot: int) -> None:
    update = update_at(slot, absent=(9, 400), with_committee=True)
    checkpoint = checkpoint_at(slot)
    content = STAND_IN.encode_update(update)
    assert decode_update(content, CHAIN) == update
    without = STAND_IN.encode_finality_update(update)
    assert decode_finality_update(without, CHAIN) == update.without_committee
    assert decode_bootstrap(STAND_IN.encode_bootstrap(checkpoint), CHAIN) == checkpoint
    check_update(update, committee_of(update), CHAIN)
    check_bootstrap(checkpoint, checkpoint.header.root, CHAIN)


@pytest.mark.parametrize("fork", FORKS[1:])
def test_updates_over_a_fork_are_decoded_as_nodes_encode_them(fork: int) -> None:
    update = update_at(fork - 30, with_committee=True)
    assert update.finalized.beacon.slot < fork <= update.attested.slot
    assert decode_update(STAND_IN.encode_update(update), CHAIN) == update
    without = STAND_IN.encode_finality_update(update)
    assert decode_finality_update(without, CHAIN) == update.without_committee


def test_an_older_update_is_decoded_in_a_newer_form() -> None:
    """Nodes pad its branches with zeros in front."""
    update = update_at(DENEB + 100, with_committee=True)
    padded = replace(
        update,
        finality_branch=(ZERO, *update.finality_branch),
        next_branch=(ZERO, *update.next_branch),
    )
    assert decode_update(STAND_IN.encode_update(padded), CHAIN) == update
    other = replace(padded, finality_branch=(b"\1" * WORD, *update.finality_branch))
    with pytest.raises(SszError):
        decode_update(STAND_IN.encode_update(other), CHAIN)


# Another implementation


@pytest.fixture
def second_opinion() -> Iterator[Any]:
    """The check by py_ecc, which raises the interpreter's recursion limit when it is imported."""
    limit = sys.getrecursionlimit()
    yield import_module("tests.queries.proving.second_opinion")
    sys.setrecursionlimit(limit)


def test_py_ecc_accepts_the_same_signature(second_opinion: Any, corpus_folder: Path) -> None:
    """With one member absent. The sum is that of all keys, too."""
    update = recorded_update(corpus_folder, 1348)
    committee = recorded_committee(corpus_folder, 1348)
    assert update.absent
    message = MAINNET.signing_root(update.attested.root, update.signature_slot)
    assert second_opinion.sums_up(committee)
    assert second_opinion.is_signed(committee, update.absent, message, update.signature)
    assert not second_opinion.is_signed(committee, update.absent, ZERO, update.signature)


@pytest.mark.parametrize("slot", [fork + 100 for fork in FORKS])
def test_a_signature_by_the_specification_is_accepted(second_opinion: Any, slot: int) -> None:
    """py_ecc signs what the specification's functions compute; our own signer has no part in it."""
    update = update_at(slot, attested=0, signature=1, absent=(3, 300))
    members = STAND_IN.members(update.period)
    versions = {fork.first_slot: fork.version for fork in CHAIN.forks}
    message = second_opinion.signing_root(
        update.attested, update.signature_slot, versions, CHAIN.genesis_validators_root
    )
    secret = sum(members.secrets) - members.secrets[3] - members.secrets[300]
    signed = replace(update, signature=second_opinion.sign(secret, message))
    check_update(signed, members.committee, CHAIN)
    assert signed.signature == update.signature


def test_the_version_of_a_signature_is_that_of_the_slot_before(second_opinion: Any) -> None:
    """By the specification too: a block in the last slot of a fork is signed in the next one's."""
    versions = {fork.first_slot: fork.version for fork in CHAIN.forks}
    root = CHAIN.genesis_validators_root
    for fork in FORKS[1:]:
        update = update_at(fork - 70, attested=69, signature=70)
        message = second_opinion.signing_root(
            update.attested, update.signature_slot, versions, root
        )
        assert update.signature_slot == fork
        assert CHAIN.signing_root(update.attested.root, fork) == message


# Refusals


def test_the_zero_signature_by_keys_that_cancel_is_refused() -> None:
    """The sum of those who signed is zero, and so is every signature by it."""
    source = CancellingStandIn(CHAIN)
    update = update_at(
        DENEB + 100, absent=(SYNC_COMMITTEE_SIZE - 2, SYNC_COMMITTEE_SIZE - 1), source=source
    )
    assert not any(update.signature[1:])
    with pytest.raises(UpdateError):
        check_update(update, source.members(update.period).committee, CHAIN)


def refusal(check: Callable[[], object]) -> str:
    """The error's name; any other error than of these two classes fails the test."""
    try:
        check()
    except (SszError, UpdateError) as error:
        return type(error).__name__
    return ""


def proven_parts(update: Update) -> list[object]:
    """What an update proves. The rest may change: the execution block of its attested header, and
    the signature's slot.
    """
    return [update.finalized, update.attested, update.next_committee]


@pytest.mark.parametrize("period", [1349, 1422])
def test_changed_updates_are_refused_or_prove_the_same(corpus_folder: Path, period: int) -> None:
    content = recorded_update_bytes(corpus_folder, period)
    true, committee = (
        recorded_update(corpus_folder, period),
        recorded_committee(corpus_folder, period),
    )

    def check(change: tuple[int, int, int]) -> None:
        start, length, bits = change
        changed = bytearray(content)
        changed[start] ^= bits
        for forged in (bytes(changed), content[:start] + content[start + length :]):
            outcome: list[Update] = []

            def check_forged(forged: bytes = forged, outcome: list[Update] = outcome) -> None:
                update = decode_update(forged, MAINNET)
                check_update(update, committee, MAINNET)
                outcome.append(update)

            assert refusal(check_forged) or proven_parts(outcome[0]) == proven_parts(true)

    places = st.integers(0, len(content) - 1)
    # Most of the places are outside of the committee's 25 kB.
    starts, ends = st.integers(0, 4), st.integers(len(content) - 1_800, len(content) - 1)
    place = st.one_of(places, starts, ends)
    for_each(st.tuples(place, st.integers(1, 5_000), st.integers(1, 255)), check)


def test_changed_bootstraps_are_refused_or_prove_the_same(corpus_folder: Path) -> None:
    content = recorded_bootstrap_bytes(corpus_folder, 1428)
    checkpoint, true = bytes.fromhex(CHECKPOINTS[1428]), recorded_bootstrap(corpus_folder, 1428)

    def check(change: tuple[int, int, int]) -> None:
        start, length, bits = change
        changed = bytearray(content)
        changed[start] ^= bits
        for forged in (bytes(changed), content[:start] + content[start + length :]):
            outcome: list[Bootstrap] = []

            def check_forged(forged: bytes = forged, outcome: list[Bootstrap] = outcome) -> None:
                bootstrap = decode_bootstrap(forged, MAINNET)
                check_bootstrap(bootstrap, checkpoint, MAINNET)
                outcome.append(bootstrap)

            assert refusal(check_forged) or outcome == [true]

    places = st.integers(0, len(content) - 1)
    for_each(st.tuples(places, st.integers(1, 5_000), st.integers(1, 255)), check, times=0.3)


def test_any_bytes_are_refused() -> None:
    def check(content: bytes) -> None:
        for decode in (decode_bootstrap, decode_update, decode_finality_update):
            assert refusal(lambda decode=decode: decode(content, CHAIN))  # type: ignore[misc]

    for_each(st.binary(max_size=3_000), check)
