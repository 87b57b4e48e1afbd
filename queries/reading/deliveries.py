"""A batch's deliveries, with their transactions, what they wait for and the values that their
placeholders stand for; the gas of an account's.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from accounts.models import Account
from accounts.wording import format_utc
from queries.models import ChainRecord, Delivery, Fact, Query, SentTransaction
from queries.proving import Header, HeaderField, decode_header
from queries.schema.templates import Placeholder
from queries.statuses import OPEN_DELIVERIES, DeliveryState, GasSource
from queries.transactions.budget import delivery_gas_in_24_hours
from queries.wait_reasons import Reason, WaitCode


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """A call to a contract that the batch ends with."""

    to: str
    function: str  # its signature, as the request spells it
    arguments: Sequence[object]  # as in the request, with placeholders
    gas: int | None  # that the contract gets; None until a trial shows it
    gas_source: GasSource
    unless: tuple[str, Sequence[object]] | None  # the function and arguments of a call
    state: DeliveryState
    transaction_hash: str  # empty if none was sent
    transaction_block: int | None  # once it is mined
    gas_used: int | None
    ended_at: datetime | None
    waits_for: Reason | None
    error: Reason | None  # why it failed
    refusals: int  # attempts that failed or would have
    retry_at: datetime | None  # after a refusal

    @property
    def is_refused(self) -> bool:
        """It waits because the contract refuses it, and is tried again."""
        return bool(self.waits_for and self.waits_for.code == WaitCode.CONTRACT_REFUSES)


def delivery_states(batch_ids: Iterable[str]) -> Mapping[str, tuple[Sequence[DeliveryState], int]]:
    """The states of the deliveries of these batches, and how many their contracts refuse."""
    states, refused = defaultdict[str, list[DeliveryState]](list), Counter[str]()
    rows = Delivery.objects.filter(batch__in=batch_ids).order_by("batch", "position")
    for batch_id, state, wait_code in rows.values_list("batch", "state", "wait_code"):
        states[batch_id].append(DeliveryState(state))
        refused[batch_id] += wait_code == WaitCode.CONTRACT_REFUSES
    return {batch_id: (listed, refused[batch_id]) for batch_id, listed in states.items()}


def read_deliveries(batch_ids: Iterable[str]) -> Mapping[str, Sequence[DeliveryView]]:
    """The deliveries of these batches, in the order of the requests."""
    deliveries = defaultdict[str, list[DeliveryView]](list)
    rows = Delivery.objects.filter(batch__in=batch_ids).select_related("transaction")
    rows = rows.defer("transaction__raw").order_by("batch", "position")
    first_open_rows: dict[str, Delivery] = {}
    for row in rows:
        if row.state in OPEN_DELIVERIES:
            first_open_rows.setdefault(row.batch_id, row)
        view = _delivery_view(row)
        if view.state == DeliveryState.WAITING and row.due_at is None:
            view = replace(view, waits_for=_order_reason(first_open_rows[row.batch_id]))
        deliveries[row.batch_id].append(view)
    return deliveries


class ProvenValues:
    """The values of a batch's block that its deliveries' placeholders may stand for, as far as they
    are stored (`CallValues`): no proofs.
    """

    def __init__(self, batch_id: str, registry: str, placeholders: Iterable[Placeholder]) -> None:
        """`registry`: the address of the one that has the facts; empty if it is not known."""
        rows = Query.objects.filter(batch=batch_id)
        self._first = rows.select_related("job").get(position=0)
        self._registry, job = registry, self._first.job
        self._header = decode_header(job.header) if job and job.header else None
        # Not all facts, of which there may be thousands.
        keys = {(used.account, name) for used in placeholders for name in used.facts}
        names = rows.exclude(name="").filter(name__in={account for account, _ in keys})
        self._addresses = dict(names.values_list("name", "account"))
        facts = Fact.objects.filter(
            job=job,
            account__in={self._address(account) for account, _ in keys},
            name__in={name for _, name in keys},
            proven_at__isnull=False,
        )
        columns = facts.values_list("account", "name", "word") if job and keys else ()
        self._words = {(account, name): word for account, name, word in columns if word}

    @property
    def source(self) -> int:
        return self._first.source

    def block_number(self) -> int | None:
        return self._first.block

    def header(self) -> Header | None:
        return self._header

    def registry(self) -> str | None:
        return self._registry or None

    def word(self, account: str, fact: str) -> bytes | None:
        if not account and self._header:
            return self._header.word(HeaderField[fact])
        return self._words.get((self._address(account), fact))

    def account_nodes(self, account: str) -> None:
        del account

    def slot_nodes(self, account: str, slot: bytes) -> None:
        del account, slot

    def witness(self) -> None:
        pass

    def _address(self, account: str) -> str:
        return self._addresses.get(account, account)


def delivery_gas(owner: Account) -> Mapping[int, int]:
    """The gas of the account's deliveries in 24 hours, by destination, as far as it is limited."""
    signers = (
        ChainRecord.objects.exclude(signer="").order_by("chain").values_list("chain", "signer")
    )
    rows = {
        chain: SentTransaction.objects.filter(chain=chain, sender=signer)
        for chain, signer in signers
    }
    amounts = {chain: delivery_gas_in_24_hours(rows[chain], owner.pk) for chain in rows}
    return {chain: gas for chain, gas in amounts.items() if gas}


def _order_reason(first_open: Delivery) -> Reason | None:
    """Why a delivery that is not due waits, if the batch is DONE. `first_open`: of the batch, the
    first that has not ended.
    """
    if first_open.state == DeliveryState.WAITING and first_open.due_at is None:
        return None  # the batch is not DONE
    sentence = f"Sent after delivery {first_open.position + 1}"
    if first_open.refusals and first_open.due_at and first_open.state == DeliveryState.WAITING:
        sentence += f", which is tried again at {format_utc(first_open.due_at)}"
    return Reason(WaitCode.EARLIER_DELIVERY, f"{sentence}.")


def _delivery_view(row: Delivery) -> DeliveryView:
    sent = row.transaction
    return DeliveryView(
        to=row.to,
        function=row.function,
        arguments=row.arguments,
        gas=row.gas,
        gas_source=GasSource(row.gas_source),
        unless=(row.unless[0], row.unless[1]) if row.unless else None,
        state=DeliveryState(row.state),
        transaction_hash=(sent.mined_hash or sent.hashes[-1]) if sent else "",
        transaction_block=sent.mined_block if sent else None,
        gas_used=sent.gas_used if sent else None,
        ended_at=row.ended_at,
        waits_for=Reason(row.wait_code, row.waits_for) if row.wait_code else None,
        error=Reason(row.error_code, row.error_sentence) if row.error_code else None,
        refusals=row.refusals,
        retry_at=row.due_at if row.refusals and row.state == DeliveryState.WAITING else None,
    )
