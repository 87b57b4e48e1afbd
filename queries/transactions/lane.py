"""Sign and send the transactions of one signer on one chain.

SIGNED (stored, not sent) → SENT → MINED → confirmed, at the operator's depth → final. `follow` does
what comes after SENT, and `destination_reorgs` reopens transactions that a reorg removed. Signed
bytes are stored before they are sent, and the same bytes are sent again.

If a transaction that is not in the database uses one of the nonces, another program has the
signer's key. Then nothing more is signed on that chain until the operator runs `resume_sending`:
two provers with one key would outbid each other up to the maximum gas price.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

from django.db import IntegrityError
from django.db.models import Max, Q, QuerySet

from queries.chain import (
    CallRevertedError,
    ChainClient,
    ChainRefusalError,
    InsufficientFundsError,
    KeyUsedElsewhereError,
    NodesRefuseError,
    NonceUsedError,
    NoQuorumError,
    Signer,
    TransactionRefusedError,
    UnderpricedError,
    UnsignedTransaction,
)
from queries.config.limits import Limits
from queries.database import stored_facts
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.database.leases import ConcurrentWorkError, Lease
from queries.facts import facts_of, row_account
from queries.models import (
    BlockJob,
    Delivery,
    JobTransaction,
    Query,
    SentHash,
    SentTransaction,
    Share,
)
from queries.planning.calls import Piece, PlannedCall
from queries.planning.dry_runs import GasEstimate
from queries.proving.facts import group_facts
from queries.statuses import ENDED_STATUSES
from queries.transactions.budget import (
    PricedCall,
    check_delivery_gas,
    check_fees,
    cut_at_daily_budget,
    price_calls,
)
from queries.transactions.costs import close_and_charge, lock_batches, lock_costs
from queries.transitions import mark_delivery_sent

log = logging.getLogger("tacitus.prover")

# Without `InsufficientFundsError`, because funds may be added. `NodesRefuseError` is included for
# messages that no pattern matches.
PERMANENT_SEND_ERRORS = (TransactionRefusedError, CallRevertedError, NodesRefuseError)
# Transactions that were given up because another one used their nonce. `resume_sending` clears the
# block.
NONCE_USED_ELSEWHERE = Q(
    confirmed=True, final=False, mined_block=None, nonce_used_block__isnull=False
)


class ConcurrentProverError(ConcurrentWorkError):
    """Another worker has sent the same pieces, or ended a paying batch: plan the job again."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The sequence of nonces of one signer on one chain."""

    destination: ChainClient
    signer: Signer
    limits: Limits

    @property
    def chain_id(self) -> int:
        return self.destination.chain.id

    @property
    def own_rows(self) -> QuerySet[SentTransaction]:
        return SentTransaction.objects.filter(chain=self.chain_id, sender=self.signer.address)

    @property
    def is_stopped(self) -> bool:
        return self.own_rows.filter(NONCE_USED_ELSEWHERE).exists()

    def check_not_stopped(self) -> None:
        """Raises `KeyUsedElsewhereError` if nothing may be signed."""
        if self.is_stopped:
            raise KeyUsedElsewhereError.create(self.destination.chain.name)

    def sign_and_send(
        self,
        leases: Sequence[Lease[BlockJob]],
        to: str,
        priced_calls: Sequence[PricedCall],
        is_obsolete: Callable[[], bool] | None = None,
        delivery: Lease[Delivery] | None = None,
    ) -> Sequence[PlannedCall]:
        """Sign, store and send calls that fit the budgets, if this worker still has the jobs.

        Returns the calls that were signed. `is_obsolete`: whether another transaction does the
        same; called under the chain's lock. `delivery`: whose call this is; its batch has ended.
        Without leases and delivery, the calls keep a registry awake: no daily limit stops them.
        Nothing is stored or sent on `FeeTooLowError`, `DailyBudgetSpentError`,
        `DeliveryGasSpentError`, `InsufficientFundsError`, `KeyUsedElsewhereError`, `LeaseLostError`
        and `ConcurrentProverError`.

            priced_calls = price_calls(destination, head, estimates, paying_queries)
            lane.sign_and_send([job_pass.lease], registry.address, priced_calls)
        """
        chain, funds = self.destination.chain, self.destination.balance(self.signer.address)
        transaction_count = self._transaction_count()
        try:
            with durable_transaction():
                lock_costs(chain.id)  # no two workers may use the same nonce or budget
                self.check_not_stopped()
                if is_obsolete is not None and is_obsolete():
                    return []
                priced_calls = self._cut_at_daily_limits(leases, priced_calls, delivery)
                # Batches before jobs before queries, as everywhere.
                paying_batches = lock_batches(
                    batch for priced_call in priced_calls for batch in priced_call.shares
                )
                if not delivery and any(batch.status in ENDED_STATUSES for batch in paying_batches):
                    raise ConcurrentProverError
                if not chain.free:
                    check_fees(priced_calls, paying_batches)
                priced_calls = self._affordable_calls(priced_calls, funds)
                leases = sorted(leases, key=lambda lease: lease.row.pk)
                for lease in leases:
                    lease.extend()
                if delivery:
                    delivery.extend()
                jobs = [lease.row for lease in leases]
                queries = Query.objects.filter(job__in=jobs, has_ended=False).order_by("pk")
                list(queries.select_for_update(no_key=True).values_list("pk", flat=True))
                first_nonce = max(transaction_count, self._next_nonce())
                rows = [
                    self._store_call(jobs, nonce, to, priced_call, delivery)
                    for nonce, priced_call in enumerate(priced_calls, first_nonce)
                ]
        except IntegrityError:  # a piece is in a transaction that is not confirmed yet
            raise ConcurrentProverError from None
        for row in rows:
            try:
                self.send(row)
            except ChainRefusalError as refusal:
                # The row is stored, so the transaction is followed and sent again.
                log.warning(
                    "Nonce %s of chain %s: the transaction was refused and will be sent again: %s",
                    row.nonce,
                    row.chain,
                    refusal,
                )
        return [priced_call.call for priced_call in priced_calls]

    def send_call(
        self,
        to: str,
        call: PlannedCall,
        gas: int,
        *,
        is_obsolete: Callable[[], bool] | None = None,
        delivery: Lease[Delivery] | None = None,
    ) -> None:
        """Sign and send a call that proves nothing and needs this gas; of a delivery, its batch
        pays. Raises as `sign_and_send`.
        """
        (data_fee,) = self.destination.data_fees([call.data])
        estimates = {call: GasEstimate(gas, data_fee)}
        (priced_call,) = price_calls(
            self.destination, self.destination.latest_head(), estimates, {}
        )
        if delivery:
            priced_call = replace(priced_call, shares={delivery.row.batch_id: priced_call.max_cost})
        self.sign_and_send([], to, [priced_call], is_obsolete, delivery)

    def _cut_at_daily_limits(
        self,
        leases: Sequence[Lease[BlockJob]],
        priced_calls: Sequence[PricedCall],
        delivery: Lease[Delivery] | None,
    ) -> Sequence[PricedCall]:
        """The first calls that the limits of a day allow. Raises `DailyBudgetSpentError`, and
        `DeliveryGasSpentError` for a delivery.
        """
        if delivery:
            owner, limit = delivery.row.batch.owner_id, self.limits.delivery_gas_per_day
            check_delivery_gas(self.own_rows, owner, limit)
        elif not leases:
            return priced_calls  # they keep a registry awake, which ends for good if they wait
        return cut_at_daily_budget(self.destination.chain, self.own_rows, priced_calls)

    def _affordable_calls(self, priced_calls: Sequence[PricedCall], funds: int) -> list[PricedCall]:
        """The first calls that the funds cover after the unmined transactions are paid for.

        Raises `InsufficientFundsError` if there are none.
        """
        unmined_rows = self.own_rows.filter(confirmed=False, mined_block=None)
        rows = unmined_rows.values_list("gas_limit", "max_fee")
        cost, affordable = sum(gas_limit * int(max_fee, 16) for gas_limit, max_fee in rows), []
        for priced_call in priced_calls:
            cost += priced_call.funds_needed
            if cost > funds:
                break
            affordable.append(priced_call)
        if not affordable:
            raise InsufficientFundsError.create(self.destination.chain.name)
        return affordable

    def _next_nonce(self) -> int:
        """The nonce after the last one in the database."""
        last = self.own_rows.aggregate(last=Max("nonce"))["last"]
        return 0 if last is None else int(last) + 1

    def _transaction_count(self) -> int:
        """The signer's nonce on the chain. By quorum if it is above the nonces in the database, or
        if there are none: the key was used elsewhere, or the database is an older backup.
        """
        next_nonce = self._next_nonce()
        if next_nonce and (count := self.destination.nonce(self.signer.address)) <= next_nonce:
            return count
        return self.transaction_count_by_quorum()

    def transaction_count_by_quorum(self) -> int:
        return self.destination.ask_quorum(ChainClient.nonce, self.signer.address)

    def _store_call(
        self,
        jobs: Sequence[BlockJob],
        nonce: int,
        to: str,
        priced_call: PricedCall,
        delivery: Lease[Delivery] | None,
    ) -> SentTransaction:
        call, gas_limit, fees = priced_call.call, priced_call.gas_limit, priced_call.fees
        pieces, recipient = call.pieces, call.to or to
        transaction = UnsignedTransaction(
            self.chain_id, nonce, recipient, call.data, gas_limit, fees
        )
        row = self.sign_and_store(
            transaction,
            priced_call.max_cost,
            is_preparation=not pieces and not delivery,
            hops=call.hops,
            recorded_block=call.recorded_block,
            voucher=asdict(call.voucher) if call.voucher else None,
        )
        if delivery:
            mark_delivery_sent(delivery, row)
        Share.objects.bulk_create(
            Share(transaction=row, batch_id=batch, max_cost=f"{wei:064x}")
            for batch, wei in priced_call.shares.items()
        )
        for job in jobs:
            job_pieces = [piece for piece in pieces if piece.job_key == job.pk]
            if job_pieces or not pieces:
                JobTransaction.objects.create(
                    job=job,
                    transaction=row,
                    proves_header=any(piece.proves_header for piece in job_pieces),
                    pieces_digest=_digest_pieces(recipient, job_pieces),
                )
        # Horizon evidence has no shares, and belongs to no step.
        if not pieces and priced_call.shares:
            open_queries = Query.objects.filter(job__in=jobs, has_ended=False)
            open_queries.update(blockhash_transaction=row)
        for piece in pieces:
            _link_facts_and_queries(piece, row)
        return row

    def sign_and_store(
        self, transaction: UnsignedTransaction, max_cost: int, **columns: object
    ) -> SentTransaction:
        """Sign and store a transaction that may cost up to `max_cost` wei."""
        signed_transaction = self.signer.sign(transaction)
        row = SentTransaction.objects.create(
            chain=self.chain_id,
            sender=self.signer.address,
            nonce=transaction.nonce,
            to=transaction.to,
            raw=signed_transaction.raw,
            hashes=[signed_transaction.hash],
            max_fee=f"{transaction.fees.max_fee:064x}",
            gas_limit=transaction.gas_limit,
            max_cost=f"{max_cost:064x}",
            **columns,
            signed_at=shared_now(),
        )
        SentHash.objects.create(transaction=row, hash=signed_transaction.hash)
        return row

    def send(self, row: SentTransaction) -> None:
        """Send the row's signed bytes, and store when. An underpriced one counts as sent."""
        try:
            self.destination.send(row.raw)
        except UnderpricedError:  # it is replaced at a higher fee after `replace_after`
            log.info(
                "The transaction with nonce %s on chain %s is underpriced for now.",
                row.nonce,
                row.chain,
            )
        except NonceUsedError:
            self.give_up_if_nonce_used(row)
            return
        else:
            log.info("Sent %s to chain %s, nonce %s.", row.hashes[-1], row.chain, row.nonce)
        row.sent_at = shared_now()
        SentTransaction.objects.filter(pk=row.pk, confirmed=False).update(sent_at=row.sent_at)

    def give_up_if_nonce_used(self, row: SentTransaction) -> None:
        """Give the row up if another transaction has used its nonce, which stops the row's lane.

        Raises `NoQuorumError` until the head at which this was first seen is final: the next
        attempt asks another node, which may have the receipt.
        """
        head = self.destination.head()
        if row.nonce_used_block is None:
            row.nonce_used_block = head.number
            SentTransaction.objects.filter(pk=row.pk, confirmed=False).update(
                nonce_used_block=head.number
            )
        is_final = head.final_number >= row.nonce_used_block
        if not is_final or not self.destination.ask_quorum(
            _is_nonce_used_by_another, row.sender, row.nonce, hashes=row.hashes
        ):
            raise NoQuorumError.create(self.destination.chain.name)
        self.give_up(row)
        if not row.confirmed or row.mined_hash:  # another worker replaced or confirmed it
            return
        log.error(
            "Nonce %s of %s on chain %s was used by a transaction that is not in this database: "
            "nothing more is sent there until tacitus resume_sending %s.",
            row.nonce,
            row.sender,
            row.chain,
            row.chain,
        )

    def give_up(self, row: SentTransaction) -> None:
        """Close a transaction that will never be mined. It costs nothing."""
        row.succeeded = False
        close_and_charge(row, free=self.destination.chain.free)


