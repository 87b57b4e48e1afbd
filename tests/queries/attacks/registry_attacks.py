"""Attacks that need more than a call to a registry whose hashes are set by hand.

Each answers whether it got through.
"""

from collections.abc import Callable, Iterable

from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionReverted
from queries.chain.solidity import call_data, load_artifact
from queries.proving.registry_calls import HORIZON, HeaderFlag, prove_call
from tests.local_chain import Deployed, undone
from tests.queries.attacks.attestations import (
    FOREIGNER,
    OTHER_DESTINATION,
    OTHER_REGISTRY,
    OTHER_SOURCE,
    SIGNERS,
    SOURCE_CHAIN,
    attest,
    other_half,
    sign,
    signed_by,
)
from tests.queries.attacks.forgery_parts import NUMBER, OWNER, Forgery
from tests.queries.attacks.games import OUTPUT, Games, Output, record_output, with_output
from tests.queries.attacks.header_forgeries import TIMESTAMP, fields, header_field
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.witness_parts import key

HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"
L1_BLOCK = "0x4200000000000000000000000000000000000015"
FIRST, SECOND = bytes([1]) * 32, bytes([2]) * 32

Deploy = Callable[..., Deployed]
Attack = Callable[[Deploy], bool]
ATTACKS: dict[str, Attack] = {}
ATTACKS_ON: dict[str, list[str]] = {}  # by the contract


def attack(contract: str) -> Callable[[Attack], Attack]:
    def named(run: Attack) -> Attack:
        ATTACKS[run.__name__] = run
        ATTACKS_ON.setdefault(contract, []).append(run.__name__)
        return run

    return named


def got_through(registry: Deployed, forged: Forgery) -> bool:
    """Whether a forgery is taken, and if it says something, believed."""
    questions = [forged.question] if forged.question else []
    outcomes = registry.simulate([*forged.setup, forged.calldata, *questions])
    *setup, taken = outcomes[: len(forged.setup) + 1]
    assert all(each.success for each in setup)
    return taken.success and (not forged.question or outcomes[-1].data == forged.lie)


def taken(registry: Deployed, calldata: bytes) -> bool:
    try:
        registry.send(calldata)
    except TransactionReverted:
        return False
    return True


# Reads


@attack("FactsRegistry")
def a_proof_verified_beyond_its_end(deploy: Deploy) -> bool:
    """Its last byte is zero, and so is what stands behind it in the calldata."""
    registry = deploy("SettableRegistry", encode(["bool", "bool"], [True, True]))
    header = MadeUpHeader(tail_of(NUMBER, 1_700_000_000))
    registry.send(call_data("setHash(uint256,bytes32)", NUMBER, header.hash))
    proof = headers(header.told(HeaderFlag.FIELDS, fields(8)))
    assert proof.endswith(b"\0")
    try:
        registry.ask(call_data("verify(bytes)", proof[:-1]))
    except TransactionReverted:
        return False
    return True


def _reads_as_zero(deploy: Deploy, question: bytes) -> bool:
    registry = deploy("SettableRegistry", encode(["bool", "bool"], [True, True]))
    try:
        return registry.ask(question) == bytes(32)
    except TransactionReverted:
        return False


@attack("FactsRegistry")
def an_unproven_account_field_reads_as_zero(deploy: Deploy) -> bool:
    signature = "accountField(address,uint256,uint8)"
    return _reads_as_zero(deploy, call_data(signature, OWNER[:20], NUMBER, 1))


@attack("FactsRegistry")
def an_unproven_slot_reads_as_zero(deploy: Deploy) -> bool:
    signature = "accountStorageSlotValues(address,uint256,bytes32)"
    return _reads_as_zero(deploy, call_data(signature, OWNER[:20], NUMBER, key("7")))


@attack("FactsRegistry")
def an_unproven_header_field_reads_as_zero(deploy: Deploy) -> bool:
    return _reads_as_zero(deploy, call_data("headerField(uint256,uint8)", NUMBER, 8))


@attack("FactsRegistry")
def an_unproven_timestamp_reads_as_block_zero(deploy: Deploy) -> bool:
    return _reads_as_zero(deploy, call_data("blockNumberAt(uint256)", 1))


# Native


