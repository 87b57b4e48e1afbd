"""Where the registries of other chains' pasts learn block hashes."""

import pytest
from eth_abi.abi import encode

from queries.chain.local_node import LocalNode, TransactionReverted
from queries.chain.solidity import call_data
from queries.proving.registry_calls import HeaderFlag, prove_call
from tests.local_chain import Deployed, error_name
from tests.queries.attacks.attestations import (
    FOREIGNER,
    SIGNERS,
    SOURCE_CHAIN,
    attest,
    other_half,
    sign,
    signed_by,
)
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.registry_attacks import RECORD, move_on, put_predeploy

pytestmark = pytest.mark.no_database

NUMBER, TIME = 900, 1_700_000_000
HEADER = MadeUpHeader(tail_of(NUMBER, TIME))
ACCUMULATE = prove_call([headers(HEADER.told(HeaderFlag.ACCUMULATE))])
OTHER_HASH = bytes([3]) * 32


def refusal(registry: Deployed, calldata: bytes) -> str:
    with pytest.raises(TransactionReverted) as refused:
        registry.send(calldata)
    return error_name(registry.name, refused.value.data)


def is_accumulated(registry: Deployed) -> bool:
    return registry.reads.accumulated(NUMBER) != bytes(32)


def multicall(*calls: bytes) -> bytes:
    return call_data("multicall(bytes[])", list(calls))


# An OP-stack chain


@pytest.fixture
def optimism(shared_node: LocalNode) -> Deployed:
    put_predeploy(shared_node)
    return Deployed(shared_node, "OptimismRegistry")


def test_the_newest_block_of_the_l1_is_known(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER, HEADER.hash)
    optimism.send(ACCUMULATE)
    assert is_accumulated(optimism)


def test_a_block_that_was_not_recorded_is_forgotten(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER, HEADER.hash)
    move_on(optimism.node, NUMBER + 9, OTHER_HASH)
    assert refusal(optimism, ACCUMULATE) == "BlockNotKnown"


def test_a_recorded_block_is_known_for_ever(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER, HEADER.hash)
    assert len(optimism.node.send(optimism.address, RECORD).logs) == 1
    assert optimism.node.send(optimism.address, RECORD).logs == ()
    move_on(optimism.node, NUMBER + 9, OTHER_HASH)
    optimism.send(RECORD)
    optimism.send(ACCUMULATE)
    assert is_accumulated(optimism)


def test_a_hash_is_not_taken_for_another_number(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER + 1, HEADER.hash)
    optimism.send(RECORD)
    assert refusal(optimism, ACCUMULATE) == "BlockNotKnown"


def test_no_l1_block_yet_records_nothing(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER, bytes(32))
    assert optimism.node.send(optimism.address, RECORD).logs == ()
    assert refusal(optimism, prove_call([headers()])) == "NoHeader"


# On the word of signers


@pytest.fixture
def attested(shared_node: LocalNode) -> Deployed:
    return deploy_attested(shared_node, [signer.address for signer in SIGNERS[:3]], 2)


def deploy_attested(node: LocalNode, signers: list[str], threshold: int) -> Deployed:
    arguments = encode(["uint256", "address[]", "uint256"], [SOURCE_CHAIN, signers, threshold])
    return Deployed(node, "AttestedRegistry", arguments)


