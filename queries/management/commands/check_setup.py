"""`manage.py check_setup`: whether nodes, registries and the signer are as proving needs them."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from queries.chain.setup_check import Finding, findings
from queries.chain.signer import Signer, SignerUnusable, open_signer
from queries.routes import RoutesUnreadable, read_routes

LONGEST_SUBJECT = 44


class Command(BaseCommand):
    help = "Looks whether nodes, registries and the signer are as proving needs them."
    requires_system_checks = ()

    def handle(self, **_: Any) -> None:
        try:
            routes = read_routes(settings.ROUTES_FILE)
        except RoutesUnreadable as error:
            raise CommandError(str(error)) from None
        if not routes.chains:
            raise CommandError("ROUTES_FILE names no chains: there is nothing to prove.")
        signer, found = self._signer()
        everything = [found]
        self._write(found)
        if not routes.registries:
            everything.append(
                Finding(
                    "registries",
                    ok=False,
                    said="There is none. Deploy one with manage.py deploy_registry.",
                )
            )
            self._write(everything[-1])
        for finding in findings(routes, signer):
            everything.append(finding)
            self._write(finding)
        checks = [finding for finding in everything if not finding.is_hint]
        wrong = sum(not finding.ok for finding in checks)
        if wrong:
            are = "is" if wrong == 1 else "are"
            raise CommandError(f"{wrong} of {len(checks)} checks {are} not ok.")
        self.stdout.write(f"All {len(checks)} checks are ok.")

    def _signer(self) -> tuple[Signer | None, Finding]:
        try:
            signer = open_signer(
                settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD
            )
        except SignerUnusable as error:
            return None, Finding("signer", ok=False, said=str(error))
        return signer, Finding("signer", ok=True, said=signer.address)

    def _write(self, finding: Finding) -> None:
        verdict = "hint" if finding.is_hint else "ok" if finding.ok else "not ok"
        self.stdout.write(f"{verdict:8}{finding.subject:{LONGEST_SUBJECT}}  {finding.said}")
        self.stdout.flush()
