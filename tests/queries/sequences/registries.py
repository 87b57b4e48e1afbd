"""Trials of the registries with their sources of hashes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from eth_abi.abi import encode
from hypothesis import strategies as st

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, load_artifact
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.outputs import encode_super_root
from queries.proving.registry_calls import HORIZON
from tests.queries.attacks.hash_sources import (
    OTHER_DESTINATION,
    OTHER_REGISTRY,
    OTHER_SIGNER,
    OTHER_SOURCE,
    SIGNERS,
    SOURCE_CHAIN,
    Games,
    Rollup,
    attest,
    output_with_hash,
    record_output,
    sign,
)
from tests.queries.attacks.header_forgeries import BEACON_ROOT
from tests.queries.attacks.registry_attacks import HISTORY, L1_BLOCK, RECORD, put_predeploy
from tests.queries.contracts.live_chain import LiveChain
from tests.queries.sequences.calls import ANY_BYTES, Actions, Step, multicall_step, proofs
from tests.queries.sequences.chains import (
    ABANDONED,
    CHAINS,
    FIRST_NUMBER,
    FOREIGN,
    NUMBERS,
    TRUE,
    SourceBlock,
    SourceChain,
)
from tests.queries.sequences.checker import (
    ONE_WORD,
    Question,
    RegistryChecker,
    Truth,
    all_questions,
    constant_question,
    stored_word,
)
from tests.rigs.deployed_contracts import DeployedContract

BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
LAST = FIRST_NUMBER + len(TRUE.blocks) - 1
_HONEST = (0, 1)
_SIGNED = TRUE.blocks[:-2]
_SIGNED_HASHES = {block.header.hash for block in _SIGNED}
_OTHER_DOMAINS: tuple[dict[str, object], ...] = (
    {"sourceChainId": OTHER_SOURCE},
    {"chainId": OTHER_DESTINATION},
    {"verifyingContract": OTHER_REGISTRY},
)

Bytecode = Callable[[str], bytes]


def built(name: str) -> bytes:
    return load_artifact(name).bytecode


@dataclass(frozen=True)
class Trial:
    """A registry with its checker, and the actions that sequences choose from."""

    checker: RegistryChecker
    actions: Actions


@dataclass(frozen=True)
class Target:
    """Where registries are deployed, and with which bytecode and state overrides."""

    node: LocalNode
    bytecode: Bytecode = built
    overrides: Mapping[str, object] = field(default_factory=dict)

    def deploy(self, name: str, arguments: bytes = b"") -> DeployedContract:
        return DeployedContract(self.node, name, arguments, self.bytecode(name))

    def trial(
        self,
        registry: DeployedContract,
        questions: Iterable[Question],
        sources: st.SearchStrategy[Step],
        first_steps: st.SearchStrategy[list[Step]],
        known_blocks: Mapping[str, int],
        *,
        headers: Mapping[str, Sequence[Header]] | None = None,
        signatures: st.SearchStrategy[bytes] = ANY_BYTES,
    ) -> Trial:
        describe = call_data("describe()")
        description = constant_question(describe, registry.ask(describe), "any")
        everything = [*all_questions(CHAINS, headers or {}), description, *questions]
        checker = RegistryChecker(
            self.node, registry.address, everything, known_blocks, overrides=self.overrides
        )
        own = [header for row in (headers or {}).values() for header in row]
        abi = load_artifact(registry.name).abi
        return Trial(checker, Actions(proofs(own), sources, first_steps, abi, signatures))


def _some_of(steps: Sequence[Step]) -> st.SearchStrategy[list[Step]]:
    """First steps that make hashes known, in two of three sequences."""
    several = st.lists(st.sampled_from(steps), min_size=2, max_size=4)
    return st.one_of(several, several, st.builds(list))


def _in_one_call(steps: Sequence[Step]) -> st.SearchStrategy[list[Step]]:
    return _some_of(steps).map(lambda some: [multicall_step(some)] if some else [])


def native(target: Target) -> Trial:
    """The history contract has the true chain's blocks, and the node hashes of its own."""
    node = target.node
    for block in TRUE.blocks:
        word = f"0x{block.header.hash.hex()}"
        node.rpc.ask("anvil_setStorageAt", HISTORY, hex(block.number), word)
    # All blocks have the same beacon root, so that a proof may omit it.
    node.rpc.ask("anvil_setCode", BEACON_ROOTS, f"0x7f{BEACON_ROOT.hex()}5f5260205ff3")
    registry = target.deploy("NativeRegistry")
    newest = int(node.rpc.ask("eth_blockNumber"), 16)
    own = [LiveChain(node).header(number) for number in range(newest - 4, newest + 1)]
    known_blocks = {"true": LAST, "own": newest}
    nothing: st.SearchStrategy[list[Step]] = st.builds(list)
    sources = st.builds(Step, proofs(own))
    return target.trial(registry, [], sources, nothing, known_blocks, headers={"own": own})


