"""Attacks on registries with real sources of hashes, and on the router."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data, load_artifact
from queries.proving.keccak import keccak256
from queries.proving.outputs import encode_super_root
from queries.proving.registry_calls import HORIZON, HeaderFlag, prove_call
from tests.queries.attacks.forgery import NUMBER, OWNER
from tests.queries.attacks.hash_sources import (
    OTHER_DESTINATION,
    OTHER_REGISTRY,
    OTHER_SIGNER,
    OTHER_SOURCE,
    OUTPUT,
    SIGNERS,
    SOURCE_CHAIN,
    Games,
    Output,
    Rollup,
    attest,
    high_s_signature,
    record_output,
    sign,
    signed_by,
)
from tests.queries.attacks.header_forgeries import (
    TIMESTAMP,
    FakeHeader,
    field_mask,
    header_tail,
    raw_headers,
)
from tests.queries.attacks.witness_parts import key
from tests.rigs.deployed_contracts import DeployedContract, error_name, reverted_at_end

HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"
L1_BLOCK = "0x4200000000000000000000000000000000000015"
RECORD = call_data("recordHash()")
FIRST, SECOND = bytes([1]) * 32, bytes([2]) * 32
HEADER = FakeHeader(header_tail(NUMBER, 1_700_000_000))
IGNORED = "ignored"  # in place of an error, if a call succeeds and changes nothing

Deploy = Callable[..., DeployedContract]
Run = Callable[[Deploy], str]


@dataclass(frozen=True)
class Attack:
    """`run` returns the error of the refusal, or an empty text if the attack succeeds."""

    contract: str
    run: Run
    refusal: str


ATTACKS: dict[str, Attack] = {}


def attack(contract: str, refusal: str) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        ATTACKS[run.__name__] = Attack(contract, run, refusal)
        return run

    return register


def simulated_error(registry: DeployedContract, *calls: bytes) -> str:
    """Simulate the calls, and return the error of the last one."""
    *before, last = registry.simulate(calls)
    assert all(call.success for call in before)
    return "" if last.success else error_name(registry.name, last.data)


# Reads


def _settable(deploy: Deploy) -> DeployedContract:
    return deploy("SettableRegistry", encode(["bool", "bool"], [True, True]))


@attack("FactsRegistry", "ProofEndMismatch")
def a_proof_verified_beyond_its_end(deploy: Deploy) -> str:
    """Its last byte is zero, like what follows it in the calldata."""
    known = call_data("setHash(uint256,bytes32)", NUMBER, HEADER.hash)
    proof = raw_headers(HEADER.compact(HeaderFlag.FIELDS, field_mask(8)))
    assert proof.endswith(b"\0")
    return simulated_error(_settable(deploy), known, call_data("verify(bytes)", proof[:-1]))


_UNPROVEN = {
    "an_unproven_account_field_reads_as_zero": (
        call_data("accountField(address,uint256,uint8)", OWNER[:20], NUMBER, 1),
        "AccountFieldNotProven",
    ),
    "an_unproven_slot_reads_as_zero": (
        call_data(
            "accountStorageSlotValues(address,uint256,bytes32)", OWNER[:20], NUMBER, key("7")
        ),
        "StorageSlotNotProven",
    ),
    "an_unproven_header_field_reads_as_zero": (
        call_data("headerField(uint256,uint8)", NUMBER, 8),
        "HeaderFieldNotProven",
    ),
    "an_unproven_timestamp_reads_as_block_zero": (
        call_data("blockNumberAt(uint256)", 1),
        "TimestampNotProven",
    ),
}
for _name, (_question, _error) in _UNPROVEN.items():
    ATTACKS[_name] = Attack(
        "FactsRegistry",
        lambda deploy, question=_question: simulated_error(_settable(deploy), question),  # type: ignore[misc]
        _error,
    )


# Native


def _prove_by_history(deploy: Deploy, code: str) -> str:
    """Prove a made-up old header whose hash the history contract's `code` answers."""
    registry = deploy("NativeRegistry")
    node = registry.node
    old = FakeHeader(header_tail(1, 1))
    section = raw_headers(old.compact(HeaderFlag.FIELDS, field_mask(TIMESTAMP)))
    if int(node.rpc.ask("eth_blockNumber"), 16) < 300:
        node.rpc.ask("anvil_mine", hex(300))
    with reverted_at_end(node):
        node.rpc.ask("anvil_setCode", HISTORY, code.format(old.hash.hex()))
        return simulated_error(registry, prove_call([section]))


