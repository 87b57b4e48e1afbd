"""What an EventsVerifier costs, measured with recorded receipts, transactions and withdrawals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from eth_abi.abi import encode

from queries.contracts.abi import load_artifact
from queries.proving.block_items import bloom_excludes
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import prove_call
from tests.bench.corpus import RecordedBlock as RegistryBlock
from tests.bench.gas.chains import MeasuringChain, native_chain
from tests.bench.gas.trials import floor_gas
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    prove_events_call,
    recorded_blocks,
    verify_call,
)
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)
from tests.rigs.deployed_contracts import reverted_at_end


@dataclass(frozen=True, slots=True)
class EventRow:
    """Gas of the transactions of one kind; `maximum` is the target of their median."""

    name: str
    totals: Sequence[int]
    floors: Sequence[int]
    maximum: int | None = None

    def __str__(self) -> str:
        middle = round(median(self.totals))
        line = f"  {self.name:44} {middle:9,} {min(self.totals):9,} {max(self.totals):9,}"
        ratios = [total / floor for total, floor in zip(self.totals, self.floors, strict=True)]
        line += f" {median(ratios):7.3f} {max(ratios):7.3f}"
        if self.maximum is None:
            return line
        return f"{line}  at most {self.maximum:,}: {'met' if middle <= self.maximum else 'not met'}"


def event_lines(folder: Path) -> Iterator[str]:
    """Rows for the blocks of the folder that have a header and receipts."""
    blocks = [block for block in recorded_blocks(folder) if block.receipts]
    if not blocks:
        return
    names = " ".join(f"{name:>9}" for name in ("median", "least", "most"))
    yield ""
    yield f"{'EventsVerifier beside a NativeRegistry, total':46} {names}   ratio    most"
    measured = [_BlockCosts.measure(block) for block in blocks]
    for name, maximum in TARGETS.items():
        pairs = [pair for costs in measured for pair in costs.pairs[name]]
        totals, floors = zip(*pairs, strict=True)
        yield str(EventRow(name, totals, floors, maximum))


TARGETS: dict[str, int | None] = {
    "one log with its header, verified": 85_000,
    "one log with its header, stored": 107_000,
    "one log under a stored root, verified": 75_000,
    "each further log of a receipt, stored": 26_000,
    "an emitter absent by the bloom, verified": 80_000,
    "a transaction with its header, verified": None,
    "a withdrawal with its header, verified": None,
}


@dataclass(frozen=True)
class _BlockCosts:
    """By row: total and floor of each transaction."""

    pairs: dict[str, list[tuple[int, int]]]

    @classmethod
    def measure(cls, block: RecordedBlock) -> "_BlockCosts":
        header = block.header
        registry_block = RegistryBlock(header.state_root, header.number, header, ())
        costs = cls({name: [] for name in TARGETS})
        with native_chain(registry_block) as chain:
            code = load_artifact("EventsVerifier").bytecode
            verifier = chain.node.deploy(code, encode(["address"], [chain.registry]))
            costs._send_all(chain, verifier, block)
        return costs

    def _send_all(self, chain: MeasuringChain, verifier: str, block: RecordedBlock) -> None:
        names = list(TARGETS)

        def send(place: int, call: bytes) -> int:
            with reverted_at_end(chain.node):
                total = chain.node.send(verifier, call).gas_used
            self.pairs[names[place]].append((total, floor_gas(call)))
            return total

        def verify(place: int, group: Group) -> None:
            send(place, verify_call(block.section(group.field), build_group_witness([group])))

        section = block.section(HeaderField.RECEIPTS_ROOT)
        with_logs = [index for index, receipt in enumerate(block.receipts) if receipt.logs]
        for index in with_logs:
            first = _logs(block, index, 1)
            verify(0, first)
            total = send(1, prove_events_call(section, build_group_witness([first])))
            if (count := len(block.receipts[index].logs)) > 1:
                every = build_group_witness([_logs(block, index, count)])
                call = prove_events_call(section, every)
                with reverted_at_end(chain.node):
                    further = chain.node.send(verifier, call).gas_used - total
                self.pairs[names[3]].append((further // (count - 1), further // (count - 1)))
        with reverted_at_end(chain.node):
            chain.node.send(chain.registry, prove_call([section]))
            for index in with_logs:
                witness = build_group_witness([_logs(block, index, 1)], [block.number])
                send(2, verify_call(b"", witness))
        bloom = block.header.payload(HeaderField.LOGS_BLOOM)
        emitters = [bytes([number]) * 20 for number in range(256)]
        silent = [emitter for emitter in emitters if bloom_excludes(bloom, emitter)]
        for emitter in silent[:20]:
            verify(4, BloomGroup(bloom, [emitter]))
        for index in range(len(block.transactions)):
            verify(5, TransactionGroup(block.transactions, [index]))
        for index in range(len(block.withdrawals)):
            verify(6, WithdrawalGroup(block.withdrawals, [index]))


def _logs(block: RecordedBlock, index: int, count: int) -> ReceiptGroup:
    """The first logs of a receipt."""
    return ReceiptGroup(block.receipts, {index: ReceiptRequest(logs=frozenset(range(count)))})
