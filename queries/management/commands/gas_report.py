"""`manage.py gas_report`: what proofs cost, measured on a local chain with Osaka's rules."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queries.chain.gas.corpus import CorpusUnreadable, read_corpus
from queries.chain.gas.trials import TrialFailed, measure
from queries.chain.local_node import LocalNodeMissing
from queries.management.gas_table import GasTable, as_object
from queries.management.gas_targets import summary


class Command(BaseCommand):
    help = "Proves every recorded block of a folder on a local chain, and prints what it costs."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--corpus", type=Path, required=True, help="the folder of *.json files")
        parser.add_argument("--json", action="store_true", help="a list of objects and no table")

    def handle(self, **options: Any) -> None:
        try:
            self._report(options["corpus"], as_json=options["json"])
        except (CorpusUnreadable, TrialFailed, LocalNodeMissing) as error:
            raise CommandError(str(error)) from error

    def _report(self, folder: Path, *, as_json: bool) -> None:
        files = read_corpus(folder)
        if as_json:
            self.stdout.write(json.dumps([as_object(each) for each in measure(files)], indent=1))
            return
        table, all_measured = GasTable(), []
        for line in table.head():
            self.stdout.write(line)
        for measured in measure(files):
            all_measured.append(measured)
            for line in table.lines(measured):
                self.stdout.write(line)
        for line in summary(all_measured):
            self.stdout.write(line)
