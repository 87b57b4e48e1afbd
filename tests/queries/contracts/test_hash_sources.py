"""Where the registries of other chains' pasts learn block hashes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode, TransactionReverted
from queries.chain.solidity import call_data
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON, HeaderFlag, prove_call
from tests.local_chain import Deployed, error_name, undone
from tests.queries.attacks.attestations import (
    DESTINATION_CHAIN,
    FOREIGNER,
    SIGNERS,
    SOURCE_CHAIN,
    attest,
    other_half,
    sign,
    signed_by,
)
from tests.queries.attacks.games import OUTPUT, Games, record_output, with_output
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.registry_attacks import RECORD, move_on, put_predeploy

pytestmark = pytest.mark.no_database

NUMBER, TIME = 900, 1_700_000_000
HEADER = MadeUpHeader(tail_of(NUMBER, TIME))
ACCUMULATE = prove_call([headers(HEADER.told(HeaderFlag.ACCUMULATE))])
OTHER_HASH = bytes([3]) * 32


def is_accumulated(registry: Deployed) -> bool:
    return registry.reads.accumulated(NUMBER) != bytes(32)


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
    assert optimism.refusal(ACCUMULATE) == "BlockNotKnown"


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
    assert optimism.refusal(ACCUMULATE) == "BlockNotKnown"


def test_no_l1_block_yet_records_nothing(optimism: Deployed) -> None:
    move_on(optimism.node, NUMBER, bytes(32))
    assert optimism.node.send(optimism.address, RECORD).logs == ()
    assert optimism.refusal(prove_call([headers()])) == "NoHeader"


# An OP-stack chain, on its L1


@pytest.fixture
def games(shared_node: LocalNode) -> Games:
    return Games(partial(Deployed, shared_node))


def test_the_hash_of_a_valid_game_is_known_for_ever(games: Games) -> None:
    registry = games.registry()
    output = with_output(HEADER.hash)
    game = games.propose(output.root)
    assert registry.refusal(record_output(game, output)) == "GameNotValid"
    games.settle(game, valid=True)
    assert registry.refusal(ACCUMULATE) == "BlockNotKnown"
    assert len(registry.node.send(registry.address, record_output(game, output)).logs) == 1
    assert registry.node.send(registry.address, record_output(game, output)).logs == ()
    games.settle(game, valid=False)
    registry.send(ACCUMULATE)
    assert is_accumulated(registry)


def test_each_word_of_an_output_is_part_of_the_claim(games: Games) -> None:
    registry = games.registry()
    game = games.propose(OUTPUT.root)
    games.settle(game, valid=True)
    for member in ("state_root", "message_passer", "block_hash"):
        changed = replace(OUTPUT, **{member: bytes([9]) * 32})
        assert registry.refusal(record_output(game, changed)) == "NotTheClaimedOutput"
    registry.send(record_output(game, OUTPUT))


def test_an_output_of_another_version_is_refused(games: Games) -> None:
    """Only version 0 says that the fourth word is a block's hash."""
    registry = games.registry()
    words = (1).to_bytes(32, "big") + OUTPUT.state_root + OUTPUT.message_passer + OUTPUT.block_hash
    game = games.propose(keccak256(words))
    games.settle(game, valid=True)
    assert registry.refusal(record_output(game, OUTPUT)) == "NotTheClaimedOutput"


def test_a_game_of_another_chain_is_refused(games: Games) -> None:
    registry = games.registry()
    game = games.propose(OUTPUT.root, SOURCE_CHAIN + 1)
    games.settle(game, valid=True)
    assert registry.refusal(record_output(game, OUTPUT)) == "GameOfAnotherChain"


def test_what_is_no_game_is_refused(games: Games) -> None:
    registry = games.registry()
    for no_game in (FOREIGNER.address, registry.address):
        assert registry.refusal(record_output(no_game, OUTPUT)) == "GameNotValid"


def test_without_an_anchor_state_registry_nothing_is_recorded(shared_node: LocalNode) -> None:
    arguments = encode(["uint256", "address"], [SOURCE_CHAIN, FOREIGNER.address])
    registry = Deployed(shared_node, "OutputRegistry", arguments)
    assert registry.refusal(record_output(FOREIGNER.address, OUTPUT)) == "0x"


# On the word of signers


@pytest.fixture
def attested(shared_node: LocalNode) -> Deployed:
    return deploy_attested(shared_node, [signer.address for signer in SIGNERS[:3]], 2)


def deploy_attested(
    node: LocalNode, signers: Sequence[str], threshold: int, valid_until: int = HORIZON
) -> Deployed:
    words = [SOURCE_CHAIN, signers, threshold, valid_until]
    arguments = encode(["uint256", "address[]", "uint256", "uint256"], words)
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
    assert attested.refusal(ACCUMULATE) == "BlockNotKnown"


def test_another_hash_of_the_number_is_refused(attested: Deployed) -> None:
    for block_hash, error in ((HEADER.hash, ""), (OTHER_HASH, "AnotherHashAttested")):
        call = attest(NUMBER, block_hash, signed_by(SIGNERS[:2], attested, NUMBER, block_hash))
        if error:
            assert attested.refusal(call) == error
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
    """Number three signs, but is not one of the registry's signers."""
    signatures = signed_by([SIGNERS[each] for each in signers], attested, NUMBER, HEADER.hash)
    assert attested.refusal(attest(NUMBER, HEADER.hash, signatures)) == error


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
    assert attested.refusal(attest(NUMBER, HEADER.hash, signatures)) == "SignerNotExpected"


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
        assert attested.refusal(call) == "SignatureMalformed"


def test_a_zero_hash_is_refused(attested: Deployed) -> None:
    signatures = signed_by(SIGNERS[:2], attested, NUMBER, bytes(32))
    assert attested.refusal(attest(NUMBER, bytes(32), signatures)) == "ZeroHash"


def test_after_its_end_nothing_is_attested_and_what_was_stays(shared_node: LocalNode) -> None:
    latest = shared_node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003
    end = int(latest["timestamp"], 16) + 1_000
    signers = [signer.address for signer in SIGNERS[:3]]
    with undone(shared_node):
        registry = deploy_attested(shared_node, signers, 2, end)
        signatures = signed_by(SIGNERS[:2], registry, NUMBER, HEADER.hash)
        registry.send(attest(NUMBER, HEADER.hash, signatures))
        later = attest(
            NUMBER + 1, OTHER_HASH, signed_by(SIGNERS[:2], registry, NUMBER + 1, OTHER_HASH)
        )
        shared_node.rpc.ask("evm_setNextBlockTimestamp", end)
        shared_node.rpc.ask("evm_mine")
        assert registry.refusal(later) == "AttestingEnded"
        registry.send(ACCUMULATE)
        assert is_accumulated(registry)


def test_a_wallet_finds_the_domain_of_the_signatures(attested: Deployed) -> None:
    """EIP-5267."""
    types = ["bytes1", "string", "string", "uint256", "address", "bytes32", "uint256[]"]
    domain = decode(types, attested.ask(call_data("eip712Domain()")))
    own = (b"\x0f", "Tacitus block hashes", "1", DESTINATION_CHAIN, attested.address.lower())
    assert domain == (*own, bytes(32), ())


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
    shared_node: LocalNode, signers: Sequence[str], threshold: int, error: str
) -> None:
    with pytest.raises(TransactionReverted) as refused:
        deploy_attested(shared_node, signers, threshold)
    assert error_name("AttestedRegistry", refused.value.data) == error
