"""Recover proofs from the calldata that a job has sent.

Calls that were never mined count too: trie nodes and headers are identified by their hashes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.db.models import QuerySet

from queries.chain.answers import AccountSlots
from queries.chain.registry import FactGroups
from queries.chain.signer import decode_transaction
from queries.models import BlockJob, SentTransaction, UnsentProof
from queries.proving.accounts import AccountProof
from queries.proving.errors import ProofError, TrieNodeMissingError
from queries.proving.event_witness import PROVE_EVENTS_SELECTOR, EventGroups, encode_event_groups
from queries.proving.facts import BlockFact, FactKind
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import RecoveredProofs, read_call, rebuild_account_proof
from queries.proving.tries import CheckedNodes

# Searching a call for up to this many accounts is faster than reading the call.
MAX_SEARCHED_ACCOUNTS = 250
CALLS_AT_ONCE = 50  # in memory; a call may have 128 KiB


def read_stored_calls(
    job: BlockJob, facts: Iterable[BlockFact], heartbeat: Callable[[], object] = lambda: None
) -> RecoveredProofs:
    """Read headers, nodes and events that may prove these facts; call `heartbeat` regularly."""
    facts = list(facts)
    accounts = {fact.account for fact in facts if fact.account}
    has_times = any(fact.kind is FactKind.BLOCK_AT_TIME for fact in facts)
    all_calls = has_times or len(accounts) > MAX_SEARCHED_ACCOUNTS
    has_events = any(fact.is_event for fact in facts)
    recovered_proofs = RecoveredProofs({job.block: decode_header(job.header)} if job.header else {})
    for number, call in enumerate(stored_calls(job), 1):
        if number % CALLS_AT_ONCE == 0:
            heartbeat()
        # Skip calls that contain none of these accounts; in a popular block most do not.
        is_useful = all_calls or any(account in call for account in accounts)
        if has_events if call.startswith(PROVE_EVENTS_SELECTOR) else is_useful:
            # Keep what was read before an error; a cancelling transaction is empty, for example.
            with suppress(ProofError):
                read_call(call, recovered_proofs)
    return recovered_proofs


def stored_calls(job: BlockJob) -> Iterator[bytes]:
    """The calldata of the job's transactions, and what was not sent."""
    rows = SentTransaction.objects.filter(job_links__job=job, is_preparation=False)
    for raw in _read_in_chunks(rows, "raw"):
        yield decode_transaction(raw).data
    yield from _read_in_chunks(UnsentProof.objects.filter(job=job), "call")


def _read_in_chunks(rows: QuerySet[Any], column: str) -> Iterator[bytes]:
    """Read in several statements, because an open one on SQLite blocks the renewal of leases."""
    rows, last = rows.order_by("pk"), 0
    while chunk := list(rows.filter(pk__gt=last).values_list("pk", column)[:CALLS_AT_ONCE]):
        yield from (value for _, value in chunk)
        last = chunk[-1][0]
        if len(chunk) < CALLS_AT_ONCE:
            break


def rebuild_proofs(
    recovered_proofs: RecoveredProofs, header: Header, groups: FactGroups
) -> tuple[list[AccountProof], list[AccountSlots]]:
    """Rebuild the proofs of these accounts and slots, and return those whose nodes are missing."""
    proofs, missing_accounts = list[AccountProof](), list[AccountSlots]()
    nodes, checked_nodes = recovered_proofs.nodes, CheckedNodes()
    for account, slots in groups.account_slots:
        try:
            proof = rebuild_account_proof(header.state_root, account, slots, nodes, checked_nodes)
            proofs.append(proof)
        except TrieNodeMissingError:
            missing_accounts.append((account, slots))
    return proofs, missing_accounts


def select_events(
    recovered_proofs: RecoveredProofs, header: Header, facts: Iterable[BlockFact]
) -> tuple[list[EventGroups], list[BlockFact]]:
    """Select witnesses that prove these facts of the block, and return those that none proves."""
    witnesses, missing_facts = list[EventGroups](), dict.fromkeys(facts)
    for groups in recovered_proofs.events:
        useful_groups = {
            group.field: group
            for group in groups
            if group.matches(header) and group.words.keys() & missing_facts.keys()
        }
        for fact in [fact for group in useful_groups.values() for fact in group.words]:
            missing_facts.pop(fact, None)
        if useful_groups:
            witnesses.append(tuple(useful_groups[field] for field in sorted(useful_groups)))
    return sorted(witnesses, key=encode_event_groups), list(missing_facts)
