"""Read models of a batch and its queries, for pages and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from queries.proving.witnesses import AccountField
from queries.schema.checked_batch import selector_of
from queries.statuses import BatchStatus, StepName, StepStatus
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class ErrorView:
    """Why a batch was rejected, or why facts of a DONE one are lost."""

    code: str
    sentence: str
    step: str  # empty if no step failed
    retryable: bool


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch without its queries."""

    id: str
    status: BatchStatus
    destination: int
    fee: int  # wei, as are all amounts
    spent: int
    submitted_at: datetime
    ended_at: datetime | None
    waits_for: Reason | None
    error: ErrorView | None


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a query; `status` is None before it begins."""

    name: StepName
    status: StepStatus | None
    began: datetime | None
    completed: datetime | None
    transaction_hash: str  # empty if there is none yet
    transaction_block: int | None  # once it is mined
    gas_used: int | None
    hops: int  # of the transaction
    error: ErrorView | None  # why it was not completed


@dataclass(frozen=True, slots=True)
class QueryView:
    """One account of one block, fields of its header, or what the block contains."""

    position: int
    source: int
    block: int | None  # None before a timestamp is resolved
    timestamp: int | None
    account: str  # empty for queries of the block, and before a name is resolved
    name: str
    props: tuple[AccountField, ...]
    slots: tuple[str, ...]
    slot_count: int
    header: tuple[str, ...]  # field names
    event_request: Mapping[str, Sequence[Any]]  # by member of the request's block
    event_count: int
    events: tuple[Mapping[str, Any], ...]  # of the pinned block; each with its name, word, content
    steps: tuple[StepView, ...]
    waits_for: Reason | None
    values: Mapping[str, str]  # once the batch is done: words in the registry, by name
    registry: str  # of its newest transaction; empty without one
    chain_key: str  # the source's key in the request
    account_keys: Mapping[str, Sequence[str]]  # its keys there, each with its slots as spelled

    @property
    def selector(self) -> str:
        return selector_of(self.block, self.timestamp)

    @property
    def proof_transaction(self) -> str:
        """The hash of the transaction that proved it, or empty."""
        return self.steps[-1].transaction_hash or self.steps[-2].transaction_hash


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """When a query was completed, for clients that poll."""

    position: int
    is_account_query: bool
    failed: bool
    completed: datetime | None


@dataclass(frozen=True, slots=True)
class QueryPage:
    """A page of a batch's queries, in their order."""

    queries: tuple[QueryView, ...]
    next: int | None  # the first position of the next page
