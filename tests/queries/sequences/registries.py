"""The four registries with what feeds them: the chain itself, an L1's blocks, games, signers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from eth_abi.abi import encode
from hypothesis import strategies as st

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, load_artifact
from queries.proving.headers import Header, header_from_json
from queries.proving.registry_calls import HORIZON
from tests.queries.attacks.attestations import (
    OTHER_DESTINATION,
    OTHER_REGISTRY,
    OTHER_SIGNER,
    OTHER_SOURCE,
    SIGNERS,
    SOURCE_CHAIN,
    attest,
    sign,
)
from tests.queries.attacks.games import Games, output_with_hash, record_output
from tests.queries.attacks.header_parts import BEACON_ROOT
from tests.queries.attacks.registry_attacks import HISTORY, L1_BLOCK, RECORD, put_predeploy
from tests.queries.sequences.calls import Possible, Step, together
from tests.queries.sequences.chains import (
    ABANDONED,
    CHAINS,
    FIRST_NUMBER,
    TRUE,
    SourceBlock,
    SourceChain,
)
from tests.queries.sequences.played import Played
from tests.queries.sequences.proofs import proofs
from tests.queries.sequences.questions import NUMBERS, Question, Truth, constant, kept, questions_of
from tests.rigs.local_chain import Deployed

BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
LAST = FIRST_NUMBER + len(TRUE.blocks) - 1
_HONEST = (0, 1)
_SIGNED = TRUE.blocks[:-2]
_SIGNED_HASHES = {block.header.hash for block in _SIGNED}
_ELSEWHERE: tuple[dict[str, object], ...] = (
    {"sourceChainId": OTHER_SOURCE},
    {"chainId": OTHER_DESTINATION},
    {"verifyingContract": OTHER_REGISTRY},
)

Bytecode = Callable[[str], bytes]


@dataclass(frozen=True)
class Trial:
    """A registry that is played with, and what can be done with it."""

    played: Played
    possible: Possible


def built(name: str) -> bytes:
    return load_artifact(name).bytecode


def _some(steps: Sequence[Step]) -> st.SearchStrategy[list[Step]]:
    """What brings hashes, before the sequence begins: often enough for something to be known."""
    several = st.lists(st.sampled_from(steps), min_size=2, max_size=4)
    return st.one_of(several, several, st.builds(list))


# The chain itself


def native(
    node: LocalNode, bytecode: Bytecode = built, overrides: Mapping[str, object] | None = None
) -> Trial:
    """The true chain's blocks stand in the history contract, the node's own newest are hashed."""
    for block in TRUE.blocks:
        word = f"0x{block.header.hash.hex()}"
        node.rpc.ask("anvil_setStorageAt", HISTORY, hex(block.number), word)
    # All of them name one beacon root, so that one may be left out.
    node.rpc.ask("anvil_setCode", BEACON_ROOTS, f"0x7f{BEACON_ROOT.hex()}5f5260205ff3")
    registry = Deployed(node, "NativeRegistry", b"", bytecode("NativeRegistry"))
    newest = int(node.rpc.ask("eth_blockNumber"), 16)
    own = [_own_header(node, number) for number in range(newest - 4, newest + 1)]
    questions = questions_of(CHAINS, {"own": own})
    played = Played(
        node, registry.address, questions, {"true": LAST, "own": newest}, overrides=overrides
    )
    proving = proofs(own)
    possible = Possible(
        proving, st.builds(Step, proving), st.builds(list), load_artifact(registry.name).abi
    )
    return Trial(played, possible)


def _own_header(node: LocalNode, number: int) -> Header:
    return header_from_json(node.rpc.ask("eth_getBlockByNumber", hex(number), False))  # noqa: FBT003


# An OP-stack chain


def optimism(
    node: LocalNode,
    bytecode: Bytecode = built,
    overrides: Mapping[str, object] | None = None,
    *,
    contradicts_itself: bool = False,
) -> Trial:
    """Its L1 moves on, and is recorded by anybody.

    One that contradicts itself tells the blocks of before a reorganisation as well: then what was
    read first must stay.
    """
    put_predeploy(node)
    registry = Deployed(node, "OptimismRegistry", b"", bytecode("OptimismRegistry"))
    questions = questions_of(CHAINS, {}) + [
        kept("recorded(uint256)", number, _hashes_at(number)) for number in NUMBERS
    ]
    played = Played(node, registry.address, questions, {}, overrides=overrides)
    told = [TRUE, ABANDONED] if contradicts_itself else [TRUE]
    moves = [_moved(chain, block) for chain in told for block in chain.blocks]
    record = Step(RECORD)
    sources = st.sampled_from((*moves, *(record,) * len(moves)))
    possible = Possible(
        proofs(),
        sources,
        _some(moves).map(lambda told: [step for each in told for step in (each, record)]),
        load_artifact(registry.name).abi,
    )
    return Trial(played, possible)


def _moved(chain: SourceChain, block: SourceBlock) -> Step:
    call = call_data("set(uint64,bytes32)", block.number, block.header.hash)
    return Step(call, to=L1_BLOCK, vouches={chain.name: block.number})


def _hashes_at(number: int) -> dict[str, bytes]:
    blocks = ((chain.name, chain.numbered(number)) for chain in CHAINS)
    return {name: block.header.hash for name, block in blocks if block}


# An OP-stack chain's games, on its L1


def output(
    node: LocalNode, bytecode: Bytecode = built, overrides: Mapping[str, object] | None = None
) -> Trial:
    """The true chain's blocks have games that are won. Those of the abandoned chain are lost, and
    those of the foreign one are about another chain.
    """
    games = Games(partial(Deployed, node))
    arguments = encode(["uint256", "uint256", "address"], [HORIZON, SOURCE_CHAIN, games.address])
    registry = Deployed(node, "OutputRegistry", arguments, bytecode("OutputRegistry"))
    steps = {
        chain.name: [_claimed(games, chain, block) for block in chain.blocks] for chain in CHAINS
    }
    asked = games.address[2:].rjust(64, "0")
    questions = [
        *questions_of(CHAINS, {}),
        constant(call_data("sourceChainId()"), SOURCE_CHAIN.to_bytes(32, "big"), "any"),
        constant(call_data("anchorStateRegistry()"), bytes.fromhex(asked), "any"),
        *(_recorded(block) for chain in CHAINS for block in chain.blocks),
    ]
    played = Played(node, registry.address, questions, {"true": LAST}, overrides=overrides)
    possible = Possible(
        proofs(),
        st.sampled_from([step for each in steps.values() for step in each]),
        _some(steps["true"]).map(lambda told: [together(told)] if told else []),
        load_artifact(registry.name).abi,
    )
    return Trial(played, possible)


def _recorded(block: SourceBlock) -> Question:
    answer = (1).to_bytes(32, "big")
    truths = [Truth(TRUE.name, block.number, answer)] if block in TRUE.blocks else []
    call = call_data("recorded(bytes32)", block.header.hash)
    return Question(call, tuple(truths), zero_is_nothing=True)


def _claimed(games: Games, chain: SourceChain, block: SourceBlock) -> Step:
    output = output_with_hash(block.header.hash)
    own = SOURCE_CHAIN if chain in (TRUE, ABANDONED) else OTHER_SOURCE
    game = games.propose(output.root, own)
    games.settle(game, valid=chain != ABANDONED)
    return Step(record_output(game, output))


# On the word of signers


def attested(
    node: LocalNode, bytecode: Bytecode = built, overrides: Mapping[str, object] | None = None
) -> Trial:
    """Two of three must sign. Two are honest, and sign for other chains as well; one lies.

    The newest blocks are not signed yet by those who are honest.
    """
    expected = [signer.address for signer in SIGNERS[:3]]
    words = [HORIZON, SOURCE_CHAIN, expected, 2, HORIZON]
    arguments = encode(["uint256", "uint256", "address[]", "uint256", "uint256"], words)
    registry = Deployed(node, "AttestedRegistry", arguments, bytecode("AttestedRegistry"))
    questions = [*questions_of(CHAINS, {}), *_told_by_signers(registry)]
    vouched = {"true": _SIGNED[-1].number}
    played = Played(node, registry.address, questions, vouched, overrides=overrides)
    signed = _Words(registry)
    honest = st.sampled_from(_SIGNED).map(signed.honest)
    possible = Possible(
        proofs(),
        honest | signed.any(),
        _some([signed.honest(block) for block in _SIGNED]).map(
            lambda told: [together(told)] if told else []
        ),
        load_artifact(registry.name).abi,
        signed.signatures(),
    )
    return Trial(played, possible)


def _told_by_signers(registry: Deployed) -> Iterator[Question]:
    word = (2).to_bytes(32, "big")
    yield constant(call_data("threshold()"), word, "any")
    yield constant(call_data("validUntil()"), HORIZON.to_bytes(32, "big"), "any")
    domain = call_data("eip712Domain()")
    yield constant(domain, registry.ask(domain), "any")
    yield constant(call_data("sourceChainId()"), SOURCE_CHAIN.to_bytes(32, "big"), "any")
    addresses = [signer.address for signer in SIGNERS[:3]]
    yield constant(call_data("signers()"), encode(["address[]"], [addresses]), "any")
    for signer in (*SIGNERS, OTHER_SIGNER):
        answer = encode(["bool"], [signer.address in addresses])
        yield constant(call_data("isSigner(address)", signer.address), answer, "any")
    for number in NUMBERS:
        yield kept("attested(uint256)", number, _hashes_at(number))
    call = call_data("attestationDigest(uint256,bytes32)", LAST, TRUE.blocks[-1].header.hash)
    yield constant(call, registry.ask(call), "any")


class _Words:
    """What signers signed, each word once."""

    def __init__(self, registry: Deployed) -> None:
        @cache
        def signed(signer: int, number: int, block_hash: bytes, elsewhere: int) -> bytes:
            other = _ELSEWHERE[elsewhere] if elsewhere >= 0 else {}
            return sign([*SIGNERS, OTHER_SIGNER][signer], registry, number, block_hash, **other)

        self._signed = signed

    def honest(self, block: SourceBlock) -> Step:
        words = [self._signed(signer, block.number, block.header.hash, -1) for signer in (0, 1)]
        call = attest(block.number, block.header.hash, words)
        return Step(call)

    def any(self) -> st.SearchStrategy[Step]:
        """Attestations of untrue blocks, by as many words as can be had of anybody."""

        @st.composite
        def draw_one(draw: st.DrawFn) -> Step:
            block = draw(st.sampled_from([b for chain in CHAINS for b in chain.blocks]))
            number = block.number + draw(st.sampled_from((0, 0, 0, 0, 1, -1)))
            elsewhere = draw(st.integers(0, len(_ELSEWHERE) - 1))
            words = [
                self._word(signer, block, elsewhere) for signer in draw(st.sampled_from(_CHOICES))
            ]
            return Step(attest(number, block.header.hash, words))

        return draw_one()

    def _word(self, signer: int, block: SourceBlock, elsewhere: int) -> bytes:
        """Who is honest signs a block for this registry only where it is one of the true chain's,
        and whatever else for others; who is not signs anything.
        """
        here = signer not in _HONEST or block.header.hash in _SIGNED_HASHES
        return self._signed(signer, block.number, block.header.hash, -1 if here else elsewhere)

    def signatures(self) -> st.SearchStrategy[bytes]:
        words: Sequence[bytes] = [
            self._word(signer, block, 0) for signer in range(5) for block in TRUE.blocks[:2]
        ]
        return st.sampled_from(words)


_CHOICES = (
    (0, 1), (0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 0), (0, 0), (2, 2), (0,), (2,), (), (2, 3),
    (3, 4), (0, 4), (2, 4), (0, 1, 4),
)  # fmt: skip