@pytest.mark.parametrize("places", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_enough_signers_make_a_hash_known(attested: Deployed, places: tuple[int, ...]) -> None:
    signatures = signed_by([SIGNERS[place] for place in places], attested, NUMBER, HEADER.hash)
    attested.send(attest(NUMBER, HEADER.hash, signatures))
    attested.send(ACCUMULATE)
    assert is_accumulated(attested)


def test_attesting_again_succeeds_and_writes_nothing(attested: Deployed) -> None:
    first = attest(NUMBER, HEADER.hash, signed_by(SIGNERS[:2], attested, NUMBER, HEADER.hash))
    again = attest(NUMBER, HEADER.hash, signed_by(SIGNERS[1:3], attested, NUMBER, HEADER.hash))
    assert len(attested.node.send(attested.address, first).logs) == 1
    for call in (first, again):
        assert attested.node.send(attested.address, call).logs == ()


def test_without_an_attestation_nothing_is_known(attested: Deployed) -> None:
    assert refusal(attested, ACCUMULATE) == "BlockNotKnown"


def test_another_hash_of_the_number_is_refused(attested: Deployed) -> None:
    for block_hash, error in ((HEADER.hash, ""), (OTHER_HASH, "AnotherHashAttested")):
        call = attest(NUMBER, block_hash, signed_by(SIGNERS[:2], attested, NUMBER, block_hash))
        if error:
            assert refusal(attested, call) == error
        else:
            attested.send(call)


@pytest.mark.parametrize(
    ("signers", "error"),
    [
        ([], "TooFewSignatures"),
        ([0], "TooFewSignatures"),
        ([0, 0], "SignerNotExpected"),
        ([1, 0], "SignerNotExpected"),
        ([0, 1, 1], "SignerNotExpected"),
        ([0, 3], "SignerNotExpected"),
        ([3, 3], "SignerNotExpected"),
    ],
)
def test_too_few_repeated_unsorted_or_foreign_signers_are_refused(
    attested: Deployed, signers: list[int], error: str
) -> None:
    """Number three signs, but is none of the registry's signers."""
    signatures = signed_by([SIGNERS[each] for each in signers], attested, NUMBER, HEADER.hash)
    assert refusal(attested, attest(NUMBER, HEADER.hash, signatures)) == error


@pytest.mark.parametrize(
    "other",
    [
        {"chainId": 1},
        {"verifyingContract": FOREIGNER.address},
        {"name": "Tacitus"},
        {"version": "2"},
        {"sourceChainId": SOURCE_CHAIN + 1},
        {"blockNumber": NUMBER + 1},
        {"blockHash": OTHER_HASH},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_signature_of_another_domain_or_block_is_foreign(
    attested: Deployed, other: dict[str, object]
) -> None:
    signatures = [
        sign(SIGNERS[0], attested, NUMBER, HEADER.hash, **other),
        sign(SIGNERS[1], attested, NUMBER, HEADER.hash),
    ]
    assert refusal(attested, attest(NUMBER, HEADER.hash, signatures)) == "SignerNotExpected"


def test_a_signature_has_one_form(attested: Deployed) -> None:
    first, second = signed_by(SIGNERS[:2], attested, NUMBER, HEADER.hash)
    forms = [
        other_half(second),
        second[:64] + bytes((second[64] - 27,)),
        second[:64] + b"\x1d",
        second + b"\x00",
        second[:64],
        b"",
        bytes(64) + b"\x1b",
        b"\xff" * 32 + second[32:],
    ]
    for form in forms:
        call = attest(NUMBER, HEADER.hash, [first, form])
        assert refusal(attested, call) == "SignatureMalformed"


def test_a_zero_hash_is_refused(attested: Deployed) -> None:
    signatures = signed_by(SIGNERS[:2], attested, NUMBER, bytes(32))
    assert refusal(attested, attest(NUMBER, bytes(32), signatures)) == "ZeroHash"


ZERO = f"0x{0:040x}"


@pytest.mark.parametrize(
    ("signers", "threshold", "error"),
    [
        ([], 0, "ThresholdOutOfRange"),
        ([], 1, "ThresholdOutOfRange"),
        ([SIGNERS[0].address], 0, "ThresholdOutOfRange"),
        ([SIGNERS[0].address], 2, "ThresholdOutOfRange"),
        ([SIGNERS[0].address] * 2, 2, "SignersNotAscending"),
        ([SIGNERS[1].address, SIGNERS[0].address], 1, "SignersNotAscending"),
        ([ZERO, SIGNERS[0].address], 1, "SignersNotAscending"),
    ],
)
def test_a_registry_that_could_not_hold_is_not_deployed(
    shared_node: LocalNode, signers: list[str], threshold: int, error: str
) -> None:
    with pytest.raises(TransactionReverted) as refused:
        deploy_attested(shared_node, signers, threshold)
    assert error_name("AttestedRegistry", refused.value.data) == error
