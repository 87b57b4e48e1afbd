"""`make analyse`: every finding of the analyser, with why it is no fault; 1 where one is new."""

import sys

from queries.contracts.compiler import read_sources
from tests.analysis.analysed import analysed
from tests.analysis.explained import EXPLAINED


def main() -> int:
    reasons = {(row.detector, place): row.why for row in EXPLAINED for place in row.places}
    found = analysed(read_sources())
    places = {(finding.detector, finding.where) for finding in found}
    new = [each for each in found if (each.detector, each.where) not in reasons]
    gone = sorted(reasons.keys() - places)
    for finding in new:
        sys.stdout.write(f"Not explained: {finding.impact} {finding.detector}: {finding.says}\n")
    for detector, place in gone:
        sys.stdout.write(f"Explained, and no longer found: {detector} in {place}\n")
    sys.stdout.write(
        f"{len(found)} findings at {len(places)} places, {len(places & reasons.keys())} of them "
        "explained in tests/analysis/explained.py\n"
    )
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