@attack("NativeRegistry", "BlockNotKnown")
def a_hash_from_a_call_that_failed(deploy: Deploy) -> str:
    return _prove_by_history(deploy, "0x7f{}5f5260205ffd")


@attack("NativeRegistry", "BlockNotKnown")
def a_hash_from_an_answer_of_two_words(deploy: Deploy) -> str:
    return _prove_by_history(deploy, "0x7f{}5f5260405ff3")


# Optimism


def put_predeploy(node: LocalNode) -> None:
    code = load_artifact("L1BlockStandIn").deployed_bytecode
    node.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")


def set_l1_block(node: LocalNode, number: int, block_hash: bytes) -> None:
    node.send(L1_BLOCK, call_data("set(uint64,bytes32)", number, block_hash))


@attack("OptimismRegistry", IGNORED)
def a_recorded_hash_replaced(deploy: Deploy) -> str:
    registry = deploy("OptimismRegistry")
    with reverted_at_end(registry.node):
        put_predeploy(registry.node)
        for block_hash in (FIRST, SECOND):
            set_l1_block(registry.node, NUMBER, block_hash)
            registry.send(RECORD)
        recorded = registry.ask(call_data("recorded(uint256)", NUMBER))
        return IGNORED if recorded == FIRST else ""


@attack("OptimismRegistry", "BlockNotKnown")
def a_recorded_hash_in_place_of_the_current_one(deploy: Deploy) -> str:
    registry = deploy("OptimismRegistry")
    with reverted_at_end(registry.node):
        put_predeploy(registry.node)
        set_l1_block(registry.node, NUMBER, HEADER.hash)
        registry.send(RECORD)
        set_l1_block(registry.node, NUMBER, SECOND)
        return simulated_error(
            registry, prove_call([raw_headers(HEADER.compact(HeaderFlag.ACCUMULATE))])
        )


@attack("OptimismRegistry", IGNORED)
def a_zero_hash_recorded(deploy: Deploy) -> str:
    """It would make nothing known, but emit an event."""
    registry = deploy("OptimismRegistry")
    with reverted_at_end(registry.node):
        put_predeploy(registry.node)
        set_l1_block(registry.node, NUMBER, bytes(32))
        return "" if registry.node.send(registry.address, RECORD).logs else IGNORED


# Of a chain whose id differs above its low 64 bits, and a hash that differs in one of its halves
ALIKE = SOURCE_CHAIN + 2**64


def _halves_changed(word: bytes) -> tuple[bytes, bytes]:
    """The word with another second half, and with another first half."""
    other = bytes(byte ^ 1 for byte in word)
    return word[:16] + other[16:], other[:16] + word[16:]


# Output

SUPER_TIME = 1_700_000_000
# This chain's output and another's.
SUPER_ROOT = encode_super_root(
    SUPER_TIME, {SOURCE_CHAIN: OUTPUT.root, OTHER_SOURCE: keccak256(b"another output")}
)
OTHER_OUTPUT = replace(OUTPUT, block_hash=SECOND)


def _record(
    deploy: Deploy, claim: bytes, output: Output, super_root: bytes = b"", *, valid: bool = True
) -> str:
    games = Games(deploy)
    game = games.propose(claim)
    if valid:
        games.settle(game, valid=True)
    return simulated_error(games.registry(), record_output(game, output, super_root))


def _record_from(super_root: bytes, output: Output = OUTPUT) -> Run:
    """Record the output from a valid game about this super root."""
    return lambda deploy: _record(deploy, keccak256(super_root), output, super_root)


def _swapped(super_root: bytes) -> bytes:
    """The super root with its first two chains in the other order."""
    head, first, second, rest = (
        super_root[:9], super_root[9:73], super_root[73:137], super_root[137:],
    )  # fmt: skip
    return head + second + first + rest


def _deploy_by_factory_of(contract: str, deploy: Deploy, stand_in: str) -> str:
    arguments = encode(["uint256", "uint256", "address"], [HORIZON, SOURCE_CHAIN, stand_in])
    try:
        deploy(contract, arguments)
    except TransactionRevertedError as error:
        return error_name(contract, error.data)
    return ""


