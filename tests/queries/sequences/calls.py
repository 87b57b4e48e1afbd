"""Random sequences of calls to a registry and its sources of hashes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from queries.contracts.abi import call_data
from tests.queries.sequences.chains import ACCOUNTS, CHAINS, SLOTS
from tests.queries.sequences.proofs import evidence
from tests.queries.sequences.questions import NUMBERS, TIMES
from tests.rigs.deployed_contracts import signature_of

CALLERS = [f"0x{name.hex()}" for name in (*ACCOUNTS[:2], bytes([9]) * 20)]
MAX_STEPS = 8
_PRINTED_BYTES = 1_000


@dataclass(frozen=True, repr=False)
class Step:
    """A call, to the registry unless `to` is given. It makes chains known up to `known_blocks`."""

    call: bytes
    sender: str = CALLERS[0]
    to: str = ""
    known_blocks: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Shortened, because failing sequences are printed."""
        receiver, data = self.to or "the registry", self.call[:_PRINTED_BYTES].hex()
        return f"{self.sender} to {receiver}: 0x{data} of {len(self.call)} bytes"


ANY_BYTES = st.binary(max_size=66)


@dataclass(frozen=True)
class Actions:
    """The actions that sequences choose from."""

    proofs: st.SearchStrategy[bytes]
    sources: st.SearchStrategy[Step]  # honest or not
    first_steps: st.SearchStrategy[list[Step]]
    abi: Sequence[Mapping[str, Any]]
    signatures: st.SearchStrategy[bytes] = ANY_BYTES


def functions(abi: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [entry for entry in abi if entry["type"] == "function"]


def is_writing(entry: Mapping[str, Any]) -> bool:
    return entry["stateMutability"] not in {"view", "pure"}


_numbers = st.sampled_from((*NUMBERS, *TIMES, 0, 2**64, 2**256 - 1)) | st.integers(0, 2**256 - 1)
_hashes = [block.header.hash for chain in CHAINS for block in chain.blocks]


def _argument(kind: str, actions: Actions) -> st.SearchStrategy[Any]:
    """Any value of an ABI type, mostly a meaningful one."""
    return {
        "uint256": _numbers,
        "uint8": st.integers(0, 22) | st.just(255),
        "address": st.sampled_from(ACCOUNTS) | st.binary(min_size=20, max_size=20),
        "bytes32": st.sampled_from((*_hashes, *SLOTS)) | st.binary(min_size=32, max_size=32),
        # Of `verify` and `endedBy`
        "bytes": actions.proofs.map(lambda call: call[4:]) | evidence(),
        "bytes[]": st.lists(actions.proofs | actions.signatures, max_size=3),
    }[kind]


def _any_call(actions: Actions) -> st.SearchStrategy[bytes]:
    """A call of any function in the ABI, so that new functions are covered too."""
    return st.one_of(
        [
            st.tuples(*(_argument(value["type"], actions) for value in entry["inputs"])).map(
                lambda arguments, entry=entry: call_data(signature_of(entry), *arguments)  # type: ignore[misc]
            )
            for entry in functions(actions.abi)
        ]
    )


def multicall_step(steps: Sequence[Step]) -> Step:
    """Several calls of a registry in one `multicall`."""
    known_blocks: dict[str, int] = {}
    for step in steps:
        for chain, block in step.known_blocks.items():
            known_blocks[chain] = max(block, known_blocks.get(chain, -1))
    call = call_data("multicall(bytes[])", [step.call for step in steps])
    return Step(call, steps[0].sender, known_blocks=known_blocks)


@st.composite
def sequences(draw: st.DrawFn, actions: Actions) -> list[Step]:
    proving = st.builds(Step, actions.proofs)
    other = st.builds(Step, _any_call(actions) | st.binary(max_size=40))
    single = st.one_of(proving, proving, proving, actions.sources, other)
    several = st.lists(single.filter(lambda step: not step.to), min_size=1, max_size=3)
    steps = draw(actions.first_steps)
    for kind in draw(st.lists(st.sampled_from("sssmve"), min_size=1, max_size=MAX_STEPS)):
        if kind == "v":
            step = Step(draw(actions.proofs))
            steps.append(Step(call_data("verify(bytes)", step.call[4:])))
        elif kind == "e":
            step = Step(call_data("endedBy(bytes)", draw(evidence())))
        else:
            step = draw(single) if kind == "s" else multicall_step(draw(several))
        steps.append(Step(step.call, draw(st.sampled_from(CALLERS)), step.to, step.known_blocks))
    return steps
