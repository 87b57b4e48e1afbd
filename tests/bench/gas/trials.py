"""Run cases on local chains, check their facts, and replay them under the rules of other forks."""

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from explorer.demo.local_node import LocalNode, TransactionRevertedError, local_node
from tests.bench.command import BenchError
from tests.bench.corpus import RecordedFile
from tests.bench.gas.cases import Case, file_cases
from tests.bench.gas.chains import MeasuringChain, RegistryKind, native_chain, settable_chain
from tests.rigs.deployed_contracts import error_name, reverted_at_end

PROGRAM = Path(__file__).parents[2] / "js" / "replay.mjs"


@dataclass(frozen=True, slots=True)
class ForkGas:
    """Gas of a transaction by the rules of Osaka, and of the draft of Amsterdam."""

    osaka: int
    amsterdam: int


@dataclass(frozen=True, slots=True)
class Replayer:
    process: subprocess.Popen[str]

    def gas_by_fork(self, node: LocalNode, transaction_hash: str) -> ForkGas:
        """The gas of a transaction that this node has mined, in the state before it."""
        ask = node.rpc.ask
        receipt = ask("eth_getTransactionReceipt", transaction_hash)
        # By its index, because by its hash anvil may still return it as pending.
        index = receipt["blockHash"], receipt["transactionIndex"]
        mined = {
            "transaction": ask("eth_getTransactionByBlockHashAndIndex", *index),
            "block": node.block(receipt["blockNumber"]),
            "prestate": ask(
                "debug_traceTransaction", transaction_hash, {"tracer": "prestateTracer"}
            ),
        }
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self.process.stdin.write(f"{json.dumps(mined)}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise BenchError("A transaction could not be replayed in @ethereumjs/vm.")
        return ForkGas(**json.loads(answer))


@contextmanager
def replayer() -> Iterator[Replayer]:
    """Run the program; its errors go to stderr."""
    command = ["node", str(PROGRAM)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Replayer(process)
        finally:
            process.terminate()


BASE_GAS = 21_000


@dataclass(frozen=True, slots=True)
class Measurement:
    """The cost of a case, in all its transactions together."""

    case: str
    registry: RegistryKind
    bytes: int
    execution_gas: int
    intrinsic_gas: int
    total_gas: int
    floor_gas: int
    facts: int
    transactions: int = 1
    accounts: int | None = None
    note: str = ""
    variants: dict[str, int] = field(default_factory=dict)  # total gas by variant
    amsterdam_variants: dict[str, int] = field(default_factory=dict)  # by that fork's draft

    @property
    def per_account(self) -> int | None:
        return None if self.accounts is None else round(self.total_gas / self.accounts)

    @property
    def above_floor(self) -> int:
        return self.total_gas - self.floor_gas

    @property
    def amsterdam_gas(self) -> int:
        """Of the variant that is cheapest there."""
        return min(self.amsterdam_variants.values())

    @property
    def amsterdam_per_account(self) -> int | None:
        return None if self.accounts is None else round(self.amsterdam_gas / self.accounts)


def floor_gas(data: bytes) -> int:
    """Minimum gas of a transaction with this calldata (EIP-7623)."""
    zeros = data.count(0)
    return BASE_GAS + 10 * zeros + 40 * (len(data) - zeros)


def intrinsic_gas(data: bytes) -> int:
    """Gas of a transaction with this calldata before anything is executed."""
    zeros = data.count(0)
    return BASE_GAS + 4 * zeros + 16 * (len(data) - zeros)


def measure(files: Sequence[RecordedFile]) -> Iterator[Measurement]:
    """Measure all cases of these files."""
    costliest: Measurement | None = None
    for measurement in _run_cases(_ordered_cases(files)):
        yield measurement
        if measurement.case.endswith("/header") and (
            costliest is None or measurement.execution_gas > costliest.execution_gas
        ):
            costliest = measurement
    if costliest is not None:
        note = f"the most expensive of the headers, {costliest.case}"
        yield replace(costliest, case="header/accumulate", note=note)


def _ordered_cases(files: Sequence[RecordedFile]) -> Iterator[tuple[RecordedFile, Case]]:
    for file in files:
        cases = list(file_cases(file))
        for registry in RegistryKind:
            yield from ((file, case) for case in cases if case.registry is registry)


def _run_cases(cases: Iterable[tuple[RecordedFile, Case]]) -> Iterator[Measurement]:
    """Measure each case on its file's chain."""
    current: tuple[str, RegistryKind] | None = None
    with ExitStack() as shared, ExitStack() as native:
        node = shared.enter_context(local_node("--steps-tracing"))
        replay = shared.enter_context(replayer())
        chain: MeasuringChain | None = None
        for file, case in cases:
            if chain is None or current != (file.name, case.registry):
                native.close()
                current = (file.name, case.registry)
                if case.registry is RegistryKind.NATIVE:
                    chain = native.enter_context(native_chain(file.block))
                else:
                    chain = settable_chain(node, file.block, case.registry)
            yield run_case(chain, case, replay)


def run_case(chain: MeasuringChain, case: Case, replay: Replayer) -> Measurement:
    """Measure the variants of a case; return the cheapest."""
    tried = {
        name: _run_variant(chain, case, name, calls, replay)
        for name, calls in case.variants.items()
    }
    cheapest = min(tried.values(), key=lambda measurement: measurement.total_gas)
    totals = {name: measurement.total_gas for name, measurement in tried.items()}
    amsterdam = {name: measurement.amsterdam_gas for name, measurement in tried.items()}
    return replace(cheapest, variants=totals, amsterdam_variants=amsterdam)


def _run_variant(
    chain: MeasuringChain, case: Case, variant: str, calls: tuple[bytes, ...], replay: Replayer
) -> Measurement:
    with reverted_at_end(chain.node):
        try:
            if case.accumulated:
                chain.accumulate()
            sent = [_send(chain, call, replay) for call in calls]
        except TransactionRevertedError as reverted:
            name = chain.kind.value.partition(",")[0]
            error = error_name(name, reverted.data)
            raise BenchError(f"{case.name}: {name} refused it with {error}.") from reverted
        for fact in case.facts:
            value = fact.read(chain.reads)
            if value != fact.value:
                raise BenchError(
                    f"{case.name}: {fact.name} was proven as {fact.value!r}, "
                    f"but the registry answers {value!r}."
                )
    return Measurement(
        case=case.name,
        registry=case.registry,
        bytes=sum(map(len, calls)),
        execution_gas=sum(execution for execution, *_ in sent),
        intrinsic_gas=sum(map(intrinsic_gas, calls)),
        total_gas=sum(total for _, total, _ in sent),
        amsterdam_variants={variant: sum(amsterdam for *_, amsterdam in sent)},
        floor_gas=sum(map(floor_gas, calls)),
        facts=len(case.facts),
        transactions=len(calls),
        accounts=case.accounts,
        note=", ".join(filter(None, (case.note, variant))),
    )


def _send(chain: MeasuringChain, call: bytes, replay: Replayer) -> tuple[int, int, int]:
    """Return the gas of the execution, of the whole transaction, and of that on Amsterdam."""
    receipt = chain.node.send(chain.registry, call)
    trace = chain.node.rpc.ask("trace_transaction", receipt.transaction)
    execution = int(trace[0]["result"]["gasUsed"], 16)
    # Without cleared slots there are no refunds, so this is the whole rule.
    if receipt.gas_used != max(intrinsic_gas(call) + execution, floor_gas(call)):
        raise BenchError(
            f"A transaction used {receipt.gas_used:,} gas, which does not follow from "
            f"{execution:,} gas of execution by Osaka's rules."
        )
    replayed = replay.gas_by_fork(chain.node, receipt.transaction)
    if replayed.osaka != receipt.gas_used:
        raise BenchError(
            f"A transaction used {receipt.gas_used:,} gas, and {replayed.osaka:,} when it was "
            "replayed by Osaka's rules."
        )
    return execution, receipt.gas_used, replayed.amsterdam
