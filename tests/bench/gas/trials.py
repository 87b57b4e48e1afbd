"""Run cases on local chains, and report only what was proven to have worked."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from queries.chain.local_node import LocalNode, TransactionReverted, local_node
from queries.chain.solidity import selector
from tests.bench.command import BenchFailed
from tests.bench.corpus import RecordedFile
from tests.bench.gas.cases import Case, file_cases, read_cases
from tests.bench.gas.chains import MeasuringChain, RegistryKind, native_chain, settable_chain
from tests.builds import artifact
from tests.local_chain import undone

BASE_GAS = 21_000
SLOT_SET = 20_000  # of a slot that was zero and is already warm
COLD_READ = 2_100
PARTS = {
    "stored": ("slot stored", "slots stored"),
    "read": ("slot read", "slots read"),
    "event": ("event", "events"),
    "call": ("call of a system contract", "calls of system contracts"),
    "hash": ("hash", "hashes"),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a case cost, in all its transactions together."""

    case: str
    registry: RegistryKind
    bytes: int
    execution_gas: int
    total_gas: int
    floor_gas: int
    facts: int
    transactions: int = 1
    accounts: int | None = None
    note: str = ""
    parts: dict[str, int] = field(default_factory=dict)  # of the execution, if above the floor
    ways: dict[str, int] = field(default_factory=dict)  # total gas of each way that was tried

    @property
    def per_account(self) -> int | None:
        return None if self.accounts is None else round(self.total_gas / self.accounts)

    @property
    def above_floor(self) -> int:
        return self.total_gas - self.floor_gas


def floor_gas(data: bytes) -> int:
    """The least that a transaction with this calldata costs, by EIP-7623."""
    zeros = data.count(0)
    return BASE_GAS + 10 * zeros + 40 * (len(data) - zeros)


def intrinsic_gas(data: bytes) -> int:
    """What a transaction with this calldata costs before anything is executed."""
    zeros = data.count(0)
    return BASE_GAS + 4 * zeros + 16 * (len(data) - zeros)


def measure(files: Sequence[RecordedFile]) -> Iterator[Measured]:
    """Measure everything that these files give, a file and a registry at a time."""
    dearest: Measured | None = None
    for measured in _run_cases(_planned(files)):
        yield measured
        if measured.case.endswith("/header") and (
            dearest is None or measured.execution_gas > dearest.execution_gas
        ):
            dearest = measured
    if dearest is not None:
        note = f"the dearest of the headers, {dearest.case}"
        yield replace(dearest, case="header/accumulate", note=note)


def _planned(files: Sequence[RecordedFile]) -> Iterator[tuple[RecordedFile, Case]]:
    for file in files:
        cases = list(file_cases(file))
        for registry in RegistryKind:
            yield from ((file, case) for case in cases if case.registry is registry)
    yield from read_cases(files)


def _run_cases(cases: Iterable[tuple[RecordedFile, Case]]) -> Iterator[Measured]:
    """Measure each case on its file's chain."""
    current: tuple[str, RegistryKind] | None = None
    with ExitStack() as shared, ExitStack() as native:
        node = shared.enter_context(local_node("--steps-tracing"))
        chain: MeasuringChain | None = None
        for file, case in cases:
            if chain is None or current != (file.name, case.registry):
                native.close()
                current = (file.name, case.registry)
                if case.registry is RegistryKind.NATIVE:
                    chain = native.enter_context(native_chain(file.block))
                else:
                    chain = settable_chain(node, file.block, case.registry)
            yield run_case(chain, case)


def run_case(chain: MeasuringChain, case: Case) -> Measured:
    """Measure each way of a case, and return the one with the least gas."""
    tried = {way: _run_way(chain, case, way, calls) for way, calls in case.ways.items()}
    cheapest = min(tried.values(), key=lambda measured: measured.total_gas)
    return replace(cheapest, ways={way: measured.total_gas for way, measured in tried.items()})


@dataclass(frozen=True, slots=True)
class _Sent:
    """One transaction, with the gas and the number of each kind of step if above the floor."""

    execution: int
    total: int
    gas: Counter[str]
    count: Counter[str]


