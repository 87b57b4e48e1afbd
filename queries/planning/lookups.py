"""Look up blocks by their time and accounts by their ENS names."""

from collections.abc import Iterable

from eth_utils.address import to_checksum_address

from accounts.shared.wording import format_timestamp
from queries.chain.ens import resolve_names
from queries.chain.errors import ChainError
from queries.chain.registry import FactRead
from queries.facts import BLOCK_AT_TIME, account_fields, header_names
from queries.models import Query
from queries.planning.readers import ChainReaders
from queries.proving.bundles import FactKind
from queries.proving.headers import Header, HeaderField
from queries.wait_reasons import Reason, WaitCode


def fact_reads(query: Query) -> dict[str, FactRead]:
    """The facts that a query requests, by the names of their values."""
    if (block := query.block) is None:
        raise ValueError("the query's block is not resolved yet")
    reads: dict[str, FactRead] = {}
    if query.timestamp is not None:
        reads[BLOCK_AT_TIME] = FactRead(FactKind.BLOCK_AT_TIME, query.timestamp)
    for name in header_names(query.header_fields):
        reads[name] = FactRead(FactKind.HEADER_FIELD, HeaderField[name], block)
    if query.account:
        account = bytes.fromhex(query.account[2:])
        for prop in account_fields(query.props):
            reads[prop.name] = FactRead(FactKind.ACCOUNT_FIELD, prop, block, account)
        for slot in query.slots:
            reads[slot] = FactRead(FactKind.STORAGE_SLOT, int(slot, 16), block, account)
    return reads


def find_block_at_time(
    chains: ChainReaders, source: int, seconds: int
) -> tuple[int | None, Reason | None]:
    """The last block at a time, or None; and what that block still waits for."""
    head = chains.head(source)
    if head.timestamp <= seconds:
        sentence = f"Chain {source} has no block after {format_timestamp(seconds)} yet."
        return None, Reason(WaitCode.TIME_NOT_REACHED, sentence)
    block, child = chains.client(source).last_block_at(seconds, head)
    if child.number > head.final_number:
        time = format_timestamp(seconds)
        sentence = f"The block after {time} on chain {source} is not final yet."
        return block.number, Reason(WaitCode.BLOCK_NOT_FINAL, sentence)
    return block.number, None


def find_accounts(chains: ChainReaders, header: Header, queries: Iterable[Query]) -> None:
    """Set the accounts of queries of one block by their ENS names, unsaved.

    Raises `EnsUnresolvedError` or `EnsOffChainError` at the first name without an address.
    """
    unresolved = [query for query in queries if query.name and not query.account]
    if not unresolved:
        return
    names = list(dict.fromkeys(query.name for query in unresolved))
    source = chains.client(unresolved[0].source)
    accounts = dict(zip(names, resolve_names(source, header, names), strict=True))
    for query in unresolved:
        account = accounts[query.name]
        if isinstance(account, ChainError):
            raise account
        query.account = to_checksum_address(account)
