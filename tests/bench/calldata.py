"""gas and stored_calldata: what recorded proofs cost on chain, and in the database.

gas compares what a header with one account costs with the least that its calldata costs. It runs
all cases of `make gas`. stored_calldata compares the bytes that the database takes for calldata
with the calldata: as many transactions are stored with none, and then with that of recorded proofs.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from django.utils import timezone

from queries.chain.signer import Fees, Signer
from queries.models import SentTransaction
from tests.bench.command import BenchFailed
from tests.bench.corpus import read_corpus
from tests.bench.database import database_bytes, scratch_database
from tests.bench.gas.cases import file_cases
from tests.bench.gas.targets import TARGETS, Target
from tests.bench.gas.trials import Measured, measure
from tests.bench.past import DESTINATION, REGISTRY
from tests.bench.rows import Bench, Row

MOST_GAS = 1.001  # total over floor
ONE_ACCOUNT = TARGETS[0]
STORED = {
    ONE_ACCOUNT.case: "of a header with one account",
    TARGETS[2].case: "of 100 accounts of a block",
}
NEEDED = {"gas": [ONE_ACCOUNT.case], "stored_calldata": list(STORED)}  # cases, by row
STORED_BYTES = 2**24  # of each, at least: so that a page more or less does not show
MOST_STORED = 1.1
SIGNER, FEES = Signer(f"{1:064x}"), Fees(10**9, 10**8)


def check_corpus(folder: Path, wanted: Collection[str]) -> None:
    """Fail before anything is measured if a wanted row lacks its recorded block."""
    rows = sorted(wanted & NEEDED.keys())
    if not rows:
        return
    there = {file.name for file in read_corpus(folder)}
    blocks = [case.partition("/")[0] for row in rows for case in NEEDED[row]]
    if missing := [block for block in blocks if block not in there]:
        raise BenchFailed(
            f"{folder} lacks {missing[0]}.json, for {' and '.join(rows)}. Name the folder of "
            "recorded blocks with --corpus, or choose other rows."
        )


def gas(bench: Bench) -> Iterator[Row]:
    bench.say("every recorded block, as `make gas` does it")
    cases = {each.case: each for each in measure(read_corpus(bench.sizes.corpus))}
    if (shown := cases.get(ONE_ACCOUNT.case)) is None:
        raise BenchFailed(f"{bench.sizes.corpus} lacks the proof {ONE_ACCOUNT.case}.")
    yield Row(
        "gas",
        f"{ONE_ACCOUNT.name} in one transaction, beside its calldata's floor",
        shown.total_gas,
        shown.floor_gas,
        "gas",
        most=MOST_GAS,
        remarks=tuple(
            _remark(target, each) for target in TARGETS if (each := cases.get(target.case))
        ),
    )


def _remark(target: Target, measured: Measured) -> str:
    """Total and floor, for each account where the target is for each."""
    of = measured.accounts or 1 if target.figure == "per_account" else 1
    total, floor = measured.total_gas / of, measured.floor_gas / of
    compared = f"{target.name}: {total:,.0f} / {floor:,.0f} = {total / floor:.3f}"
    if target.floor_rules:
        return compared
    held = f"in make gas {getattr(measured, target.figure):,} of at most {target.most:,}"
    return f"not held to the floor: {compared}; {held}"


def stored_calldata(bench: Bench) -> Iterator[Row]:
    files = read_corpus(bench.sizes.corpus)
    cases = {case.name: case for file in files for case in file_cases(file)}
    remarks, taken, given = [], 0, 0
    for name, whose in STORED.items():
        if name not in cases:
            raise BenchFailed(f"{bench.sizes.corpus} lacks the proof {name}.")
        bench.say(f"the calldata {whose}")
        calls = min(cases[name].ways.values(), key=lambda calls: sum(map(len, calls)))
        calls *= -(-STORED_BYTES // sum(map(len, calls)))
        length = sum(map(len, calls))
        more = _database_bytes_of(calls) - _database_bytes_of([b""] * len(calls))
        remarks.append(f"that {whose}: {more:,} / {length:,} = {more / length:.3f}")
        taken, given = taken + more, given + length
    what = "what the database takes for calldata, beside the calldata"
    yield Row(
        "stored_calldata", what, taken, given, "bytes", most=MOST_STORED, remarks=tuple(remarks)
    )


def _database_bytes_of(calls: Sequence[bytes]) -> int:
    """What the database takes for as many transactions, each with one of these calls."""
    signed = {call: _signed(call) for call in set(calls)}
    with scratch_database():
        empty = database_bytes()
        SentTransaction.objects.bulk_create(
            (SentTransaction(nonce=nonce, **signed[call]) for nonce, call in enumerate(calls)),
            batch_size=100,
        )
        return database_bytes() - empty


def _signed(call: bytes) -> dict[str, object]:
    signed = SIGNER.sign(DESTINATION, 0, REGISTRY, call, 500_000, FEES)
    return {
        "chain": DESTINATION,
        "sender": SIGNER.address,
        "raw": signed.raw,
        "hashes": [signed.hash],
        "max_fee": f"{FEES.dearest:064x}",
        "gas_limit": 500_000,
        "most": f"{FEES.dearest * 500_000:064x}",
        "signed": timezone.now(),
    }
