"""`manage.py growth`: what so many facts a day need, and what is full first."""

from argparse import ArgumentParser
from collections.abc import Iterator
from math import inf
from textwrap import fill
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from explorer.growth.figures import Figures, described
from explorer.growth.shown import LEVELS, Growth, growth

NAME, CELL = 34, 14
WIDTH = 100


class Command(BaseCommand):
    help = (
        "Computes what so many facts a day need, and what is full first. Each figure is an option."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--facts", type=float, nargs="+", default=LEVELS, help="facts a day (three levels)"
        )
        for each in described():
            parser.add_argument(
                each.option,
                type=float,
                default=each.value,
                metavar="NUMBER",
                help=f"{each.what}: {each.shown} ({each.origin})".replace("%", "%%"),
            )

    def handle(self, **options: Any) -> None:
        given = {each.name: options[each.name] for each in described()}
        wrong = [each.option for each in described() if not 0 < given[each.name] < inf]
        if not all(0 < each < inf for each in options["facts"]):
            wrong.append("--facts")
        if wrong:
            raise CommandError(f"{wrong[0]} must be a number above 0.")
        for line in _lines(growth(Figures(**given), options["facts"])):
            self.stdout.write(line)


def _lines(found: Growth) -> Iterator[str]:
    yield _row("facts a day", *found.levels)
    for line in found.lines:
        yield _row(line.name, *line.cells)
    yield ""
    yield f"Full first: {found.first}."
    if found.first == found.first_of_design:
        yield "More machines do not mend that."
    else:
        yield f"Full first of what more machines do not mend: {found.first_of_design}."
    yield ""
    for name, since, then in found.limits:
        yield f"{name}, {since}"
        yield fill(then, WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield "The figures and where they are from: manage.py growth --help"


def _row(name: str, *cells: str) -> str:
    return f"{name:{NAME}}" + "".join(f" {cell:>{CELL}}" for cell in cells)
