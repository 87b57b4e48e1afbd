"""A batch as it is shown: what `reading` returns to pages and to the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from queries.proving.witnesses import AccountField
from queries.statuses import BatchStatus, StepName, StepStatus
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class ErrorView:
    """Why a batch was rejected."""

    code: str
    sentence: str
    step: str  # empty where it was none
    retryable: bool


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch without its queries."""

    id: str
    status: BatchStatus
    destination: int
    fee: int  # wei, as are all amounts
    spent: int
    submitted: datetime
    ended: datetime | None
    waits_for: Reason | None
    error: ErrorView | None


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a query. It has no status before it begins."""

    name: StepName
    status: StepStatus | None
    began: datetime | None
    completed: datetime | None
    transaction_hash: str  # empty where there is none, or none yet
    transaction_block: int | None  # once it is mined
    gas_used: int | None
    hops: int  # of the transaction
    error: ErrorView | None  # why it does not come to its end


@dataclass(frozen=True, slots=True)
class ValueView:
    """A proven value: the word that the registry holds, under the name of a field or slot."""

    name: str
    word: str


@dataclass(frozen=True, slots=True)
class QueryView:
    """One account of one block, or fields of one block's header."""

    place: int
    source: int
    block: int | None  # not known before a timestamp is settled
    timestamp: int | None
    account: str  # empty where header fields are asked for, or the name is not looked up yet
    name: str
    props: tuple[AccountField, ...]
    slots: tuple[str, ...]
    header: tuple[str, ...]  # names of fields
    steps: tuple[StepView, ...]
    waits_for: Reason | None
    values: tuple[ValueView, ...]  # once the batch is done
    cost: int | None
    registry: str  # that its newest transaction was sent to; empty where it needed none
    chain_key: str  # the source's key in the request
    account_keys: Mapping[str, Sequence[str]]  # the account's keys there, with slots as spelled


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Whether a query is completed, for clients that poll."""

    place: int
    is_of_account: bool
    completed: datetime | None


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Some queries of a batch, in their order."""

    queries: tuple[QueryView, ...]
    next: int | None  # the place that the next page begins with