@attack("OutputRegistry", "PortalOfAnotherChain")
def a_portal_of_another_chain(deploy: Deploy) -> str:
    return _deploy_by_factory_of("OutputRegistry", deploy, Games(deploy, OTHER_SOURCE).address)


@attack("OutputRegistry", "PortalOfAnotherChain")
def a_portal_of_a_chain_with_the_same_low_bits(deploy: Deploy) -> str:
    return _deploy_by_factory_of("OutputRegistry", deploy, Games(deploy, ALIKE).address)


@attack("OutputRegistry", "SuperRootNeeded")
def an_output_where_games_claim_super_roots(deploy: Deploy) -> str:
    games = Games(deploy)
    games.set_super_roots(active=True)
    game = games.propose(OUTPUT.root)
    games.settle(game, valid=True)
    return simulated_error(games.registry(), record_output(game, OUTPUT))


@attack("OutputRegistry", "GameNotValid")
def a_game_that_is_not_won(deploy: Deploy) -> str:
    return _record(deploy, OUTPUT.root, OUTPUT, valid=False)


@attack("OutputRegistry", "0x")
def an_address_that_is_not_a_game(deploy: Deploy) -> str:
    """The rollup's contracts ask it what it claims, and revert without data."""
    registry = Games(deploy).registry()
    refusals = {
        simulated_error(registry, record_output(no_game, OUTPUT))
        for no_game in (OTHER_SIGNER.address, registry.address)
    }
    return refusals.pop() if len(refusals) == 1 else ""


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_that_no_game_claims(deploy: Deploy) -> str:
    return _record(deploy, OUTPUT.root, OTHER_OUTPUT)


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_whose_hash_begins_like_the_claimed_one(deploy: Deploy) -> str:
    return _record(deploy, _halves_changed(OUTPUT.root)[0], OUTPUT)


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_whose_hash_ends_like_the_claimed_one(deploy: Deploy) -> str:
    return _record(deploy, _halves_changed(OUTPUT.root)[1], OUTPUT)


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_of_another_state(deploy: Deploy) -> str:
    return _record(deploy, OUTPUT.root, replace(OUTPUT, state_root=SECOND))


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_of_another_message_passer(deploy: Deploy) -> str:
    return _record(deploy, OUTPUT.root, replace(OUTPUT, message_passer=FIRST))


@attack("OutputRegistry", "NotTheClaimedOutput")
def an_output_of_another_version(deploy: Deploy) -> str:
    """Only in version 0 is the fourth word a block hash."""
    words = OUTPUT.state_root + OUTPUT.message_passer + OUTPUT.block_hash
    return _record(deploy, keccak256((1).to_bytes(32, "big") + words), OUTPUT)


@attack("OutputRegistry", "NotTheClaimedOutput")
def a_super_root_taken_for_an_output(deploy: Deploy) -> str:
    return _record(deploy, keccak256(SUPER_ROOT), OUTPUT)


@attack("OutputRegistry", "BlockNotKnown")
def a_header_that_no_game_claims(deploy: Deploy) -> str:
    call = prove_call([raw_headers(HEADER.compact(HeaderFlag.ACCUMULATE))])
    return simulated_error(Games(deploy).registry(), call)


@attack("OutputRegistry", "NotTheClaimedSuperRoot")
def a_super_root_that_no_game_claims(deploy: Deploy) -> str:
    super_root = encode_super_root(SUPER_TIME, {SOURCE_CHAIN: OTHER_OUTPUT.root})
    return _record(deploy, keccak256(SUPER_ROOT), OTHER_OUTPUT, super_root)


@attack("OutputRegistry", "NotTheClaimedOutput")
def another_output_than_in_the_super_root(deploy: Deploy) -> str:
    return _record_from(SUPER_ROOT, OTHER_OUTPUT)(deploy)


@attack("OutputRegistry", "NotTheClaimedSuperRoot")
def a_super_root_whose_hash_begins_like_the_claimed_one(deploy: Deploy) -> str:
    claim, _ = _halves_changed(keccak256(SUPER_ROOT))
    return _record(deploy, claim, OUTPUT, SUPER_ROOT)


@attack("OutputRegistry", "NotTheClaimedSuperRoot")
def a_super_root_whose_hash_ends_like_the_claimed_one(deploy: Deploy) -> str:
    _, claim = _halves_changed(keccak256(SUPER_ROOT))
    return _record(deploy, claim, OUTPUT, SUPER_ROOT)


