"""Random sequences of calls to a registry and its sources of hashes, honest or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from queries.contracts.abi import call_data
from queries.proving import registry_calls
from queries.proving.headers import Header, HeaderField
from queries.proving.registry_calls import (
    SectionHeader,
    SectionKind,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.witnesses import AccountField
from tests.queries.sequences.chains import (
    ABANDONED,
    ACCOUNTS,
    BLOCKS,
    CHAINS,
    CONTRACT,
    FIRST_TIME,
    FOREIGN,
    HISTORY,
    HISTORY_SLOTS,
    LATE,
    NAMES,
    NUMBERS,
    RICH,
    SLOTS,
    TIMES,
    TRUE,
    UNUSED_ADDRESS,
    SourceBlock,
    SourceChain,
)
from tests.queries.tries.random_witnesses import broken_witness, lying_witness
from tests.rigs.deployed_contracts import signature_of

_chains = st.sampled_from((TRUE, TRUE, TRUE, TRUE, ABANDONED, FOREIGN))
_blocks = _chains.flatmap(lambda chain: st.sampled_from(chain.blocks))
_requests = st.dictionaries(
    st.sampled_from(ACCOUNTS),
    st.lists(st.sampled_from(SLOTS), unique=True, max_size=3),
    min_size=1,
    max_size=3,
)
_account_fields = st.just(frozenset(AccountField)) | st.frozensets(st.sampled_from(AccountField))
_header_fields = st.frozensets(st.sampled_from(HeaderField), max_size=4)
# The fault of a section: at most one, so that no other check hides it.
_accumulated_faults = st.sampled_from(
    ("nothing", "nothing", "lying", "lying", "broken", "number", "time", "hash", "state")
)
_header_faults = st.sampled_from(
    ("nothing",) * 5
    + ("lying", "times", "unlinked") * 2
    + ("broken", "state", "count", "omitted", "reordered", "spliced")
    + ("parent omitted", "beacon root omitted")
)


@dataclass(frozen=True)
class HeaderRow:
    """Consecutive headers, before they are encoded."""

    headers: Sequence[Header]
    states: Mapping[bytes, SourceBlock]  # by the header's hash


@st.composite
def _witnesses(draw: st.DrawFn, block: SourceBlock, fault: str) -> bytes:
    requests = draw(_requests)
    if fault == "lying":
        return draw(lying_witness(block.with_requests(requests), NAMES, shifts=draw(st.booleans())))
    honest = block.witness(requests, draw(_account_fields))
    return draw(broken_witness(honest)) if fault == "broken" else honest


@st.composite
def _accumulated(draw: st.DrawFn) -> bytes:
    block, fault = draw(_blocks), draw(_accumulated_faults)
    parts = {part: draw(_blocks) if part == fault else block for part in _PARTS}
    return accumulated_section(
        parts["number"].number,
        parts["time"].header.timestamp,
        parts["hash"].header.hash,
        draw(_witnesses(parts["state"], fault)),
    )


_PARTS = ("number", "time", "hash", "state")


@st.composite
def _rows(draw: st.DrawFn, plain: Sequence[Header], fault: str) -> HeaderRow:
    """Headers of one chain, perhaps with one omitted, reordered, or another chain's before them."""
    chain = draw(_chains)
    states = {block.header.hash: block for block in chain.blocks}
    own = [block.header for block in chain.blocks]
    headers = list(plain) if plain and draw(st.integers(0, 5)) == 5 else own
    first = draw(st.integers(0, len(headers) - 1))
    row = headers[first : first + draw(st.integers(1, 4))]
    if fault == "omitted":
        del row[draw(st.integers(0, len(row) - 1))]
    elif fault == "reordered":
        row = draw(st.permutations(row))
    elif fault in {"spliced", "unlinked"}:
        other: SourceChain = draw(st.sampled_from((ABANDONED, FOREIGN)))
        states |= {block.header.hash: block for block in other.blocks}
        row = [draw(st.sampled_from(other.blocks)).header, *row]
    return HeaderRow(row, states)


@st.composite
def _headers(draw: st.DrawFn, plain: Sequence[Header]) -> bytes:
    fault = draw(_header_faults)
    row = draw(_rows(plain, fault))
    parts = []
    for place, header in enumerate(row.headers):
        state = row.states.get(header.hash)
        if state is not None and fault == "state":
            state = draw(_blocks)
        step = SectionHeader(
            header,
            draw(_witnesses(state, fault)) if state and draw(st.booleans()) else b"",
            accumulate=draw(st.booleans()),
            fields=draw(_header_fields) if draw(st.booleans()) else frozenset(),
            timestamps=draw(_times(row.headers, place, fault)),
            parent_known=fault == "parent omitted",
            beacon_known=fault == "beacon root omitted",
        )
        # A careless reader would accept a parent's hash with every header.
        parts.append(registry_calls.encode_header(step, first=place == 0 or fault == "unlinked"))
    count = draw(st.integers(0, 5)) if fault == "count" else len(parts)
    return bytes((SectionKind.HEADERS,)) + count.to_bytes(2, "big") + b"".join(parts)


def _times(row: Sequence[Header], place: int, fault: str) -> st.SearchStrategy[tuple[int, ...]]:
    """Timestamps at or near which the previous header was the last block."""
    own, before = row[place].timestamp, row[max(place - 1, 0)].timestamp
    times = [before, before + 1, max(own - 1, 0)]
    if fault == "times":
        times += [before - 1, own, own, own + 1, FIRST_TIME]
    elif place == 0 or not before < own:
        return st.just(())
    return st.lists(st.sampled_from(times), max_size=2).map(tuple)