def optimism(target: Target, *, contradicts_itself: bool = False) -> Trial:
    """The L1's block changes, and anyone records it.

    An L1 that contradicts itself also has the blocks of the abandoned chain; then what was recorded
    first must stay.
    """
    put_predeploy(target.node)
    registry = target.deploy("OptimismRegistry")
    questions = [
        stored_word("recorded(uint256)", number, _hashes_of_number(number)) for number in NUMBERS
    ]
    chains = [TRUE, ABANDONED] if contradicts_itself else [TRUE]
    updates = [_l1_update(chain, block) for chain in chains for block in chain.blocks]
    record = Step(RECORD)
    sources = st.sampled_from((*updates, *(record,) * len(updates)))
    first_steps = _some_of(updates).map(
        lambda some: [step for update in some for step in (update, record)]
    )
    return target.trial(registry, questions, sources, first_steps, {})


def _l1_update(chain: SourceChain, block: SourceBlock) -> Step:
    call = call_data("set(uint64,bytes32)", block.number, block.header.hash)
    return Step(call, to=L1_BLOCK, known_blocks={chain.name: block.number})


def _hashes_of_number(number: int) -> dict[str, bytes]:
    blocks = ((chain.name, chain.numbered(number)) for chain in CHAINS)
    return {name: block.header.hash for name, block in blocks if block}


def output(target: Target) -> Trial:
    """The games of the true chain are won and those of the abandoned chain lost. Every second one
    claims a super root, which also has the foreign chain's output, as another chain's.
    """
    games = Games(partial(DeployedContract, target.node))
    arguments = encode(["uint256", "uint256", "address"], [HORIZON, SOURCE_CHAIN, games.address])
    registry = target.deploy("OutputRegistry", arguments)
    steps = {
        chain.name: [step for block in chain.blocks for step in _game_steps(games, chain, block)]
        for chain in (TRUE, ABANDONED)
    }
    games_word = bytes.fromhex(games.address[2:].rjust(64, "0"))
    questions = [
        constant_question(call_data("sourceChainId()"), SOURCE_CHAIN.to_bytes(32, "big"), "any"),
        constant_question(call_data("portal()"), games_word, "any"),
        *(_recorded_question(block) for chain in CHAINS for block in chain.blocks),
    ]
    sources = st.sampled_from([step for chain_steps in steps.values() for step in chain_steps])
    return target.trial(registry, questions, sources, _in_one_call(steps["true"]), {"true": LAST})


def _recorded_question(block: SourceBlock) -> Question:
    truths = (Truth(TRUE.name, block.number, ONE_WORD),) if block in TRUE.blocks else ()
    call = call_data("recorded(bytes32)", block.header.hash)
    return Question(call, truths, zero_is_nothing=True)


def _game_steps(games: Games, chain: SourceChain, block: SourceBlock) -> list[Step]:
    output, super_root = output_with_hash(block.header.hash), b""
    foreign_block = FOREIGN.numbered(block.number)
    outputs = [output]
    if block.number % 2 and foreign_block:
        outputs.append(output_with_hash(foreign_block.header.hash))
        chains = dict(zip((SOURCE_CHAIN, OTHER_SOURCE), (out.root for out in outputs), strict=True))
        super_root = encode_super_root(block.header.timestamp, chains)
    # Chains that share a block have a game about it each, and no two games are alike.
    extra = chain.name.encode() + super_root
    game = games.propose(keccak256(super_root) if super_root else output.root, extra)
    games.settle(game, valid=chain != ABANDONED)
    return [Step(record_output(game, claimed, super_root)) for claimed in outputs]


def arbitrum(target: Target) -> Trial:
    """Assertions about the true chain are confirmed one after another; all its blocks have the same
    send root, so the outbox has the newest. Those about the other chains are only made.
    """
    rollup = Rollup(partial(DeployedContract, target.node))
    arguments = encode(["uint256", "uint256", "address"], [HORIZON, SOURCE_CHAIN, rollup.address])
    registry = target.deploy("ArbitrumRegistry", arguments)
    outbox_word = bytes.fromhex(rollup.address[2:].rjust(64, "0"))
    questions = [
        constant_question(call_data("sourceChainId()"), SOURCE_CHAIN.to_bytes(32, "big"), "any"),
        constant_question(call_data("outbox()"), outbox_word, "any"),
    ]
    steps = [_assertion_step(rollup, chain, block) for chain in CHAINS for block in chain.blocks]
    return target.trial(registry, questions, st.sampled_from(steps), _some_of(steps), {})