# What is not a super root with OUTPUT, and the error of the refusal
FALSE_SUPER_ROOTS: dict[str, tuple[str, bytes]] = {
    "another_chains_output_of_a_super_root": (
        "NotTheClaimedOutput",
        encode_super_root(SUPER_TIME, {SOURCE_CHAIN: OTHER_OUTPUT.root, OTHER_SOURCE: OUTPUT.root}),
    ),
    "the_output_of_a_chain_with_the_same_low_bits": (
        "NotTheClaimedOutput",
        encode_super_root(SUPER_TIME, {SOURCE_CHAIN: OTHER_OUTPUT.root, ALIKE: OUTPUT.root}),
    ),
    "a_super_root_of_a_chain_with_the_same_low_bits": (
        "NoOutputOfChain",
        encode_super_root(SUPER_TIME, {ALIKE: OUTPUT.root}),
    ),
    "a_super_root_without_the_chain": (
        "NoOutputOfChain",
        encode_super_root(SUPER_TIME, {OTHER_SOURCE: OUTPUT.root}),
    ),
    "a_super_root_out_of_order": ("SuperRootMalformed", _swapped(SUPER_ROOT)),
    "a_chain_twice_in_a_super_root": (
        "SuperRootMalformed",
        encode_super_root(SUPER_TIME, {SOURCE_CHAIN: OTHER_OUTPUT.root}) + SUPER_ROOT[9:73],
    ),
    "a_super_root_of_version_zero": ("SuperRootMalformed", b"\0" + SUPER_ROOT[1:]),
    "a_super_root_of_another_version": ("SuperRootMalformed", b"\2" + SUPER_ROOT[1:]),
    "a_super_root_with_a_byte_more": ("SuperRootMalformed", SUPER_ROOT + b"\0"),
    "a_super_root_with_a_byte_less": ("SuperRootMalformed", SUPER_ROOT[:-1]),
    "a_super_root_of_one_byte": ("SuperRootMalformed", b"\1"),
}
for _name, (_error, _super_root) in FALSE_SUPER_ROOTS.items():
    ATTACKS[_name] = Attack("OutputRegistry", _record_from(_super_root), _error)


# Arbitrum

SEND_ROOT, OTHER_SEND_ROOT = bytes([8]) * 32, bytes([9]) * 32
ASSERTED = FakeHeader(header_tail(NUMBER, 1_700_000_000, SEND_ROOT))
ACCUMULATE_ASSERTED = prove_call([raw_headers(ASSERTED.compact(HeaderFlag.ACCUMULATE))])


def _prove_asserted(
    deploy: Deploy, send_root: bytes = SEND_ROOT, block_hash: bytes = ASSERTED.hash
) -> str:
    rollup = Rollup(deploy)
    rollup.create(send_root, block_hash)
    rollup.confirm(send_root, block_hash)
    return simulated_error(rollup.registry(), ACCUMULATE_ASSERTED)


@attack("ArbitrumRegistry", "OutboxOfAnotherChain")
def an_outbox_of_another_chain(deploy: Deploy) -> str:
    return _deploy_by_factory_of("ArbitrumRegistry", deploy, Rollup(deploy, OTHER_SOURCE).address)


@attack("ArbitrumRegistry", "OutboxOfAnotherChain")
def an_outbox_of_a_chain_with_the_same_low_bits(deploy: Deploy) -> str:
    return _deploy_by_factory_of("ArbitrumRegistry", deploy, Rollup(deploy, ALIKE).address)


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_whose_hash_begins_like_the_confirmed_one(deploy: Deploy) -> str:
    return _prove_asserted(deploy, block_hash=_halves_changed(ASSERTED.hash)[0])


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_whose_hash_ends_like_the_confirmed_one(deploy: Deploy) -> str:
    return _prove_asserted(deploy, block_hash=_halves_changed(ASSERTED.hash)[1])


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_of_an_assertion_that_is_not_confirmed(deploy: Deploy) -> str:
    rollup = Rollup(deploy)
    rollup.create(SEND_ROOT, ASSERTED.hash)
    return simulated_error(rollup.registry(), ACCUMULATE_ASSERTED)


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_with_the_send_root_of_another_block(deploy: Deploy) -> str:
    return _prove_asserted(deploy, block_hash=SECOND)


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_with_a_forged_send_root(deploy: Deploy) -> str:
    """It names the send root of a confirmed block, whose hash is not its own."""
    rollup = Rollup(deploy)
    rollup.create(OTHER_SEND_ROOT, ASSERTED.hash)
    rollup.confirm(OTHER_SEND_ROOT, ASSERTED.hash)
    forged = FakeHeader(header_tail(NUMBER, 1_700_000_000, OTHER_SEND_ROOT))
    call = prove_call([raw_headers(forged.compact(HeaderFlag.ACCUMULATE))])
    return simulated_error(rollup.registry(), call)


