"""`manage.py check_setup`: checks nodes, registries and the signer before provers need them."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from queries.chain.setup_check import DEPLOY, Finding, findings
from queries.chain.signer import SignerUnusable
from queries.management.base import OperatorCommand, configured_routes, configured_signer
from queries.routes import Routes

LONGEST_SUBJECT = 44


class Command(OperatorCommand):
    help = "Checks nodes, registries and the signer before provers need them."

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
    yield from findings(routes, signer)
