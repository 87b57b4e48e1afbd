"""The sources of block hashes of registries for other chains.

Refusals are in tests/queries/attacks/registry_attacks.py, which test_forgeries runs.
"""

from functools import partial

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data
from queries.proving.keccak import keccak256
from queries.proving.outputs import encode_super_root
from queries.proving.registry_calls import HORIZON, HeaderFlag, prove_call
from queries.sources.registry import RegistryKind
from tests.queries.attacks.beacon_sources import DENEB, chain_at, checkpoint_at, deploy_registry
from tests.queries.attacks.hash_sources import (
    DESTINATION_CHAIN,
    OTHER_SIGNER,
    SIGNERS,
    SOURCE_CHAIN,
    Games,
    Rollup,
    attest,
    output_with_hash,
    record_output,
    signed_by,
)
from tests.queries.attacks.header_forgeries import FakeHeader, header_tail, raw_headers
from tests.queries.attacks.registry_attacks import (
    ACCUMULATE_ASSERTED,
    ASSERTED,
    L1_BLOCK,
    RECORD,
    SEND_ROOT,
    deploy_attested,
    put_predeploy,
    set_l1_block,
)
from tests.rigs.deployed_contracts import DeployedContract, reverted_at_end

pytestmark = pytest.mark.no_database

NUMBER, TIME = 900, 1_700_000_000
HEADER = FakeHeader(header_tail(NUMBER, TIME))
ACCUMULATE = prove_call([raw_headers(HEADER.compact(HeaderFlag.ACCUMULATE))])
OTHER_HASH = bytes([3]) * 32


def accumulates(registry: DeployedContract) -> bool:
    registry.send(ACCUMULATE)
    return registry.reads.accumulated(NUMBER) != bytes(32)


def events(registry: DeployedContract, call: bytes) -> int:
    return len(registry.node.send(registry.address, call).logs)


# What they say of themselves


def test_a_registry_describes_itself(shared_node: LocalNode) -> None:
    """Its kind, its source, where its hashes come from and its horizon."""
    deploy = partial(DeployedContract, shared_node)
    games, rollup, chain = Games(deploy), Rollup(deploy), chain_at(shared_node, DENEB + 100)
    names = [signer.address for signer in SIGNERS[:3]]
    signers = keccak256(encode(["address[]", "uint256", "uint256"], [names, 2, HORIZON - 1]))
    checkpoint = checkpoint_at(DENEB + 32)
    expected: dict[str, tuple[DeployedContract, int, bytes]] = {
        "native": (deploy("NativeRegistry"), shared_node.chain_id, bytes(32)),
        "optimism": (deploy("OptimismRegistry"), 0, address_word(L1_BLOCK)),
        "output": (games.registry(), SOURCE_CHAIN, address_word(games.address)),
        "arbitrum": (rollup.registry(), SOURCE_CHAIN, address_word(rollup.address)),
        "attested": (deployed(shared_node, HORIZON - 1), SOURCE_CHAIN, signers),
        "beacon": (
            deploy_registry(shared_node, chain, checkpoint), SOURCE_CHAIN, checkpoint.header.root,
        ),
    }  # fmt: skip
    assert set(expected) == set(RegistryKind)
    for kind, (registry, source, basis) in expected.items():
        answer = registry.ask(call_data("describe()"))
        words = decode(["bytes32", "uint256", "bytes32", "uint256"], answer)
        assert words == (kind.encode().ljust(32, b"\0"), source, basis, HORIZON)


def address_word(address: str) -> bytes:
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


# An OP-stack chain


@pytest.fixture
def optimism(shared_node: LocalNode) -> DeployedContract:
    put_predeploy(shared_node)
    return DeployedContract(shared_node, "OptimismRegistry")


def test_the_newest_l1_block_is_known_until_the_next(optimism: DeployedContract) -> None:
    set_l1_block(optimism.node, NUMBER, HEADER.hash)
    with reverted_at_end(optimism.node):
        assert accumulates(optimism)
    set_l1_block(optimism.node, NUMBER + 9, OTHER_HASH)
    assert optimism.refusal(ACCUMULATE) == "BlockNotKnown"


def test_a_recorded_block_stays_known(optimism: DeployedContract) -> None:
    set_l1_block(optimism.node, NUMBER, HEADER.hash)
    assert [events(optimism, RECORD) for _ in range(2)] == [1, 0]
    set_l1_block(optimism.node, NUMBER + 9, OTHER_HASH)
    optimism.send(RECORD)
    assert accumulates(optimism)


def test_a_hash_is_not_taken_for_another_number(optimism: DeployedContract) -> None:
    set_l1_block(optimism.node, NUMBER + 1, HEADER.hash)
    optimism.send(RECORD)
    assert optimism.refusal(ACCUMULATE) == "BlockNotKnown"


# An OP-stack chain, on its L1


def test_the_hash_of_a_valid_game_stays_known(shared_node: LocalNode) -> None:
    games = Games(partial(DeployedContract, shared_node))
    registry = games.registry()
    output = output_with_hash(HEADER.hash)
    game = games.propose(output.root)
    assert registry.refusal(record_output(game, output)) == "GameNotValid"
    games.settle(game, valid=True)
    assert registry.refusal(ACCUMULATE) == "BlockNotKnown"
    assert [events(registry, record_output(game, output)) for _ in range(2)] == [1, 0]
    games.settle(game, valid=False)
    assert accumulates(registry)


