"""Read facts back from a registry, by quorum, and compare them with the source's own proofs.

If others had proven the facts, their proofs are fetched and stored, for the proof file.
If facts are missing although a transaction was mined for them, a quorum has to confirm that.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from accounts.wording import format_count
from queries.chain import (
    PROOF_TOO_OLD_ERRORS,
    BlockUnknownError,
    ChainClient,
    ChainError,
    RegistryAbsentError,
    RegistryMisreadError,
)
from queries.database import stored_proofs
from queries.database.handler import Wait
from queries.models import SentTransaction, Share
from queries.planning.calls import Anchor
from queries.planning.events import cut_events
from queries.prover.job_pass import JobPass
from queries.prover.proofs import (
    fetch_account_proofs,
    store_events,
    store_later_headers,
    unstored_events,
)
from queries.proving import Header, block_leaf
from queries.proving.facts import BlockFact, group_facts
from queries.sources import EMPTY_WORD, Registry, RegistryBlock, RegistryReader
from queries.transactions.destination_reorgs import has_left_its_block
from queries.wait_reasons import Reason, WaitCode

LEFT_ITS_BLOCK = Reason(
    WaitCode.TRANSACTION_PENDING,
    "A reorg removed its transaction from its block; it is sent again unless it was mined again.",
)


def read_confirmed_registry_block(job_pass: JobPass) -> RegistryBlock:
    """Read the block from the registry by quorum, each node at its confirmation depth."""

    def read_confirmed_block(
        node: ChainClient, header: Header, facts: tuple[BlockFact, ...]
    ) -> RegistryBlock:
        registry_reader = RegistryReader(node, job_pass.registry)
        try:
            return registry_reader.read_block(header, facts, node.confirmed_block(head))
        except RegistryAbsentError:  # it was deployed after that block
            return RegistryBlock(dict.fromkeys(facts), EMPTY_WORD, block_leaf(header))

    head, facts = job_pass.destination_head.number, tuple(job_pass.all_facts)
    return job_pass.destination.ask_quorum(read_confirmed_block, job_pass.header, facts)


def read_back(
    job_pass: JobPass, confirmed_registry_block: RegistryBlock | None = None
) -> Wait | None:
    """Put the words that a quorum reads, each node at its confirmation depth, into the findings.

    `confirmed_registry_block`: the result of `read_confirmed_registry_block`, if known. Returns
    what the other queries wait for, or None. Queries of batches with unconfirmed transactions wait
    too, because their cost is not final.
    """
    depth = format_count(job_pass.destination.chain.depth, "confirmation")
    sentence = f"Proven; waiting for {depth}."
    confirming_reason = Reason(WaitCode.CONFIRMING, sentence)
    unconfirmed_rows = job_pass.job.transactions.filter(confirmed=False, succeeded=True)
    unconfirmed_shares = Share.objects.filter(transaction__in=unconfirmed_rows)
    unconfirmed_batch_ids = set(unconfirmed_shares.values_list("batch", flat=True))
    queries = [query for query in job_pass.queries if query.batch_id not in unconfirmed_batch_ids]
    has_unconfirmed_batches = len(queries) < len(job_pass.queries)
    job_pass = replace(job_pass, queries=queries)
    if not queries:
        return job_pass.wait_for_block(confirming_reason)
    registry_block = confirmed_registry_block or read_confirmed_registry_block(job_pass)
    words = {fact: word for fact, word in registry_block.words.items() if word is not None}
    proven_queries = [
        key for key, facts in job_pass.facts.items() if registry_block.has_facts(facts.values())
    ]
    new_words = {
        fact: words[fact] for key in proven_queries for fact in job_pass.facts[key].values()
    }
    _check_values(job_pass, new_words)
    job_pass.findings.proven_queries, job_pass.findings.words = proven_queries, new_words
    if len(proven_queries) < len(queries):  # not deep enough yet, or only one node shows it
        return job_pass.retry(confirming_reason)
    return job_pass.wait_for_block(confirming_reason) if has_unconfirmed_batches else None


def _check_values(job_pass: JobPass, words: Mapping[BlockFact, bytes]) -> None:
    """Compare the registry's values with what the source proves.

    Proofs that are not stored, because others have proven the facts, are fetched. Raises
    `RegistryMisreadError` if a value differs.
    """
    job, header, facts = job_pass.job, job_pass.header, group_facts(words)
    proofs, accounts_to_fetch = stored_proofs.read_accounts(
        job, header, facts.account_slots, job_pass.lease.extend
    )
    if accounts_to_fetch:
        with suppress(*PROOF_TOO_OLD_ERRORS):  # then we trust what the registry verified
            proofs += fetch_account_proofs(job_pass, accounts_to_fetch)
    source_words = facts.words(header, proofs) | job_pass.event_words
    for fact, word in words.items():
        if source_words.get(fact, word) != word:
            raise RegistryMisreadError(
                f"For block {header.number:,} the registry returns 0x{word.hex()}, but "
                f"0x{source_words[fact].hex()} was proven."
            )
    anchor, reader = Anchor(header, is_accumulated=True), job_pass.registry_reader
    missing_events = unstored_events(job_pass, facts.events)
    with suppress(ChainError):  # the nodes may no longer have the block's content
        pieces = cut_events(job.pk, anchor, missing_events, job_pass.content, reader)
        store_events(job_pass, pieces)
    if facts.timestamps:
        with suppress(BlockUnknownError):
            store_later_headers(job_pass, partial(_child, job_pass))


def _child(job_pass: JobPass) -> list[Header]:
    """The next header, unless a reorg has replaced the block."""
    child = job_pass.source.header(job_pass.header.number + 1)
    return [child] if child.parent_hash == job_pass.header.hash else []


def check_missing_by_quorum(job_pass: JobPass, registry_block: RegistryBlock) -> Wait | None:
    """Return what to wait for, or None if the facts have to be proven.

    If a transaction for them was mined recently, a quorum has to confirm that they are missing,
    because the first node may be behind.
    """
    mined_rows = job_pass.transactions(is_preparation=False, succeeded=True, final=False)
    rows = list(mined_rows.order_by("mined_block"))
    if not rows:
        return None

    def has_no_new_facts(
        node: ChainClient, registry: Registry, header: Header, block: int | None
    ) -> bool:
        """Whether, at this destination block, the registry has none of what it lacked."""
        facts = registry_block.missing_facts
        current = RegistryReader(node, registry).read_block(header, facts, block)
        if current.is_accumulated and not registry_block.is_accumulated:
            return False
        return all(word is None for word in current.words.values())

    ask, block = job_pass.destination.ask_quorum, rows[-1].mined_block
    is_missing = partial(ask, has_no_new_facts, job_pass.registry, job_pass.header, block)
    return wait_for_effect(job_pass, rows, is_missing)


def wait_for_effect(
    job_pass: JobPass, rows: Sequence[SentTransaction], is_missing: Callable[[], bool]
) -> Wait | None:
    """Return what to wait for after these transactions were mined: nodes that do not show the
    effect yet, or transactions that a reorg removed from their blocks.

    Returns None if a quorum finds the effect missing and no reorg removed them: then send new ones.
    """
    lane = job_pass.lane
    if not is_missing():
        return job_pass.retry(WaitCode.NODE_BEHIND.reason)
    # A final transaction is not sent again, and a former signer's account may have no funds for it.
    own_rows = [row for row in rows if row.sender == lane.signer.address and not row.final]
    has_moved = [has_left_its_block(lane, row) for row in own_rows]
    return job_pass.retry(LEFT_ITS_BLOCK) if any(has_moved) else None