def _history_that_answers(deploy: Deploy, code: str) -> bool:
    """A made-up header of an old block, whose hash the history contract's `code` holds."""
    registry = deploy("NativeRegistry")
    node = registry.node
    header = MadeUpHeader(tail_of(1, 1))
    with undone(node):
        node.rpc.ask("anvil_mine", hex(300))
        node.rpc.ask("anvil_setCode", HISTORY, code.format(header.hash.hex()))
        shown = headers(header.told(HeaderFlag.FIELDS, fields(TIMESTAMP)))
        return (
            taken(registry, prove_call([shown]))
            and registry.ask(header_field(1, TIMESTAMP))[63] == 1
        )


@attack("NativeRegistry")
def a_hash_from_a_call_that_failed(deploy: Deploy) -> bool:
    return _history_that_answers(deploy, "0x7f{}5f5260205ffd")


@attack("NativeRegistry")
def a_hash_from_an_answer_of_two_words(deploy: Deploy) -> bool:
    return _history_that_answers(deploy, "0x7f{}5f5260405ff3")


# Optimism


def put_predeploy(node: LocalNode) -> None:
    code = load_artifact("L1BlockStandIn").deployed_bytecode
    node.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")


def move_on(node: LocalNode, number: int, block_hash: bytes) -> None:
    node.send(L1_BLOCK, call_data("set(uint64,bytes32)", number, block_hash))


RECORD = call_data("recordHash()")


@attack("OptimismRegistry")
def a_recorded_hash_replaced(deploy: Deploy) -> bool:
    registry = deploy("OptimismRegistry")
    with undone(registry.node):
        put_predeploy(registry.node)
        for block_hash in (FIRST, SECOND):
            move_on(registry.node, NUMBER, block_hash)
            registry.send(RECORD)
        return registry.ask(call_data("recorded(uint256)", NUMBER)) == SECOND


@attack("OptimismRegistry")
def a_zero_hash_recorded(deploy: Deploy) -> bool:
    """Nothing would be known by it, but the event would say that something is."""
    registry = deploy("OptimismRegistry")
    with undone(registry.node):
        put_predeploy(registry.node)
        move_on(registry.node, NUMBER, bytes(32))
        return bool(registry.node.send(registry.address, RECORD).logs)


# Output


def _recorded(registry: Deployed, game: str, output: Output = OUTPUT) -> bool:
    known = call_data("recorded(bytes32)", output.block_hash)
    return taken(registry, record_output(game, output)) and registry.ask(known)[31] == 1


@attack("OutputRegistry")
def a_game_that_is_not_won(deploy: Deploy) -> bool:
    games = Games(deploy)
    return _recorded(games.registry(), games.propose(OUTPUT.root))


@attack("OutputRegistry")
def a_game_about_another_chain(deploy: Deploy) -> bool:
    games = Games(deploy)
    game = games.propose(OUTPUT.root, OTHER_SOURCE)
    games.settle(game, valid=True)
    return _recorded(games.registry(), game)


@attack("OutputRegistry")
def an_output_that_no_game_claims(deploy: Deploy) -> bool:
    games = Games(deploy)
    game = games.propose(OUTPUT.root)
    games.settle(game, valid=True)
    return _recorded(games.registry(), game, with_output(SECOND))


@attack("OutputRegistry")
def a_header_that_no_game_is_about(deploy: Deploy) -> bool:
    header = MadeUpHeader(tail_of(NUMBER, 1_700_000_000))
    call = prove_call([headers(header.told(HeaderFlag.ACCUMULATE))])
    return taken(Games(deploy).registry(), call)


# Attested


def attested(
    deploy: Deploy,
    signers: Iterable[str] | None = None,
    threshold: int = 2,
    valid_until: int = HORIZON,
) -> Deployed:
    names = [signer.address for signer in SIGNERS[:3]] if signers is None else list(signers)
    words = [SOURCE_CHAIN, names, threshold, valid_until]
    arguments = encode(["uint256", "address[]", "uint256", "uint256"], words)
    return deploy("AttestedRegistry", arguments)


def known(registry: Deployed) -> bytes:
    return registry.ask(call_data("attested(uint256)", NUMBER))


def _believed(registry: Deployed, signatures: list[bytes]) -> bool:
    return taken(registry, attest(NUMBER, FIRST, signatures)) and known(registry) == FIRST


def _deploys(deploy: Deploy, signers: list[str], threshold: int) -> bool:
    try:
        attested(deploy, signers, threshold)
    except TransactionReverted:
        return False
    return True