def test_the_output_of_a_super_root_becomes_known(shared_node: LocalNode) -> None:
    games = Games(partial(DeployedContract, shared_node))
    output, others = output_with_hash(HEADER.hash), (SOURCE_CHAIN - 2, SOURCE_CHAIN + 2)
    for chains in ((), others[:1], others[1:], others):
        registry = games.registry()
        outputs = {SOURCE_CHAIN: output.root} | dict.fromkeys(chains, OTHER_HASH)
        super_root = encode_super_root(TIME, outputs)
        game = games.propose(keccak256(super_root), super_root)
        games.settle(game, valid=True)
        assert events(registry, record_output(game, output, super_root)) == 1
        with reverted_at_end(shared_node):
            assert accumulates(registry), chains


def test_a_newer_portal_says_whether_games_claim_super_roots(shared_node: LocalNode) -> None:
    """While they do not, outputs are recorded; while they do, outputs in super roots."""
    games = Games(partial(DeployedContract, shared_node))
    output = output_with_hash(HEADER.hash)
    whole = encode_super_root(TIME, {SOURCE_CHAIN: output.root})
    for is_active, super_root in ((False, b""), (True, whole)):
        games.set_super_roots(active=is_active)
        game = games.propose(keccak256(super_root) if super_root else output.root, super_root)
        games.settle(game, valid=True)
        registry = games.registry()
        assert events(registry, record_output(game, output, super_root)) == 1
        with reverted_at_end(shared_node):
            assert accumulates(registry)


@pytest.mark.parametrize("name", ["OutputRegistry", "ArbitrumRegistry"])
def test_a_registry_of_a_rollup_needs_its_contracts(shared_node: LocalNode, name: str) -> None:
    arguments = encode(
        ["uint256", "uint256", "address"], [HORIZON, SOURCE_CHAIN, OTHER_SIGNER.address]
    )
    with pytest.raises(TransactionRevertedError):
        DeployedContract(shared_node, name, arguments)


# An Arbitrum chain, on its L1


def test_a_block_is_known_once_an_assertion_is_confirmed(shared_node: LocalNode) -> None:
    """Until a later one with the same send root is: then the outbox has that one's hash."""
    rollup = Rollup(partial(DeployedContract, shared_node))
    registry = rollup.registry()
    rollup.create(SEND_ROOT, ASSERTED.hash)
    assert registry.refusal(ACCUMULATE_ASSERTED) == "BlockNotKnown"
    rollup.confirm(SEND_ROOT, ASSERTED.hash)
    rollup.confirm(OTHER_HASH, OTHER_HASH)
    with reverted_at_end(shared_node):
        assert events(registry, ACCUMULATE_ASSERTED) == 1
    rollup.confirm(SEND_ROOT, OTHER_HASH)
    assert registry.refusal(ACCUMULATE_ASSERTED) == "BlockNotKnown"


# Attested by signers


def deployed(node: LocalNode, *valid_until: int) -> DeployedContract:
    signers = [signer.address for signer in SIGNERS[:3]]
    return deploy_attested(partial(DeployedContract, node), signers, 2, *valid_until)


def attestation(
    registry: DeployedContract, *signers: int, number: int = NUMBER, block_hash: bytes = HEADER.hash
) -> bytes:
    chosen = [SIGNERS[index] for index in signers]
    return attest(number, block_hash, signed_by(chosen, registry, number, block_hash))


def test_enough_signers_make_a_hash_known(shared_node: LocalNode) -> None:
    attested = deployed(shared_node)
    assert attested.refusal(ACCUMULATE) == "BlockNotKnown"
    for signers in ((0, 1), (0, 2), (1, 2), (0, 1, 2)):
        with reverted_at_end(shared_node):
            attested.send(attestation(attested, *signers))
            assert accumulates(attested), signers


def test_attesting_again_succeeds_and_writes_nothing(shared_node: LocalNode) -> None:
    attested = deployed(shared_node)
    calls = [attestation(attested, *signers) for signers in ((0, 1), (1, 2), (0, 1))]
    assert [events(attested, call) for call in calls] == [1, 0, 0]


def test_after_the_end_attesting_is_refused_and_attested_hashes_stay(
    shared_node: LocalNode,
) -> None:
    latest = shared_node.rpc.ask("eth_getBlockByNumber", "latest", False)
    end = int(latest["timestamp"], 16) + 1_000
    with reverted_at_end(shared_node):
        registry = deployed(shared_node, end)
        registry.send(attestation(registry, 0, 1))
        later = attestation(registry, 0, 1, number=NUMBER + 1, block_hash=OTHER_HASH)
        shared_node.rpc.ask("evm_setNextBlockTimestamp", end)
        shared_node.rpc.ask("evm_mine")
        assert registry.refusal(later) == "AttestingEnded"
        assert accumulates(registry)


def test_the_signing_domain_is_published(shared_node: LocalNode) -> None:
    """EIP-5267."""
    attested = deployed(shared_node)
    types = ["bytes1", "string", "string", "uint256", "address", "bytes32", "uint256[]"]
    domain = decode(types, attested.ask(call_data("eip712Domain()")))
    own = (b"\x0f", "Tacitus block hashes", "1", DESTINATION_CHAIN, attested.address.lower())
    assert domain == (*own, bytes(32), ())
