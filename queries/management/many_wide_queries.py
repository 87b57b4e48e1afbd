"""As many slots of one block as a batch may have, asked for again and again by one account.

What is proven costs nothing again, so that anyone may have asked for it so often.
"""

from collections.abc import Mapping
from datetime import timedelta

from eth_utils.address import to_checksum_address
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.management.many_jobs import DESTINATION, SOURCE, transaction_hash
from queries.management.many_queries import BALANCE, NOW
from queries.models import Batch, BlockJob, Query
from queries.proving.keccak import keccak256
from queries.statuses import BatchStatus, StepName

SLOTS = 5_000
MORE_THAN_A_LIST_SHOWS = 51
AT_ONCE = 5  # rows in a statement, of a megabyte each
ACCOUNT = to_checksum_address(keccak256(b"many slots")[:20])


def add_wide_queries(count: int = MORE_THAN_A_LIST_SHOWS) -> Mapping[str, str]:
    """To what `many_queries.fill` made: of its last block, which lists begin with."""
    job = BlockJob.objects.order_by("-block")[0]
    owner, _ = Account.objects.of_wallet(Wallet(ACCOUNT))
    submitted = [NOW - timedelta(days=1, seconds=count - number) for number in range(count)]
    batches = [
        Batch(
            id=str(ULID.from_datetime(moment)), owner=owner, destination=DESTINATION,
            fee=f"{0:064x}", status=BatchStatus.DONE, submitted=moment, ended=moment,
            request_digest=64 * "a", asked_queries=1, asked_blocks=1,
        )
        for moment in submitted
    ]  # fmt: skip
    Batch.objects.bulk_create(batches)
    rows = (_query(batch, job) for batch in batches)
    Query.objects.bulk_create(rows, batch_size=AT_ONCE)
    return {
        "wide_block": str(job.block),
        "wide_account": ACCOUNT,
        "wide_transaction": transaction_hash(job.pk),
    }


def _query(batch: Batch, job: BlockJob) -> Query:
    query = Query(
        batch=batch, job=job, place=0, source=SOURCE, block=job.block, account=ACCOUNT,
        props=BALANCE, slot_count=SLOTS, slots=[f"{slot:064x}" for slot in range(SLOTS)],
        ended=True, header_transaction_id=job.pk, account_transaction_id=job.pk,
    )  # fmt: skip
    for step in StepName:
        setattr(query, step.began, batch.submitted)
        setattr(query, step.completed, batch.submitted)
    query.keep({"BALANCE": f"{10**18:064x}", **dict.fromkeys(query.slots, f"{1:064x}")})
    return query
