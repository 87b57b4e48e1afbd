"""Which labels the result of an expression has, from those that each metric has."""

from collections.abc import Mapping

from tests.explorer.monitoring.promql import (
    Aggregation,
    Binary,
    Call,
    Expression,
    NotPromql,
    Number,
    Selector,
    kind,
)

Known = Mapping[str, frozenset[str]]  # metric → its labels


def labels_of(it: Expression, known: Known) -> frozenset[str]:
    if isinstance(it, Number):
        return frozenset()
    if isinstance(it, Selector):
        return _of_metric(it, known)
    if isinstance(it, Aggregation):
        return _contained(it.by, labels_of(it.of, known), f"what {it.operator} is of")
    if isinstance(it, Call):
        inner = labels_of(it.arguments[-1], known)
        if it.function == "histogram_quantile":
            return inner - _contained(frozenset({"le"}), inner, "a histogram")
        return inner
    return _of_both(it, known)


def _of_metric(it: Selector, known: Known) -> frozenset[str]:
    if it.metric not in known:
        raise NotPromql(f"there is no metric {it.metric}")
    _contained(frozenset(each.label for each in it.matchers), known[it.metric], it.metric)
    return known[it.metric]


def _of_both(it: Binary, known: Known) -> frozenset[str]:
    left, right = labels_of(it.left, known), labels_of(it.right, known)
    if "scalar" in {kind(it.left), kind(it.right)}:
        return left | right
    told, matching = f"a side of {it.operator}", it.matching
    if matching.on:
        key = _contained(_contained(matching.labels, left, told), right, told)
    else:
        key = left - matching.labels
        if key != right - matching.labels:
            raise NotPromql(f"the sides of {it.operator} have {sorted(left)} and {sorted(right)}")
    return left if matching.many_left else key


def _contained(some: frozenset[str], labels: frozenset[str], of: str) -> frozenset[str]:
    if lost := some - labels:
        raise NotPromql(f"{of} has no label {', '.join(sorted(lost))}")
    return some
