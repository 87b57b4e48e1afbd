"""Random sequences of calls: whom each comes from, and what it makes true that was not before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from queries.contracts.abi import call_data
from tests.queries.sequences.chains import ACCOUNTS, CHAINS, SLOTS
from tests.queries.sequences.proofs import evidence
from tests.queries.sequences.questions import NUMBERS, TIMES
from tests.rigs.local_chain import signature_of

CALLERS = [f"0x{name.hex()}" for name in (*ACCOUNTS[:2], bytes([9]) * 20)]
MOST_STEPS = 8
_SHOWN = 1_000


@dataclass(frozen=True, repr=False)
class Step:
    """A call, to the registry unless it is told `to` whom; `vouches` for chains up to blocks."""

    call: bytes
    sender: str = CALLERS[0]
    to: str = ""
    vouches: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Cut off: a sequence that fails is printed, and a seed repeats it."""
        whom = self.to or "the registry"
        return f"{self.sender} to {whom}: 0x{self.call[:_SHOWN].hex()} of {len(self.call)} bytes"


NO_SIGNATURES = st.binary(max_size=66)


@dataclass(frozen=True)
class Possible:
    """What can be done with a registry."""

    proofs: st.SearchStrategy[bytes]
    sources: st.SearchStrategy[Step]  # what brings hashes, honestly or not
    begin: st.SearchStrategy[list[Step]]
    abi: Sequence[Mapping[str, Any]]
    signatures: st.SearchStrategy[bytes] = NO_SIGNATURES


def functions(abi: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [entry for entry in abi if entry["type"] == "function"]


def is_writing(entry: Mapping[str, Any]) -> bool:
    return entry["stateMutability"] not in {"view", "pure"}


_numbers = st.sampled_from((*NUMBERS, *TIMES, 0, 2**64, 2**256 - 1)) | st.integers(0, 2**256 - 1)
_hashes = [block.header.hash for chain in CHAINS for block in chain.blocks]


def _argument(kind: str, possible: Possible) -> st.SearchStrategy[Any]:
    """Any argument of a type, mostly one that means something."""
    return {
        "uint256": _numbers,
        "uint8": st.integers(0, 22) | st.just(255),
        "address": st.sampled_from(ACCOUNTS) | st.binary(min_size=20, max_size=20),
        "bytes32": st.sampled_from((*_hashes, *SLOTS)) | st.binary(min_size=32, max_size=32),
        # Of `verify` and `endedBy`
        "bytes": possible.proofs.map(lambda call: call[4:]) | evidence(),
        "bytes[]": st.lists(possible.proofs | possible.signatures, max_size=3),
    }[kind]


def _any_function(possible: Possible) -> st.SearchStrategy[bytes]:
    """Whatever the contract has: a function that is new is called as well."""
    return st.one_of(
        [
            st.tuples(*(_argument(each["type"], possible) for each in entry["inputs"])).map(
                lambda arguments, entry=entry: call_data(signature_of(entry), *arguments)  # type: ignore[misc]
            )
            for entry in functions(possible.abi)
        ]
    )


def together(steps: Sequence[Step]) -> Step:
    """Several calls of a registry in one."""
    vouches: dict[str, int] = {}
    for step in steps:
        for chain, block in step.vouches.items():
            vouches[chain] = max(block, vouches.get(chain, -1))
    call = call_data("multicall(bytes[])", [step.call for step in steps])
    return Step(call, steps[0].sender, vouches=vouches)


@st.composite
def sequences(draw: st.DrawFn, possible: Possible) -> list[Step]:
    proving = st.builds(Step, possible.proofs)
    anything = st.builds(Step, _any_function(possible) | st.binary(max_size=40))
    single = st.one_of(proving, proving, proving, possible.sources, anything)
    several = st.lists(single.filter(lambda step: not step.to), min_size=1, max_size=3)
    steps = draw(possible.begin)
    for kind in draw(st.lists(st.sampled_from("sssmve"), min_size=1, max_size=MOST_STEPS)):
        if kind == "v":  # verified first, then proven
            step = Step(draw(possible.proofs))
            steps.append(Step(call_data("verify(bytes)", step.call[4:])))
        elif kind == "e":
            step = Step(call_data("endedBy(bytes)", draw(evidence())))
        else:
            step = draw(single) if kind == "s" else together(draw(several))
        steps.append(Step(step.call, draw(st.sampled_from(CALLERS)), step.to, step.vouches))
    return steps
