"""Batches in the database, as a prover leaves them."""

import itertools
from collections.abc import Iterable, Mapping

from queries import transitions
from queries.contracts.create2 import courier_address
from queries.database import stored_facts
from queries.database.clock import shared_now
from queries.facts import BLOCK_AT_TIME, facts_of
from queries.models import Batch, BlockJob, Delivery, Fact, Query, SentHash, SentTransaction, Share
from queries.proving.facts.fact import BlockFact
from queries.proving.headers import FIELD_RULES, FieldFormat, Header, HeaderField, decode_header
from queries.proving.keccak import number_word
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from queries.statuses import BatchStatus, DeliveryState
from tests.queries.api.batch_states import send_transaction
from tests.queries.api.served_api import SEPOLIA, make_key, submitted

ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"
BLOCK = 5_186_021
ETHER = 10**18
wallets = itertools.count(7 * 10**30)  # one account cannot have enough keys


def header_of(number: int, *, extra: bytes = b"") -> Header:
    """A header of the present fork; headers differ by number and time only."""
    numbers = {
        HeaderField.BLOCK_NUMBER: number,
        HeaderField.TIMESTAMP: 1_700_000_000 + 12 * number,
        HeaderField.GAS_LIMIT: 30_000_000,
        HeaderField.BASE_FEE_PER_GAS: 1_234_567_890,
    }
    items = []
    for field, rule in enumerate(FIELD_RULES):
        if rule.format is FieldFormat.INTEGER:
            items.append(encode_integer(numbers.get(HeaderField(field), 0)))
        elif rule.format is FieldFormat.FIXED_BYTES:
            items.append(encode_string(bytes([field]) * rule.width))
        else:
            items.append(encode_string(extra))
    return decode_header(encode_list(items))


def submit_accounts(
    accounts: Mapping[str, object],
    *blocks: int,
    source: int = SEPOLIA,
    destination: int = SEPOLIA,
    owner: str = "",
    deliver: Iterable[object] = (),
    **more: object,
) -> str:
    """Submit a batch for these accounts at each of the blocks, by a new owner if none is named."""
    data = {f"block:{number}": {"accounts": accounts, **more} for number in blocks or (BLOCK,)}
    fee = "0" if destination == SEPOLIA else "1000"
    content: dict[str, object] = {
        "destinationChainId": str(destination),
        "fee": fee,
        "data": {str(source): data},
    }
    if deliver:
        content["deliver"] = list(deliver)
    return submitted(make_key(owner or f"0x{next(wallets):040}"), content)


def submit_balances(count: int = 1, blocks: int = 1) -> str:
    """The first account is `ADDRESS`."""
    others = {f"0x{number:040x}": {"props": ["BALANCE"]} for number in range(1, count)}
    accounts = {ADDRESS: {"props": ["BALANCE", "NONCE"], "slots": ["0x1"]}, **others}
    return submit_accounts(accounts, *(BLOCK + number for number in range(blocks)))


def attach(batch_id: str) -> None:
    """Attach the batch's queries to jobs with headers."""
    batch = Batch.objects.get(pk=batch_id)
    for source, block in set(batch.queries.values_list("source", "block")):
        assert block is not None
        header = header_of(block)
        job, _ = BlockJob.objects.get_or_create(
            source=source,
            destination=batch.destination,
            block=block,
            defaults={"header": header.rlp, "block_hash": header.hash.hex()},
        )
        batch.queries.filter(source=source, block=block, job=None).update(job=job)
    stored_facts.add(batch.queries.exclude(job=None))


def prove(batch_id: str, nonce: int | None = None) -> None:
    """Prove all facts of the batch; balances are the block's last three digits, in ether."""
    attach(batch_id)
    if nonce is not None:
        send_transaction(batch_id, nonce)
    batches = Batch.objects.filter(pk=batch_id, status=BatchStatus.RECEIVED)
    batches.update(status=BatchStatus.ACCEPTED)
    for job in BlockJob.objects.filter(queries__batch=batch_id).distinct():
        queries = list(job.queries.filter(batch=batch_id))
        transitions.finish(job, [query.pk for query in queries], _words(job, queries))


def set_delivery(batch_id: str, position: int, state: DeliveryState, **columns: object) -> None:
    """Put the batch's delivery into this state."""
    rows = Delivery.objects.filter(batch=batch_id, position=position)
    rows.update(state=state, due_at=None, **columns)


def send_delivery(batch_id: str, position: int, nonce: int, *, succeeded: bool = True) -> str:
    """The hash of a mined transaction of the batch's delivery, which has cost 45,210 gas."""
    hash_ = f"0x{nonce:064x}"
    row = SentTransaction.objects.create(
        chain=Batch.objects.get(pk=batch_id).destination,
        sender=f"0x{40 * 'a'}",
        to=courier_address(),
        nonce=nonce,
        raw=b"",
        hashes=[hash_],
        max_fee=f"{1:064x}",
        max_cost=f"{90_000:064x}",
        gas_limit=90_000,
        signed_at=shared_now(),
        mined_hash=hash_,
        mined_block=6_000_001,
        gas_used=45_210,
        gas_price=f"{1:064x}",
        succeeded=succeeded,
        confirmed=True,
    )
    SentHash.objects.create(transaction=row, hash=hash_)
    share = {"max_cost": f"{90_000:064x}", "paid": f"{45_210:064x}"}
    Share.objects.create(transaction=row, batch_id=batch_id, **share)
    Delivery.objects.filter(batch=batch_id, position=position).update(transaction=row)
    return hash_


def set_word(batch_id: str, name: str, word: int) -> None:
    """Change the batch's facts of this name."""
    Fact.objects.filter(job__queries__batch=batch_id, name=name).update(word=number_word(word))


def update_queries(batch_id: str, **columns: object) -> None:
    """Change the batch's queries, and the facts of their blocks with them."""
    Query.objects.filter(batch=batch_id).update(**columns)
    for job in BlockJob.objects.filter(queries__batch=batch_id).distinct():
        queries, words = list(job.queries.all()), stored_facts.stored_words(job)
        details = {row.name: row.details or {} for row in Fact.objects.filter(job=job)}
        Fact.objects.filter(job=job).delete()
        stored_facts.add(queries, {name: event for name, event in details.items() if event})
        new_words = {
            fact: words.get((query.account if fact.account else "", fact.name), word)
            for query in queries
            for fact, word in _words(job, [query]).items()
        }
        stored_facts.set_words(queries, new_words, shared_now())


def _words(job: BlockJob, queries: Iterable[Query]) -> dict[BlockFact, bytes]:
    words = {}
    for query in queries:
        for name, fact in facts_of(query).items():
            numbers = {"BALANCE": job.block % 1000 * ETHER, BLOCK_AT_TIME: job.block}
            words[fact] = number_word(numbers.get(name, 1))
    return words