@st.composite
def _hops(draw: st.DrawFn) -> list[bytes]:
    """A hop to an earlier block, with at most one fault, and facts of that block."""
    chain = draw(_chains)
    index = draw(st.integers(0, len(chain.blocks) - 2))
    start, target = (
        chain.blocks[draw(st.integers(index + 1, len(chain.blocks) - 1))],
        chain.blocks[index],
    )
    fault = draw(st.sampled_from(("nothing",) * 4 + ("slot", "state", "owner", "target", "late")))
    slot = draw(st.sampled_from(HISTORY_SLOTS)) if fault == "slot" else HISTORY_SLOTS[index + 1]
    owner = draw(st.sampled_from(ACCOUNTS)) if fault == "owner" else HISTORY
    state = draw(_blocks) if fault == "state" else start
    witness = state.witness({owner: [slot if owner == HISTORY else SLOTS[0]]}, frozenset())
    if fault == "target":
        other = draw(_chains)
        target = draw(st.sampled_from((other.blocks[index], draw(_blocks))))
    header = start.header
    if draw(st.booleans()):
        words = (header.number, header.timestamp, header.hash)
        first = [accumulated_section(*words, witness, is_hop=True)]
    else:
        first = [headers_section([SectionHeader(header, witness, is_hop=True)])]
    step = SectionHeader(
        target.header,
        target.witness(draw(_requests), draw(_account_fields)),
        accumulate=draw(st.booleans()),
        fields=draw(_header_fields),
    )
    between = [headers_section([SectionHeader(draw(_blocks).header)])] if fault == "late" else []
    return [*first, *between, headers_section([step])]


def absent_after_present() -> bytes:
    """A section of accounts and slots that exist, then one of absent ones."""
    block, fields = TRUE.blocks[3], frozenset(AccountField)
    exist = block.witness({CONTRACT: SLOTS}, fields)
    words = (block.number, block.header.timestamp, block.header.hash)
    absent = block.witness(dict.fromkeys((RICH, LATE, UNUSED_ADDRESS), SLOTS), fields)
    step = SectionHeader(block.header, exist, accumulate=True)
    return prove_call([headers_section([step]), accumulated_section(*words, absent)])


@st.composite
def evidence(draw: st.DrawFn) -> bytes:
    """Evidence against a true state root, with at most one fault."""
    chain = draw(_chains)
    first = draw(st.integers(0, len(chain.blocks) - 1))
    last = draw(st.integers(first, len(chain.blocks) - 1))
    fault = draw(st.sampled_from(("nothing", "nothing", "state", "slots", "owner")))
    place = draw(st.integers(0, BLOCKS - 1)) if fault == "slots" else first
    owner = draw(st.sampled_from(ACCOUNTS)) if fault == "owner" else HISTORY
    slots = HISTORY_SLOTS[place : place + 2] if owner == HISTORY else SLOTS[:2]
    witness = (draw(_blocks) if fault == "state" else chain.blocks[last]).witness(
        {owner: slots}, frozenset()
    )
    steps = [SectionHeader(block.header) for block in chain.blocks[first : last + 1]]
    steps[0] = replace(steps[0], fields=frozenset({HeaderField.PARENT_HASH}))
    steps[-1] = replace(steps[-1], witness=witness)
    return headers_section(steps)


def proofs(plain: Sequence[Header] = ()) -> st.SearchStrategy[bytes]:
    """`plain` are consecutive headers whose states are not known here."""
    section = (_headers(plain) | _headers(plain) | _accumulated()).map(lambda content: [content])
    any_of = st.integers(0, 6).flatmap(lambda n: _hops() if n == 6 else section)
    one, two = (st.lists(any_of, min_size=count, max_size=count) for count in (1, 2))
    return _proofs(st.sampled_from((one, one, two)))


@st.composite
def _proofs(
    draw: st.DrawFn, lists: st.SearchStrategy[st.SearchStrategy[list[list[bytes]]]]
) -> bytes:
    drawn = draw(draw(lists))
    call = prove_call([section for sections in drawn for section in sections])
    return call[:4] + draw(broken_witness(call[4:])) if draw(st.integers(0, 30)) == 30 else call


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
        # Of `verify` and `lowerHorizon`
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


def sequences(actions: Actions) -> st.SearchStrategy[list[Step]]:
    """The strategies are made once, because that takes longer than to draw from them."""
    proving = st.builds(Step, actions.proofs)
    other = st.builds(Step, _any_call(actions) | st.binary(max_size=40))
    single = st.one_of(proving, proving, proving, actions.sources, other)
    several = st.lists(single.filter(lambda step: not step.to), min_size=1, max_size=3)
    return _sequences(actions, single, several)


@st.composite
def _sequences(
    draw: st.DrawFn,
    actions: Actions,
    single: st.SearchStrategy[Step],
    several: st.SearchStrategy[list[Step]],
) -> list[Step]:
    steps = draw(actions.first_steps)
    for kind in draw(st.lists(st.sampled_from("sssmve"), min_size=1, max_size=MAX_STEPS)):
        if kind == "v":
            step = Step(draw(actions.proofs))
            steps.append(Step(call_data("verify(bytes)", step.call[4:])))
        elif kind == "e":
            step = Step(call_data("lowerHorizon(bytes)", draw(evidence())))
        else:
            step = draw(single) if kind == "s" else multicall_step(draw(several))
        steps.append(Step(step.call, draw(st.sampled_from(CALLERS)), step.to, step.known_blocks))
    return steps
