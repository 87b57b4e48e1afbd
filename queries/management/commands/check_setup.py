"""`tacitus check_setup`: checks everything that provers need."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Max

from accounts.database_state import schema_fault
from accounts.wording import format_count, format_duration
from queries.amounts import short_amount
from queries.chain import ChainClient, ChainError, Signer, SignerUnusableError
from queries.config.chains import Chain
from queries.database.clock import shared_now
from queries.database.light_clients import light_client_row, stored_state
from queries.management.base import OperatorCommand, configured_routes, configured_signer
from queries.management.light_client_check import check_light_client
from queries.management.setup_check import DEPLOY_ADVICE, CheckResult, check_routes
from queries.models import Batch, ChainRecord, Delivery, SentTransaction
from queries.sources import Routes
from queries.statuses import ENDED_STATUSES, DeliveryState
from queries.transactions.budget import spent_in_24_hours
from queries.transactions.lane import stopped_lanes

SUBJECT_WIDTH = 44


class Command(OperatorCommand):
    help = "Checks nodes, registries, the signer, the database and today's budget."

    def handle(self, **_: Any) -> None:
        routes = configured_routes()
        if not routes.chains:
            raise CommandError(
                "ROUTES_FILE is not set, or names no chains. tacitus init writes such a file."
            )
        check_count = failed_count = 0
        with _warnings_off():
            for result in _all_checks(routes):
                self._print(result)
                check_count += not result.is_hint
                failed_count += not result.ok
        if failed_count:
            verb = "is" if failed_count == 1 else "are"
            raise CommandError(f"{failed_count} of {check_count} checks {verb} not ok.")
        self.stdout.write(f"All {check_count} checks are ok.")

    def _print(self, result: CheckResult) -> None:
        verdict = f"{'hint' if result.is_hint else 'ok' if result.ok else 'not ok':8}"
        if not result.is_hint:
            verdict = (self.style.SUCCESS if result.ok else self.style.ERROR)(verdict)
        self.stdout.write(f"{verdict}{result.subject:{SUBJECT_WIDTH}}  {result.sentence}")
        self.stdout.flush()


@contextmanager
def _warnings_off() -> Iterator[None]:
    """Keep warnings about nodes off the terminal: the results say the same."""
    log = logging.getLogger("tacitus")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _all_checks(routes: Routes) -> Iterator[CheckResult]:
    signer = None
    try:
        signer = configured_signer()
    except SignerUnusableError as error:
        yield CheckResult("signer", ok=False, sentence=str(error))
    else:
        yield CheckResult("signer", ok=True, sentence=signer.address)
    if not routes.registries:
        yield CheckResult("registries", ok=False, sentence=f"There is none. {DEPLOY_ADVICE}")
    yield from check_routes(routes, signer)
    # Last, because a database that does not answer ends the command.
    fault = schema_fault()
    for chain in routes.chains.values():
        if chain.beacon:
            state = None if fault else stored_state(light_client_row(chain), chain)
            yield from check_light_client(chain, state)
    yield CheckResult("database", ok=not fault, sentence=fault or "It is migrated.")
    if fault:
        return
    yield from _prover_check(routes)
    stopped = stopped_lanes()
    for chain_id in dict.fromkeys(destination for _, destination in routes.registries):
        chain = routes.chains[chain_id]
        if signer is not None and (chain_id, signer.address) in stopped:
            sentence = (
                "Another program has used a nonce, so nothing is sent. Stop that program; then run "
                f"tacitus resume_sending {chain_id}."
            )
            yield CheckResult(f"signer's nonces on {chain.name}", ok=False, sentence=sentence)
        if signer is not None:
            with suppress(ChainError):  # other checks report it
                yield from _restore_hints(chain, signer)
        yield from _budget_checks(chain, signer)


def _prover_check(routes: Routes) -> Iterator[CheckResult]:
    """Check that a prover polls, if batches wait for one."""
    waiting = Batch.objects.exclude(status__in=ENDED_STATUSES).count()
    if not waiting:
        return
    last_poll = ChainRecord.objects.aggregate(last=Max("polled_at"))["last"]
    age = round((shared_now() - last_poll).total_seconds()) if last_poll else None
    limits = [chain.limits for chain in routes.chains.values()]
    if age is not None and age < max(item.poll_interval + item.request_timeout for item in limits):
        yield CheckResult("prover", ok=True, sentence="One is at work.")
        return
    since = "None has run yet" if age is None else f"None has polled for {format_duration(age)}"
    batches = "a batch waits" if waiting == 1 else f"{waiting:,} batches wait"
    sentence = f"{since}, and {batches}. Start one with tacitus run_prover."
    yield CheckResult("prover", ok=False, sentence=sentence)


def _restore_hints(chain: Chain, signer: Signer) -> Iterator[CheckResult]:
    """Count the deliveries that may have been sent already, if the database is an older backup."""
    waiting = Delivery.objects.filter(
        batch__destination=chain.id, state=DeliveryState.WAITING, transaction=None
    ).count()
    if not waiting:
        return
    rows = SentTransaction.objects.filter(chain=chain.id, sender=signer.address)
    last = rows.aggregate(last=Max("nonce"))["last"]
    with closing(ChainClient(chain)) as destination:
        unknown = destination.nonce(signer.address) - (-1 if last is None else last) - 1
    if unknown > 0:
        deliveries = format_count(waiting, "delivery", "deliveries")
        sentence = (
            f"{format_count(unknown, 'transaction')} of the signer are not in this database, as "
            f"after a restore. {deliveries} that it has as not sent will be sent, even if they "
            "were made already, except those whose `unless` is true by then."
        )
        yield CheckResult(f"deliveries on {chain.name}", ok=True, sentence=sentence, is_hint=True)


def _budget_checks(chain: Chain, signer: Signer | None) -> Iterator[CheckResult]:
    """Check today's budget, or give a hint that there is none."""
    subject, budget = f"budget on {chain.name}", chain.daily_budget
    if budget is not None and signer is not None:
        rows = SentTransaction.objects.filter(chain=chain.id, sender=signer.address)
        spending = spent_in_24_hours(rows)
        amounts = " of ".join(short_amount(amount, chain.currency) for amount in (spending, budget))
        advice = ". Wait, or raise `daily_budget` and restart." if spending >= budget else ""
        sentence = f"{amounts} spent or reserved{advice}"
        yield CheckResult(subject, ok=spending < budget, sentence=sentence)
    elif budget is None and not chain.free:
        sentence = "Nothing limits what you pay in a day. Set `daily_budget` if gas costs money."
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