@attack("AttestedRegistry")
def a_registry_without_a_threshold(deploy: Deploy) -> bool:
    if not _deploys(deploy, [SIGNERS[0].address], 0):
        return False
    return _believed(attested(deploy, [SIGNERS[0].address], 0), [])


@attack("AttestedRegistry")
def a_threshold_that_nobody_reaches(deploy: Deploy) -> bool:
    return _deploys(deploy, [SIGNERS[0].address], 2)


@attack("AttestedRegistry")
def a_signer_counted_twice_at_deployment(deploy: Deploy) -> bool:
    return _deploys(deploy, [SIGNERS[0].address] * 2, 2)


@attack("AttestedRegistry")
def a_zero_hash_attested(deploy: Deploy) -> bool:
    registry = attested(deploy)
    signatures = signed_by(SIGNERS[:2], registry, NUMBER, bytes(32))
    return taken(registry, attest(NUMBER, bytes(32), signatures))


@attack("AttestedRegistry")
def a_hash_attested_after_the_end(deploy: Deploy) -> bool:
    registry = attested(deploy, valid_until=1)
    return _believed(registry, signed_by(SIGNERS[:2], registry, NUMBER, FIRST))


@attack("AttestedRegistry")
def one_signature_of_two(deploy: Deploy) -> bool:
    registry = attested(deploy)
    return _believed(registry, signed_by(SIGNERS[:1], registry, NUMBER, FIRST))


@attack("AttestedRegistry")
def one_signer_twice(deploy: Deploy) -> bool:
    registry = attested(deploy)
    return _believed(registry, signed_by([SIGNERS[0]] * 2, registry, NUMBER, FIRST))


@attack("AttestedRegistry")
def a_foreign_signer(deploy: Deploy) -> bool:
    registry = attested(deploy)
    signers = sorted([SIGNERS[0], FOREIGNER], key=lambda signer: int(signer.address, 16))
    return _believed(registry, signed_by(signers, registry, NUMBER, FIRST))


@attack("AttestedRegistry")
def an_attested_hash_replaced(deploy: Deploy) -> bool:
    registry = attested(deploy)
    registry.send(attest(NUMBER, SECOND, signed_by(SIGNERS[:2], registry, NUMBER, SECOND)))
    return _believed(registry, signed_by(SIGNERS[:2], registry, NUMBER, FIRST))


@attack("AttestedRegistry")
def a_signature_with_a_byte_too_many(deploy: Deploy) -> bool:
    registry = attested(deploy)
    signatures = signed_by(SIGNERS[:2], registry, NUMBER, FIRST)
    return _believed(registry, [signatures[0], signatures[1] + b"\x00"])


@attack("AttestedRegistry")
def a_signature_turned_around(deploy: Deploy) -> bool:
    """Who sees a signature can make another one of it."""
    registry = attested(deploy)
    signatures = signed_by(SIGNERS[:2], registry, NUMBER, FIRST)
    return _believed(registry, [signatures[0], other_half(signatures[1])])


@attack("AttestedRegistry")
def a_signature_that_recovers_to_nobody(deploy: Deploy) -> bool:
    registry = attested(deploy)
    signature = sign(SIGNERS[1], registry, NUMBER, FIRST)
    nobody = bytes(64) + signature[64:]
    return _believed(registry, [nobody, signature])


@attack("AttestedRegistry")
def a_signature_of_another_v(deploy: Deploy) -> bool:
    registry = attested(deploy)
    signatures = signed_by(SIGNERS[:2], registry, NUMBER, FIRST)
    return _believed(
        registry, [signatures[0], signatures[1][:64] + bytes((signatures[1][64] - 27,))]
    )


def _signed_elsewhere(deploy: Deploy, **other: object) -> bool:
    registry = attested(deploy)
    words = [sign(signer, registry, NUMBER, FIRST, **other) for signer in SIGNERS[:2]]
    return _believed(registry, words)


@attack("AttestedRegistry")
def words_for_another_chain(deploy: Deploy) -> bool:
    return _signed_elsewhere(deploy, chainId=OTHER_DESTINATION)


@attack("AttestedRegistry")
def words_for_another_registry(deploy: Deploy) -> bool:
    return _signed_elsewhere(deploy, verifyingContract=OTHER_REGISTRY)


@attack("AttestedRegistry")
def words_of_another_chain(deploy: Deploy) -> bool:
    return _signed_elsewhere(deploy, sourceChainId=OTHER_SOURCE)
