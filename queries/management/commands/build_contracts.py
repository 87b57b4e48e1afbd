"""`manage.py build_contracts`: the committed build output again, from the Solidity sources."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queries.chain.solidity import BUILD
from queries.contracts.compiler import CompilerFailed, compile_contracts, read_sources


class Command(BaseCommand):
    help = "Compiles the contracts into queries/contracts/build."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="writes nothing; fails where a file differs"
        )

    def handle(self, **options: Any) -> None:
        try:
            built = compile_contracts(read_sources())
        except CompilerFailed as error:
            raise CommandError(str(error)) from error
        differing = []
        for name, output in built.items():
            file = BUILD / f"{name}.json"
            text = json.dumps(output, indent=1) + "\n"
            if not file.exists() or file.read_text() != text:
                differing.append(name)
                if not options["check"]:
                    file.write_text(text)
            size = len(output["deployedBytecode"]) // 2
            self.stdout.write(f"{name:18} {size:6,} bytes")
        if options["check"] and differing:
            raise CommandError(
                f"The build output of {', '.join(differing)} is not that of the sources. "
                "Run: make contracts"
            )