def _assertion_step(rollup: Rollup, chain: SourceChain, block: SourceBlock) -> Step:
    send_root = block.header.word(HeaderField.EXTRA_DATA)
    name = "confirm" if chain == TRUE else "create"
    call = call_data(f"{name}(bytes32,bytes32)", send_root, block.header.hash)
    known_blocks = {chain.name: block.number} if chain == TRUE else {}
    return Step(call, to=rollup.address, known_blocks=known_blocks)


def attested(target: Target) -> Trial:
    """Two of three must sign. Two are honest, and sign for other registries too; one lies.

    The honest signers have not signed the newest blocks yet.
    """
    expected = [signer.address for signer in SIGNERS[:3]]
    words = [HORIZON, SOURCE_CHAIN, expected, 2, HORIZON]
    arguments = encode(["uint256", "uint256", "address[]", "uint256", "uint256"], words)
    registry = target.deploy("AttestedRegistry", arguments)
    signatures = _Signatures(registry)
    honest = [signatures.honest_step(block) for block in _SIGNED]
    return target.trial(
        registry,
        _attested_questions(registry),
        st.sampled_from(honest) | signatures.dishonest_steps(),
        _in_one_call(honest),
        {"true": _SIGNED[-1].number},
        signatures=signatures.any_signature(),
    )


def _attested_questions(registry: DeployedContract) -> Iterator[Question]:
    addresses = [signer.address for signer in SIGNERS[:3]]
    answers = {
        call_data("threshold()"): (2).to_bytes(32, "big"),
        call_data("validUntil()"): HORIZON.to_bytes(32, "big"),
        call_data("sourceChainId()"): SOURCE_CHAIN.to_bytes(32, "big"),
        call_data("signers()"): encode(["address[]"], [addresses]),
    }
    for signer in (*SIGNERS, OTHER_SIGNER):
        answer = encode(["bool"], [signer.address in addresses])
        answers[call_data("isSigner(address)", signer.address)] = answer
    digest = ("attestationDigest(uint256,bytes32)", LAST, TRUE.blocks[-1].header.hash)
    for call in (call_data("eip712Domain()"), call_data(*digest)):
        answers[call] = registry.ask(call)
    for call, answer in answers.items():
        yield constant_question(call, answer, "any")
    for number in NUMBERS:
        yield stored_word("attested(uint256)", number, _hashes_of_number(number))


class _Signatures:
    """Signatures of the honest and dishonest signers."""

    def __init__(self, registry: DeployedContract) -> None:
        @cache
        def signature(signer: int, number: int, block_hash: bytes, domain: int) -> bytes:
            changes = _OTHER_DOMAINS[domain] if domain >= 0 else {}
            return sign([*SIGNERS, OTHER_SIGNER][signer], registry, number, block_hash, **changes)

        self._signature = signature

    def honest_step(self, block: SourceBlock) -> Step:
        signatures = [self._signed(signer, block, -1) for signer in _HONEST]
        return Step(attest(block.number, block.header.hash, signatures))

    def dishonest_steps(self) -> st.SearchStrategy[Step]:
        """Attestations of untrue blocks, with all signatures that an attacker can get."""

        @st.composite
        def step(draw: st.DrawFn) -> Step:
            block = draw(st.sampled_from([b for chain in CHAINS for b in chain.blocks]))
            number = block.number + draw(st.sampled_from((0, 0, 0, 0, 1, -1)))
            domain = draw(st.integers(0, len(_OTHER_DOMAINS) - 1))
            signers = draw(st.sampled_from(_SIGNER_CHOICES))
            signatures = [self._signed(signer, block, domain) for signer in signers]
            return Step(attest(number, block.header.hash, signatures))

        return step()

    def _signed(self, signer: int, block: SourceBlock, domain: int) -> bytes:
        """Honest signers sign only true blocks for this registry, and any block for others."""
        signs_here = signer not in _HONEST or block.header.hash in _SIGNED_HASHES
        return self._signature(
            signer, block.number, block.header.hash, -1 if signs_here else domain
        )

    def any_signature(self) -> st.SearchStrategy[bytes]:
        return st.sampled_from(
            [self._signed(signer, block, 0) for signer in range(5) for block in TRUE.blocks[:2]]
        )


_SIGNER_CHOICES = (
    (0, 1), (0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 0), (0, 0), (2, 2), (0,), (2,), (), (2, 3),
    (3, 4), (0, 4), (2, 4), (0, 1, 4),
)  # fmt: skip