@attack("ArbitrumRegistry", "BlockNotKnown")
def a_header_with_another_send_root(deploy: Deploy) -> str:
    """The outbox has its hash, but under another send root than the header's."""
    return _prove_asserted(deploy, OTHER_SEND_ROOT)


# Attested


def deploy_attested(
    deploy: Deploy, signers: Sequence[str], threshold: int, valid_until: int = HORIZON
) -> DeployedContract:
    words = [HORIZON, SOURCE_CHAIN, signers, threshold, valid_until]
    types = ["uint256", "uint256", "address[]", "uint256", "uint256"]
    return deploy("AttestedRegistry", encode(types, words))


@cache
def attested(deploy: Deploy, valid_until: int = HORIZON) -> DeployedContract:
    """A registry for which two of three must sign."""
    names = [signer.address for signer in SIGNERS[:3]]
    return deploy_attested(deploy, names, 2, valid_until)


@cache
def _two_signatures(registry: DeployedContract, block_hash: bytes = FIRST) -> list[bytes]:
    return signed_by(SIGNERS[:2], registry, NUMBER, block_hash)


def _attest(block_hash: bytes, *before: bytes, valid_until: int = HORIZON) -> Run:
    def run(deploy: Deploy) -> str:
        registry = attested(deploy, valid_until)
        calls = [
            attest(NUMBER, value, _two_signatures(registry, value))
            for value in (*before, block_hash)
        ]
        return simulated_error(registry, *calls)

    return run


def _attest_signatures(by: Callable[[DeployedContract], list[bytes]]) -> Run:
    def run(deploy: Deploy) -> str:
        registry = attested(deploy)
        return simulated_error(registry, attest(NUMBER, FIRST, by(registry)))

    return run


def _signed_by(*places: int) -> Run:
    signers = [SIGNERS[place] for place in places]
    return _attest_signatures(lambda registry: signed_by(signers, registry, NUMBER, FIRST))


def _signed_over(**other: object) -> Run:
    """Two signatures over other values than the registry expects."""
    return _attest_signatures(
        lambda registry: [sign(signer, registry, NUMBER, FIRST, **other) for signer in SIGNERS[:2]]
    )


def _second_signature(form: Callable[[bytes], bytes]) -> Run:
    """Two signatures, the second of which is changed."""

    def signatures(registry: DeployedContract) -> list[bytes]:
        first, second = _two_signatures(registry)
        return [first, form(second)]

    return _attest_signatures(signatures)


def _deploy_with(threshold: int, *signers: str) -> Run:
    def run(deploy: Deploy) -> str:
        try:
            deploy_attested(deploy, signers, threshold)
        except TransactionRevertedError as error:
            return error_name("AttestedRegistry", error.data)
        return ""

    return run


