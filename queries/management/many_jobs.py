"""The blocks of a made-up past, and the transactions that proved them."""

from datetime import datetime

from queries.management.scratch_rows import Table
from queries.models import BlockJob, SentHash, SentTransaction, TransactionOfJob
from queries.proving.header_fields import FIELD_RULES, Form, HeaderField
from queries.proving.rlp_items import encode_integer, encode_list, encode_string

SOURCE, DESTINATION = 1, 10
FIRST_BLOCK = 18_000_000
SENDER = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
REGISTRY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
ROUTES = f"""
[chains.{SOURCE}]
name = "Ethereum"
nodes = ["http://127.0.0.1:1"]

[chains.{DESTINATION}]
name = "OP Mainnet"
nodes = ["http://127.0.0.1:1"]

[[registries]]
kind = "optimism"
source = {SOURCE}
destination = {DESTINATION}
address = "{REGISTRY}"
"""


def transaction_hash(key: int) -> str:
    return f"0x{key:064x}"


def write_jobs(count: int, now: datetime) -> int:
    """Each with the transaction that proved it: numbered alike, from 1 on."""
    keys = range(1, count + 1)
    jobs, sent = Table(BlockJob), Table(SentTransaction)
    of_job, hashes = Table(TransactionOfJob), Table(SentHash)
    job = jobs.row(
        BlockJob(pk=1, source=SOURCE, destination=DESTINATION, block=0, header=_header())
    )
    jobs.write(
        jobs.like(job, id=key, block=FIRST_BLOCK + key - 1, block_hash=f"{key:064x}")
        for key in keys
    )
    transaction_row = sent.row(
        SentTransaction(
            pk=1, chain=DESTINATION, sender=SENDER, nonce=0, raw=b"\x02" * 1_000,
            max_fee=f"{10**9:064x}", gas_limit=500_000, most=f"{10**15:064x}", signed=now, sent=now,
            mined_block=1, succeeded=True, gas_used=170_480, gas_price=f"{10**9:064x}",
            settled=True,
        )
    )  # fmt: skip
    sent.write(
        sent.like(
            transaction_row,
            id=key,
            nonce=key,
            mined_hash=transaction_hash(key),
            mined_block=key,
        )
        for key in keys
    )
    sent_hash = hashes.row(SentHash(pk=1, transaction_id=1, hash=""))
    hashes.write(
        hashes.like(sent_hash, id=key, transaction_id=key, hash=transaction_hash(key))
        for key in keys
    )
    link = of_job.row(TransactionOfJob(pk=1, job_id=1, transaction_id=1, proves_header=True))
    of_job.write(of_job.like(link, id=key, job_id=key, transaction_id=key) for key in keys)
    return count


def _header() -> bytes:
    """The same for all: pages decode it, and hold it against nothing."""
    numbers = {HeaderField.BLOCK_NUMBER: FIRST_BLOCK, HeaderField.TIMESTAMP: 1_700_000_000}
    items = []
    for field, rule in enumerate(FIELD_RULES):
        if rule.form is Form.INTEGER:
            items.append(encode_integer(numbers.get(HeaderField(field), 10**9)))
        elif rule.form is Form.FIXED:
            items.append(encode_string(bytes([field]) * rule.width))
        else:
            items.append(encode_string(b""))
    return encode_list(items)
