"""Put batches into states as a prover does."""

from datetime import UTC, datetime, timedelta

from queries.chain.signer import Fees, Signer, UnsignedTransaction
from queries.models import Batch, BlockJob, Fact, JobTransaction, Query, SentHash, SentTransaction
from queries.statuses import StepName
from tests.queries.api.served_api import SEPOLIA

# Its calldata proves nothing.
SIGNED = Signer(f"0x{1:064x}").sign(
    UnsignedTransaction(SEPOLIA, 0, f"0x{40 * 'b'}", b"", 500_000, Fees(1, 1))
)

BEGIN = datetime(2026, 11, 20, 7, 41, 3, 204_000, tzinfo=UTC)
HASHES = ["0x" + 64 * "1", "0x" + 64 * "2"]


def set_status(batch_id: str, status: str, **changes: object) -> None:
    Batch.objects.filter(pk=batch_id).update(status=status, **changes)


def run_steps(batch_id: str, *steps: StepName, completed: bool = True) -> None:
    """Begin these steps of all queries, a second after each other, and complete them."""
    for number, step in enumerate(steps):
        began = BEGIN + timedelta(seconds=number)
        changes = {step.began_column: began}
        if completed:
            changes[step.completed_column] = began + timedelta(seconds=1)
        Query.objects.filter(batch=batch_id).update(**changes)


def send_transaction(batch_id: str, nonce: int = 0, *, mined: bool = True) -> SentTransaction:
    """Make the transaction of all queries of the batch."""
    job, _ = BlockJob.objects.get_or_create(source=SEPOLIA, destination=SEPOLIA, block=5186021)
    sent = SentTransaction.objects.create(
        chain=SEPOLIA,
        sender="0x" + 40 * "a",
        nonce=nonce,
        raw=SIGNED.raw,
        hashes=HASHES,
        max_fee=f"{1:064x}",
        max_cost=f"{200_000:064x}",
        gas_limit=200_000,
        signed_at=BEGIN,
        mined_hash=HASHES[0] if mined else "",
        mined_block=6_000_000 if mined else None,
        gas_used=170_480 if mined else None,
        succeeded=True if mined else None,
    )
    SentHash.objects.bulk_create(SentHash(transaction=sent, hash=text) for text in HASHES)
    JobTransaction.objects.create(job=job, transaction=sent, proves_header=True)
    Query.objects.filter(batch=batch_id).update(header_transaction=sent, account_transaction=sent)
    Fact.objects.filter(job__queries__batch=batch_id).update(transaction=sent)
    return sent