ONE, TWO = (signer.address for signer in SIGNERS[:2])
ZERO = f"0x{0:040x}"
_ATTESTED_ATTACKS: dict[str, dict[str, Run]] = {
    "ThresholdOutOfRange": {
        "a_registry_without_a_threshold": _deploy_with(0, ONE),
        "a_threshold_above_the_number_of_signers": _deploy_with(2, ONE),
        "a_registry_without_signers": _deploy_with(1),
        "a_registry_of_nothing": _deploy_with(0),
    },
    "SignersNotAscending": {
        "a_signer_counted_twice_at_deployment": _deploy_with(2, ONE, ONE),
        "signers_in_descending_order_at_deployment": _deploy_with(1, TWO, ONE),
        "zero_as_a_signer": _deploy_with(1, ZERO, ONE),
    },
    "AttestingEnded": {"a_hash_attested_after_the_end": _attest(FIRST, valid_until=1)},
    "ZeroHash": {"a_zero_hash_attested": _attest(bytes(32))},
    "AnotherHashAttested": {"an_attested_hash_replaced": _attest(FIRST, SECOND)},
    "TooFewSignatures": {"no_signature": _signed_by(), "one_signature_of_two": _signed_by(0)},
    # Signer number 3 is not one of the registry's signers.
    "SignerNotExpected": {
        "one_signer_twice": _signed_by(0, 0),
        "signers_in_descending_order": _signed_by(1, 0),
        "one_signer_twice_after_another": _signed_by(0, 1, 1),
        "a_foreign_signer": _signed_by(0, 3),
        "a_foreign_signer_twice": _signed_by(3, 3),
        "a_signature_for_another_chain": _signed_over(chainId=OTHER_DESTINATION),
        "a_signature_for_another_registry": _signed_over(verifyingContract=OTHER_REGISTRY),
        "a_signature_with_another_name": _signed_over(name="Tacitus"),
        "a_signature_with_another_version": _signed_over(version="2"),
        "a_signature_about_another_chain": _signed_over(sourceChainId=OTHER_SOURCE),
        "a_signature_about_another_block": _signed_over(blockNumber=NUMBER + 1),
        "a_signature_about_another_hash": _signed_over(blockHash=SECOND),
    },
    "SignatureMalformed": {
        # Anyone can compute the signature with the other s.
        "a_signature_with_a_high_s": _second_signature(high_s_signature),
        "a_signature_with_another_v": _second_signature(
            lambda valid: valid[:64] + bytes((valid[64] - 27,))
        ),
        "a_signature_with_a_v_of_29": _second_signature(lambda valid: valid[:64] + b"\x1d"),
        "a_signature_with_a_byte_too_many": _second_signature(lambda valid: valid + b"\x00"),
        "a_signature_with_a_byte_too_few": _second_signature(lambda valid: valid[:64]),
        "a_signature_of_no_bytes": _second_signature(lambda _: b""),
        "a_signature_of_zeros": _second_signature(lambda _: bytes(64) + b"\x1b"),
        "a_signature_beyond_the_order": _second_signature(lambda valid: b"\xff" * 32 + valid[32:]),
        "a_signature_that_recovers_to_zero": _attest_signatures(
            lambda registry: [bytes(64) + b"\x1b", _two_signatures(registry)[1]]
        ),
    },
}
for _error, _runs in _ATTESTED_ATTACKS.items():
    ATTACKS |= {_name: Attack("AttestedRegistry", _run, _error) for _name, _run in _runs.items()}


# The router


def deploy_router(deploy: Deploy, registries: Mapping[int, str]) -> DeployedContract:
    """`registries`: addresses by source chain."""
    words = [[*registries], [*registries.values()]]
    return deploy("FactsRouter", encode(["uint256[]", "address[]"], words))


def _deploy_router_with(chains: Sequence[int], registries: Callable[[str], Sequence[str]]) -> Run:
    """`registries` maps an attested registry's address to the addresses for the constructor."""

    def run(deploy: Deploy) -> str:
        attested = deploy_attested(deploy, [ONE], 1).address
        words = [chains, registries(attested)]
        try:
            deploy("FactsRouter", encode(["uint256[]", "address[]"], words))
        except TransactionRevertedError as error:
            return error_name("FactsRouter", error.data)
        return ""

    return run


def _read_unrouted_chain(deploy: Deploy) -> str:
    router = deploy_router(deploy, {})
    return simulated_error(router, call_data("timestamp(uint256,uint256)", SOURCE_CHAIN, 1))


_ROUTER_ATTACKS: dict[str, dict[str, Run]] = {
    "SourceRepeated": {
        "a_second_registry_of_a_chain": _deploy_router_with(
            [SOURCE_CHAIN] * 2, lambda attested: [attested] * 2
        )
    },
    "NoContract": {"a_registry_without_code": _deploy_router_with([SOURCE_CHAIN], lambda _: [ONE])},
    "SourceMismatch": {
        "a_registry_of_another_chain": _deploy_router_with(
            [OTHER_SOURCE], lambda attested: [attested]
        )
    },
    "LengthsDiffer": {
        "a_chain_routed_to_nothing": _deploy_router_with(
            [SOURCE_CHAIN, OTHER_SOURCE], lambda attested: [attested]
        )
    },
    "SourceNotRouted": {"a_chain_that_is_not_routed": _read_unrouted_chain},
}
for _error, _runs in _ROUTER_ATTACKS.items():
    ATTACKS |= {_name: Attack("FactsRouter", _run, _error) for _name, _run in _runs.items()}
