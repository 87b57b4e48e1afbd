"""Run cases on local chains, and report only what was proven to have worked."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from explorer.demo.local_node import TransactionReverted, local_node
from tests.bench.command import BenchFailed
from tests.bench.corpus import RecordedFile
from tests.bench.gas.cases import Case, file_cases, read_cases
from tests.bench.gas.chains import MeasuringChain, RegistryKind, native_chain, settable_chain
from tests.rigs.local_chain import error_name, undone

BASE_GAS = 21_000


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


def _run_way(chain: MeasuringChain, case: Case, way: str, calls: tuple[bytes, ...]) -> Measured:
    with undone(chain.node):
        try:
            if case.accumulated:
                chain.accumulate()
            for call in case.before:
                chain.node.send(chain.registry, call)
            sent = [_send(chain, call) for call in calls]
        except TransactionReverted as reverted:
            name = chain.kind.value.partition(",")[0]
            error = error_name(name, reverted.data)
            raise BenchFailed(f"{case.name}: {name} refused it with {error}.") from reverted
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
        execution_gas=sum(execution for execution, _ in sent),
        total_gas=sum(total for _, total in sent),
        floor_gas=sum(map(floor_gas, calls)),
        facts=len(case.facts) if case.stores else 0,
        transactions=len(calls),
        accounts=case.accounts,
        note=", ".join(filter(None, (case.note, way))),
    )


def _send(chain: MeasuringChain, call: bytes) -> tuple[int, int]:
    """The gas of the execution alone, and that of the whole transaction."""
    receipt = chain.node.send(chain.registry, call)
    trace = chain.node.rpc.ask("trace_transaction", receipt.transaction)
    execution = int(trace[0]["result"]["gasUsed"], 16)
    # Nothing is ever cleared, so there are no refunds and this is the whole rule.
    if receipt.gas_used != max(intrinsic_gas(call) + execution, floor_gas(call)):
        raise BenchFailed(
            f"A transaction used {receipt.gas_used:,} gas, which does not follow from its "
            f"{execution:,} of execution by Osaka's rules."
        )
    return execution, receipt.gas_used
