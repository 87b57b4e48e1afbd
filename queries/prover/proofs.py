"""Fetch and check proofs for a pass, and store them with its findings, each once."""

from collections.abc import Callable, Iterable, Sequence

from queries.chain import AccountSlots
from queries.database import stored_proofs
from queries.planning.calls import Piece
from queries.planning.events import EventPiece
from queries.prover.job_pass import JobPass
from queries.proving import AccountProof, Header, select_groups
from queries.proving.facts import EventFact


def fetch_account_proofs(
    job_pass: JobPass, accounts: Sequence[AccountSlots], *unstored: AccountSlots
) -> list[AccountProof]:
    """The proofs of these accounts and slots from the source; `unstored` ones are used once."""
    requests = [*accounts, *unstored]
    proofs = job_pass.source.account_proofs(job_pass.header, requests, job_pass.lease.extend)
    job_pass.findings.proofs += [
        stored_proofs.account_row(job_pass.job, proof) for proof in proofs[: len(accounts)]
    ]
    return proofs


def store_later_headers(job_pass: JobPass, find: Callable[[], Sequence[Header]]) -> None:
    """Store the headers that `find` returns, unless some are stored that follow the block."""
    if not stored_proofs.read_later_headers(job_pass.job, job_pass.header) and (headers := find()):
        job_pass.findings.proofs.append(stored_proofs.headers_row(job_pass.job, headers))


def unstored_events(job_pass: JobPass, events: Sequence[EventFact]) -> list[EventFact]:
    """Those of these facts about the block's content that no stored witness proves."""
    witnesses = stored_proofs.read_witnesses(job_pass.job) if events else []
    return select_groups(witnesses, job_pass.header, events)[1]


def store_events(job_pass: JobPass, pieces: Iterable[Piece]) -> None:
    """Store the witnesses of these pieces, unless stored ones prove their facts."""
    event_pieces = [piece for piece in pieces if isinstance(piece, EventPiece)]
    events = [fact for piece in event_pieces for fact in piece.events]
    unstored = set(unstored_events(job_pass, events))
    job_pass.findings.proofs += [
        stored_proofs.events_row(job_pass.job, piece.witness_for_sections)
        for piece in event_pieces
        if unstored.intersection(piece.events)
    ]
