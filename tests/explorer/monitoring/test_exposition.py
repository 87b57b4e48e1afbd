"""The text format, where it is easy to get wrong."""

import pytest

from explorer.metrics import Kind, Metric, Sample, exposition

pytestmark = pytest.mark.no_database


def test_a_metric_is_told_with_what_it_says_and_its_kind() -> None:
    metric = Metric(
        "jobs", Kind.GAUGE, "Of now.", (Sample(2, {"stage": "proof"}), Sample(0.5, {"stage": "x"}))
    )
    assert exposition([metric]) == (
        '# HELP jobs Of now.\n# TYPE jobs gauge\njobs{stage="proof"} 2\njobs{stage="x"} 0.5\n'
    )


def test_what_stands_in_a_label_ends_neither_it_nor_the_line() -> None:
    metric = Metric("a", Kind.COUNTER, "b\\\nc", (Sample(1, {"d": 'e"\\\nf'}),))
    assert exposition([metric]) == '# HELP a b\\\\\\nc\n# TYPE a counter\na{d="e\\"\\\\\\nf"} 1\n'


def test_an_amount_of_wei_keeps_all_its_digits() -> None:
    metric = Metric("wei", Kind.GAUGE, "Wei.", (Sample(2**256 - 1),))
    assert exposition([metric]).splitlines()[-1] == f"wei {2**256 - 1}"
