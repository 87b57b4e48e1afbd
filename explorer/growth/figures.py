"""The figures that the arithmetic begins with, and where each comes from.

`manage.py growth` takes another value of each as an option of its name.
"""

from dataclasses import dataclass, field, fields
from typing import Any

QUESTIONS = "tests/queries/pipeline/test_questions.py"


def _figure(value: float, what: str, origin: str) -> Any:
    return field(default=value, metadata={"what": what, "origin": origin})


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one destination, one database and machines like that on which `make bench` ran."""

    facts_per_block: float = _figure(10, "facts asked of one source block", "assumed")
    facts_per_batch: float = _figure(10, "facts asked in one batch", "assumed")
    source_seconds: float = _figure(12, "seconds between source blocks", "Ethereum")

    gas_alone: float = _figure(
        170_480, "gas of a header with one account", "gas_report, header + account of depth 8"
    )
    gas_among_100: float = _figure(
        87_684, "gas of each of 100 accounts of a block", "gas_report, 100 accounts under one root"
    )
    bytes_alone: float = _figure(
        3_767, "bytes of a header with one account", "gas_report, header + account of depth 8"
    )
    bytes_among_100: float = _figure(
        2_194, "bytes of each of 100 accounts", "gas_report, 100 accounts under one root"
    )
    transaction_bytes: float = _figure(
        131_072, "bytes that a transaction may have", "nodes' pools; queries/proving/packing.py"
    )
    block_seconds: float = _figure(12, "seconds between destination blocks", "Ethereum")
    block_gas: float = _figure(60_000_000, "gas of a destination block", "Ethereum, 2026")
    block_share: float = _figure(0.1, "part of the blocks that may be had", "assumed")
    pending: float = _figure(
        16, "transactions of one sender that wait at once", "what geth's pool keeps for anyone"
    )

    questions_per_fact: float = _figure(
        9, "questions to nodes for a fact", f"counted with two or three nodes a chain, {QUESTIONS}"
    )
    questions_per_block: float = _figure(
        50, "more of them for a source block", "likewise; one node alone is asked 5 and 40"
    )
    questions_per_second: float = _figure(2, "more of them all the time", "each chain's head")
    node_proofs: float = _figure(
        50,
        "proofs that one node answers in a second",
        "assumed; the bench's local node: 330 to 910",
    )

    prover_ms: float = _figure(
        0.8, "ms of a processor that a prover takes for a fact", "thousand_accounts, PostgreSQL"
    )
    prover_batch_ms: float = _figure(
        1.5,
        "more of them for a batch",
        "what one of one fact takes, many_batches_1, PostgreSQL, without that fact",
    )
    writer_ms: float = _figure(
        2.3,
        "ms that proving a fact holds SQLite's one writer",
        "the most that it can be: many_batches_2 on SQLite, each fact a batch",
    )
    database_ms: float = _figure(
        2.7,
        "ms of a processor that PostgreSQL takes for a fact",
        "the most that it can be: many_batches_1, of all processors without the prover",
    )
    database_processors: float = _figure(8, "processors of the database's machine", "assumed")
    submission_writer_ms: float = _figure(
        1.2, "ms that submitting a batch holds it", "the rows alone of submit_1, SQLite"
    )
    poll_writer_ms: float = _figure(
        0.095, "ms that counting a poll holds it", "status_polling, SQLite"
    )
    polls_per_batch: float = _figure(10, "polls until a batch is DONE", "assumed")
    polls_per_second: float = _figure(
        145,
        "polls that a server process answers",
        "status_polling, PostgreSQL, with ten queries shown; with details=0 243",
    )
    submission_ms: float = _figure(
        8.1, "ms that a batch takes of a server process", "submit_1, PostgreSQL"
    )
    busy: float = _figure(0.5, "part of the time that a program should work", "assumed")

    rows_per_fact: float = _figure(1, "rows of a fact", "queries_query")
    rows_per_batch: float = _figure(1, "rows of a batch", "queries_batch; a webhook has more")
    rows_per_block: float = _figure(1, "rows of a source block", "queries_blockjob")
    rows_per_transaction: float = _figure(
        3, "rows of a transaction", "it, its hash, and what links it to its job"
    )
    bytes_per_fact: float = _figure(
        1_180, "bytes of a fact's rows", "page_speed --queries 60000, PostgreSQL, all indexes"
    )
    stored_per_byte: float = _figure(
        1.06, "bytes in the database of a byte of calldata", "stored_calldata, PostgreSQL"
    )
    days_kept: float = _figure(365, "days that rows are kept", "assumed; nothing is deleted")
    disk: float = _figure(1e12, "bytes of the database's disk", "assumed")


@dataclass(frozen=True, slots=True)
class Described:
    """A figure as it is shown."""

    name: str
    value: float
    what: str
    origin: str

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> str:
        return f"{self.value:,.13g}"


def described() -> list[Described]:
    held = Figures()
    return [
        Described(
            each.name, getattr(held, each.name), each.metadata["what"], each.metadata["origin"]
        )
        for each in fields(Figures)
    ]
