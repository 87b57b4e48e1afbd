"""Accounts that are named by ENS: whom each name means at the block that is proven."""

from collections.abc import Iterable

from queries.chain.ens import EnsFault
from queries.models import Query
from queries.pipeline.chains import Chains
from queries.proving.headers import Header
from queries.schema.addresses import Address
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode


def find_accounts(chains: Chains, header: Header, queries: Iterable[Query]) -> None:
    """Give queries of one block their accounts, unsaved; `EnsFault` where one has none."""
    named = [query for query in queries if query.name and not query.account]
    if not named:
        return
    names = list(dict.fromkeys(query.name for query in named))
    found = chains.names(named[0].source).addresses(header, names)
    addresses = dict(zip(names, found, strict=True))
    for query in named:
        query.account = Address(addresses[query.name]).checksummed


def find_batchs_accounts(chains: Chains, batch: str) -> Reason | None:
    """The same for a batch whose blocks are all known, saved; or what it waits for."""
    blocks: dict[tuple[int, int], list[Query]] = {}
    for query in Query.objects.filter(batch=batch, account="").exclude(name=""):
        blocks.setdefault((query.source, query.block or 0), []).append(query)
    for source, block in blocks:
        head = chains.head(source)
        if not head.is_final(block):
            return Reason(WaitCode.BLOCK_NOT_FINAL, head.why_not_final(block))
    for (source, block), queries in blocks.items():
        find_accounts(chains, chains.source(source).header(block), queries)
        Query.objects.bulk_update(queries, ["account"], batch_size=200)
    return None


def failure_of(fault: EnsFault) -> Failure:
    return Failure(fault.code, str(fault), StepName.INITIAL_STATE, retryable=fault.retryable)
