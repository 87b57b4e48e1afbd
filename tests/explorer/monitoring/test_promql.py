"""Our reading of PromQL refuses what Prometheus would, and gives what it would."""

import pytest

from tests.explorer.monitoring.promql import NotPromql, parsed
from tests.explorer.monitoring.promql_labels import labels_of
from tests.explorer.monitoring.promql_values import Labels, Scrapes, Vector

pytestmark = pytest.mark.no_database


def _labels(**told: str) -> Labels:
    return frozenset(told.items())


ENDED = {_labels(job="a", status="DONE"): 2.0, _labels(job="a", status="REJECTED"): 1.0}
ENDED_NOW = {_labels(job="a", status="DONE"): 5.0, _labels(job="a", status="REJECTED"): 21.0}
HELD = {_labels(chain="1", signer="x"): 50.0, _labels(chain="2", signer="x"): 5.0}
SPENT = {_labels(chain="1"): 10.0, _labels(chain="2"): 10.0}
BUCKETS = {_labels(le="5"): 2.0, _labels(le="15"): 6.0, _labels(le="+Inf"): 6.0}
SCRAPES = Scrapes(
    {"ended": ENDED}, {"ended": ENDED_NOW, "held": HELD, "spent": SPENT, "b": BUCKETS}
)
KNOWN = {
    "ended": frozenset({"job", "status"}), "held": frozenset({"chain", "signer"}),
    "spent": frozenset({"chain"}), "b": frozenset({"le"}),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "sum(a", "sum a)", "a > 0)", "(a > 0", "a > ", "> a", "a b", "a 5", "a => 5", "-a",
        'a{b="c} > 0', 'a{b="c" > 0', "a{b=c}", "a{b=5}", 'a{b=="c"}', 'a{=~"c"}', 'a{b=~"("}',
        "incrase(a[1h])", "increase(a)", "increase(a[1h)", "increase(a[])", "increase(a[1 h])",
        "increase(a[h])", "increase(a[60])", "increase(a[1m1h])", "increase(a[0h])", "increase()",
        "increase(a[1h], a[1h])", "histogram_quantile(a, a)", "a[1h]", "a[1h] > 5", "sum(a[1h])",
        "1 > 0", "5", "a > on chain b", "a > on (chain) 5", "a > on (5) b", "sum by chain (a)",
        "sum by (chain a)", "a > by (b) c", "a and b", "a offset 5m", "a > bool 1", "a; b", "5x",
        "a > on (b) group_left (c) d", "sum by (a)",
    ],
)  # fmt: skip
def test_what_is_no_promql_is_refused(text: str) -> None:
    with pytest.raises(NotPromql):
        parsed(text)


@pytest.mark.parametrize(
    "text",
    [
        "gone > 0", 'held{node="1"}', "sum by (node) (held)", "histogram_quantile(0.5, held)",
        "held < spent", "held < on (signer) group_left () spent", "held < on (node) spent",
        'ended{status="DONE"} > ignoring (job) sum by (job) (ended)',
    ],
)  # fmt: skip
def test_labels_that_are_not_there_are_refused(text: str) -> None:
    with pytest.raises(NotPromql):
        labels_of(parsed(text), KNOWN)


@pytest.mark.parametrize(
    ("text", "labels", "vector"),
    [
        ("held > 5", {"chain", "signer"}, {_labels(chain="1", signer="x"): 50}),
        ("held >= 5 * 2 + 40", {"chain", "signer"}, {_labels(chain="1", signer="x"): 50}),
        ("held - 5 - 40 > 0", {"chain", "signer"}, {_labels(chain="1", signer="x"): 5}),
        ('held{chain!="1"}', {"chain", "signer"}, {_labels(chain="2", signer="x"): 5}),
        (
            'held{chain=~"1|3", signer!~"y.*"}',
            {"chain", "signer"},
            {_labels(chain="1", signer="x"): 50},
        ),
        ("sum by (signer) (held)", {"signer"}, {_labels(signer="x"): 55}),
        ("max(held) / 10", set(), {_labels(): 5}),
        ("min(held)", set(), {_labels(): 5}),
        ("sum(held) / sum(spent)", set(), {_labels(): 2.75}),
        (
            "held < on (chain) group_left () (3 * spent)",
            {"chain", "signer"},
            {_labels(chain="2", signer="x"): 5},
        ),
        ("held > on (chain) spent", {"chain"}, {_labels(chain="1"): 50}),
        (
            'increase(ended{status="REJECTED"}[1h])',
            {"job", "status"},
            {_labels(job="a", status="REJECTED"): 20},
        ),
        # Nothing matches, because the sides differ in a label.
        ('ended{status="REJECTED"} > ended{status="DONE"}', {"job", "status"}, {}),
        (
            'ended{status="REJECTED"} > ignoring (status) ended{status="DONE"} + 15',
            {"job"},
            {_labels(job="a"): 21},
        ),
        ('ended{status="REJECTED"} > ignoring (status) ended{status="DONE"} + 16', {"job"}, {}),
        ("histogram_quantile(0.5, b)", set(), {_labels(): 7.5}),
        ("histogram_quantile(1, b)", set(), {_labels(): 15}),
    ],
)
def test_what_is_promql_has_labels_and_a_value(text: str, labels: set[str], vector: Vector) -> None:
    expression = parsed(text)
    assert labels_of(expression, KNOWN) == labels
    assert SCRAPES.vector(expression) == vector


def test_several_of_one_side_are_refused() -> None:
    with pytest.raises(NotPromql):
        SCRAPES.vector(parsed("spent > on () held"))