def stopped_lanes() -> set[tuple[int, str]]:
    """The chain and the sender of each lane that is stopped."""
    rows = SentTransaction.objects.filter(NONCE_USED_ELSEWHERE)
    return set(rows.values_list("chain", "sender"))


def _is_nonce_used_by_another(
    node: ChainClient, sender: str, nonce: int, *, hashes: Sequence[str]
) -> bool:
    return node.nonce(sender) > nonce and not any(map(node.receipt, hashes))


def _digest_pieces(to: str, pieces: Sequence[Piece]) -> str:
    facts = [to.lower(), *sorted(piece.facts_key for piece in pieces)]
    return sha256("\n".join(facts).encode()).hexdigest() if pieces else ""


def _link_facts_and_queries(piece: Piece, row: SentTransaction) -> None:
    """Link the transaction to the piece's facts, and to the queries that ask for some of them."""
    stored_facts.set_transaction(piece.job_key, piece.facts, row)
    queries = Query.objects.filter(job=piece.job_key, has_ended=False)
    if piece.proves_header:
        queries.exclude(account="").update(header_transaction=row)
    accounts = {fact.account for fact in piece.facts}
    names = list(map(row_account, accounts))
    times = group_facts(piece.facts).timestamps
    asking = Q(account__in=names) | Q(timestamp__in=times)
    keys: dict[bool, list[int]] = {True: [], False: []}  # by whether the query has an account
    for query in queries.filter(asking):
        if not piece.facts.isdisjoint(facts_of(query).values()):
            keys[bool(query.account)].append(query.pk)
    if keys[False]:
        queries.filter(pk__in=keys[False]).update(header_transaction=row)
    if keys[True]:
        queries.filter(pk__in=keys[True]).update(account_transaction=row)
