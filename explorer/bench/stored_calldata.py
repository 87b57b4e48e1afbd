"""stored_calldata: what the database takes for a byte of calldata, which is kept as it was signed.

As many transactions are stored with none, and then with that of recorded proofs; what these take
more is the calldata's. The proofs are two of those that `gas_report` holds to a target.
"""

from collections.abc import Iterator, Sequence

from django.utils import timezone

from explorer.bench.recorded import recorded
from explorer.bench.rows import Bench, BenchFailed, Row
from explorer.bench.scratch import scratch
from queries.chain.destination import Fees
from queries.chain.gas.cases import file_cases
from queries.chain.signer import Signer
from queries.management.gas_targets import TARGETS
from queries.management.many_jobs import DESTINATION, REGISTRY
from queries.management.scratch_database import database_bytes
from queries.models import SentTransaction

NAME = "stored_calldata"
SHOWN = {
    TARGETS[0].case: "of a header with one account",
    TARGETS[2].case: "of 100 accounts of a block",
}
STORED = 2**24  # bytes of each, at the least: so that a page more or less does not show
MOST = 1.1
SIGNER, FEES = Signer(f"{1:064x}"), Fees(10**9, 10**8)


def stored_calldata(bench: Bench) -> Iterator[Row]:
    files = recorded(bench.sizes.corpus, SHOWN)
    cases = {case.name: case for file in files for case in file_cases(file)}
    remarks, taken, given = [], 0, 0
    for name, whose in SHOWN.items():
        if name not in cases:
            raise BenchFailed(
                f"{bench.sizes.corpus} lacks the proof {name} whose calldata is stored."
            )
        bench.say(f"the calldata {whose}")
        calls = min(cases[name].ways.values(), key=lambda calls: sum(map(len, calls)))
        calls *= -(-STORED // sum(map(len, calls)))
        length = sum(map(len, calls))
        more = _taken(calls) - _taken([b""] * len(calls))
        remarks.append(f"that {whose}: {more:,} / {length:,} = {more / length:.3f}")
        taken, given = taken + more, given + length
    what = "what the database takes for calldata, beside the calldata"
    yield Row(NAME, what, taken, given, "bytes", most=MOST, remarks=tuple(remarks))


def _taken(calls: Sequence[bytes]) -> int:
    """By as many transactions, each with one of these."""
    signed = {call: _signed(call) for call in set(calls)}
    with scratch():
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
