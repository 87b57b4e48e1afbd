"""What so many facts a day need, by the figures."""

from dataclasses import dataclass

from explorer.growth.figures import Figures

DAY = 86_400  # seconds
HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Needs:
    """Of one day, unless it is said otherwise."""

    facts: float
    blocks_asked: float  # of the source
    facts_of_a_block: float
    gas: float
    block_share: float  # of all the gas that the destination has
    calldata: float  # bytes
    transactions: float
    transactions_of_a_block: float  # of the destination
    questions: float  # to nodes
    proofs_a_second: float
    batches: float
    rows: float
    database_bytes: float
    database_bytes_kept: float
    polls_a_second: float
    writer: float  # part of the time that SQLite's one writer is held
    provers: float  # processors at work, were they never idle
    servers: float  # likewise
    database: float  # likewise, of a PostgreSQL


def needs_of(facts: float, figures: Figures) -> Needs:
    """A source has only so many blocks a day: beyond that each is asked for more facts."""
    blocks = min(facts / figures.facts_per_block, DAY / figures.source_seconds)
    gas = _together(facts, blocks, figures.gas_alone, figures.gas_among_100)
    calldata = _together(facts, blocks, figures.bytes_alone, figures.bytes_among_100)
    # One for each block that is asked for, as if none were ready together, or as many as its bytes
    # take.
    transactions = max(calldata / figures.transaction_bytes, blocks)
    batches = facts / figures.facts_per_batch
    rows = (
        facts * figures.rows_per_fact
        + batches * figures.rows_per_batch
        + blocks * figures.rows_per_block
        + transactions * figures.rows_per_transaction
    )
    questions = facts * figures.questions_per_fact + blocks * figures.questions_per_block
    destination_blocks = DAY / figures.block_seconds
    polls = batches * figures.polls_per_batch / DAY
    submissions = batches * figures.submission_ms / 1_000 / DAY
    prover_ms = facts * figures.prover_ms + batches * figures.prover_batch_ms
    # A poll is counted against its key.
    asking_ms = figures.submission_writer_ms + figures.polls_per_batch * figures.poll_writer_ms
    writer_ms = facts * figures.writer_ms + batches * asking_ms
    stored = facts * figures.bytes_per_fact + calldata * figures.stored_per_byte
    return Needs(
        facts=facts,
        blocks_asked=blocks,
        facts_of_a_block=facts / blocks,
        gas=gas,
        block_share=gas / (figures.block_gas * destination_blocks),
        calldata=calldata,
        transactions=transactions,
        transactions_of_a_block=transactions / destination_blocks,
        questions=questions + DAY * figures.questions_per_second,
        proofs_a_second=facts / DAY,
        batches=batches,
        rows=rows,
        database_bytes=stored,
        database_bytes_kept=stored * figures.days_kept,
        polls_a_second=polls,
        writer=writer_ms / 1_000 / DAY,
        provers=prover_ms / 1_000 / DAY,
        servers=polls / figures.polls_per_second + submissions,
        database=facts * figures.database_ms / 1_000 / DAY,
    )


def _together(facts: float, blocks: float, alone: float, among: float) -> float:
    """A block's header and its first account cost `alone` what each of a hundred costs `among`.

    Between the two lies what is shown once, and what each account adds.
    """
    each = (HUNDRED * among - alone) / (HUNDRED - 1)
    return blocks * (alone - each) + facts * each