def _run_way(chain: MeasuringChain, case: Case, way: str, calls: tuple[bytes, ...]) -> Measured:
    with undone(chain.node):
        try:
            if case.accumulated:
                chain.accumulate()
            for call in case.before:
                chain.node.send(chain.registry, call)
            sent = [_send(chain, call) for call in calls]
        except TransactionReverted as reverted:
            raise BenchFailed(f"{case.name}: {_refusal(chain, reverted)}.") from reverted
        for fact in case.facts:
            found = fact.read(chain.reads)
            if found != fact.value:
                raise BenchFailed(
                    f"{case.name}: {fact.name} was proven as {fact.value!r}, "
                    f"and the registry answers {found!r}."
                )
    return Measured(
        case=case.name,
        registry=case.registry,
        bytes=sum(map(len, calls)),
        execution_gas=sum(each.execution for each in sent),
        total_gas=sum(each.total for each in sent),
        floor_gas=sum(map(floor_gas, calls)),
        facts=len(case.facts) if case.stores else 0,
        transactions=len(calls),
        accounts=case.accounts,
        note=", ".join(filter(None, (case.note, way))),
        parts=_parts(sent),
    )


def _send(chain: MeasuringChain, call: bytes) -> _Sent:
    receipt = chain.node.send(chain.registry, call)
    trace = chain.node.rpc.ask("trace_transaction", receipt.transaction)
    execution = int(trace[0]["result"]["gasUsed"], 16)
    floor = floor_gas(call)
    # Nothing is ever cleared, so there are no refunds and this is the whole rule.
    if receipt.gas_used != max(intrinsic_gas(call) + execution, floor):
        raise BenchFailed(
            f"A transaction used {receipt.gas_used:,} gas, which does not follow from its "
            f"{execution:,} of execution by Osaka's rules."
        )
    steps = _steps(chain.node, receipt.transaction) if receipt.gas_used > floor else []
    gas, count = _gas_of_steps(steps, execution)
    return _Sent(execution, receipt.gas_used, gas, count)


def _steps(node: LocalNode, transaction: str) -> list[dict[str, Any]]:
    """What the registry itself executed."""
    wanted = {"disableMemory": True, "disableStack": True, "disableStorage": True}
    traced = node.rpc.ask("debug_traceTransaction", transaction, wanted)
    return [step for step in traced["structLogs"] if step["depth"] == 1]


def _gas_of_steps(
    steps: Sequence[dict[str, Any]], execution: int
) -> tuple[Counter[str], Counter[str]]:
    """Gas and number of the steps of each kind. A step's cost includes all that it called.

    The registry reads each slot before it stores it, so the price of a new slot is in two steps:
    2,100 for the first touch and 20,000 for setting it.
    """
    gas: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for step, following in pairwise(steps):
        cost = step["gas"] - following["gas"]
        kind = _kind(step["op"], cost)
        gas[kind] += cost
        count[kind] += 1
    touched = min(count["stored"], count["read"])
    gas["stored"] += touched * COLD_READ
    gas["read"] -= touched * COLD_READ
    count["read"] -= touched
    gas["rest"] = execution - sum(gas[kind] for kind in PARTS) if steps else 0
    return gas, count


def _kind(operation: str, cost: int) -> str:
    if operation == "SSTORE" and cost >= SLOT_SET:
        return "stored"
    if operation == "SLOAD" and cost == COLD_READ:
        return "read"
    if operation.startswith("LOG"):
        return "event"
    if operation in {"STATICCALL", "CALL", "DELEGATECALL"}:
        return "call"
    return "hash" if operation == "KECCAK256" else "rest"


def _parts(sent: Iterable[_Sent]) -> dict[str, int]:
    """Gas by what it paid for, such as "2 slots stored", with the rest at the end."""
    gas: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for each in sent:
        gas += each.gas
        count += each.count
    named = {
        f"{count[kind]:,} {names[count[kind] != 1]}": gas[kind]
        for kind, names in PARTS.items()
        if gas[kind]
    }
    return {**named, "the rest": gas["rest"]} if gas else {}


def _refusal(chain: MeasuringChain, reverted: TransactionReverted) -> str:
    """The contract's own error by its name, which its interface gives."""
    name = chain.kind.value.partition(",")[0]
    for entry in artifact(name).abi:
        if entry["type"] == "error":
            types = ",".join(argument["type"] for argument in entry["inputs"])
            if selector(f"{entry['name']}({types})") == reverted.data[:4]:
                return f"the registry refused it with {entry['name']}(0x{reverted.data[4:].hex()})"
    return "the registry refused it without a reason"
