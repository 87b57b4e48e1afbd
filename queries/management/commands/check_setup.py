"""`manage.py check_setup`: checks what provers need before they need it."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from accounts.shared.database_state import NOT_MIGRATED, is_migrated
from queries.amounts import short_amount
from queries.chain.signer import Signer, SignerUnusable
from queries.config.measured_costs import of_a_balance
from queries.config.routes import Chain, Routes
from queries.management.base import OperatorCommand, configured_routes, configured_signer
from queries.management.setup_check import DEPLOY, Finding, findings
from queries.models import SentTransaction
from queries.transactions.budget import gone_in_a_day

LONGEST_SUBJECT = 44


class Command(OperatorCommand):
    help = "Checks nodes, registries, the signer, the database and today's budget."

    def handle(self, **_: Any) -> None:
        routes = configured_routes()
        if not routes.chains:
            raise CommandError("ROUTES_FILE names no chains: there is nothing to prove.")
        checked = wrong = 0
        for finding in _all_findings(routes):
            verdict = "hint" if finding.is_hint else "ok" if finding.ok else "not ok"
            self.stdout.write(f"{verdict:8}{finding.subject:{LONGEST_SUBJECT}}  {finding.said}")
            self.stdout.flush()
            checked += not finding.is_hint
            wrong += not finding.ok
        if wrong:
            are = "is" if wrong == 1 else "are"
            raise CommandError(f"{wrong} of {checked} checks {are} not ok.")
        self.stdout.write(f"All {checked} checks are ok.")


def _all_findings(routes: Routes) -> Iterator[Finding]:
    signer = None
    try:
        signer = configured_signer()
    except SignerUnusable as error:
        yield Finding("signer", ok=False, said=str(error))
    else:
        yield Finding("signer", ok=True, said=signer.address)
    if not routes.registries:
        yield Finding("registries", ok=False, said=f"There is none. {DEPLOY}")
    yield from findings(routes, signer, lambda kind: round(of_a_balance(kind, 1).gas))
    # Last, because a database that does not answer ends the command.
    if not is_migrated():
        yield Finding("database", ok=False, said=NOT_MIGRATED)
        return
    yield Finding("database", ok=True, said="It is migrated.")
    for chain_id in dict.fromkeys(destination for _, destination in routes.registries):
        yield from _budget(routes.chains[chain_id], signer)


def _budget(chain: Chain, signer: Signer | None) -> Iterator[Finding]:
    """What is spent of today's budget, or a hint that there is none."""
    subject, most = f"budget on {chain.name}", chain.most_a_day
    if most is not None and signer is not None:
        ours = SentTransaction.objects.filter(chain=chain.id, sender=signer.address)
        gone = gone_in_a_day(ours)
        said = " of ".join(short_amount(each, chain.currency) for each in (gone, most))
        what_to_do = ". Wait, or raise `most_a_day` and restart." if gone >= most else ""
        yield Finding(subject, ok=gone < most, said=f"{said} spent or reserved{what_to_do}")
    elif most is None and not chain.free:
        said = (
            f"Nothing limits what you pay on {chain.name} in a day. Set `most_a_day` in "
            "ROUTES_FILE if its gas costs money."
        )
        yield Finding(subject, ok=True, said=said, is_hint=True)
