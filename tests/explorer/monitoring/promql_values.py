"""What an expression is, of two scrapes that stand at the ends of each range.

Prometheus would extrapolate an increase a little, as its scrapes never do quite that.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tests.explorer.monitoring.promql import (
    COMPARISONS,
    Aggregation,
    Binary,
    Call,
    Expression,
    Matching,
    NotPromql,
    Number,
    Selector,
)

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Scrape = Mapping[str, Vector]  # by metric
Value = TypeVar("Value")
LE = frozenset({"le"})


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) if left else math.nan


OPERATORS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided, "%": math.fmod,
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip
AGGREGATED: dict[str, Callable[[list[float]], float]] = {"sum": sum, "min": min, "max": max}


@dataclass(frozen=True, slots=True)
class Scrapes:
    """A range ago, and now."""

    before: Scrape
    now: Scrape

    def vector(self, it: Expression) -> Vector:
        found = self.value(it)
        assert isinstance(found, dict)
        return found

    def value(self, it: Expression) -> float | Vector:
        if isinstance(it, Number):
            return it.value
        if isinstance(it, Selector):
            return _selected(self.now, it)
        if isinstance(it, Aggregation):
            return _aggregated(it, self.vector(it.of))
        if isinstance(it, Call):
            return self._called(it)
        return _both(it, self.value(it.left), self.value(it.right))

    def _called(self, it: Call) -> Vector:
        *_, last = it.arguments
        if it.function == "increase":
            assert isinstance(last, Selector)
            earlier = _selected(self.before, last)
            later = {key: n for key, n in _selected(self.now, last).items() if key in earlier}
            return {key: n - earlier[key] if n >= earlier[key] else n for key, n in later.items()}
        share = it.arguments[0]
        assert isinstance(share, Number)
        return _quantiles(share.value, self.vector(last))


def _selected(scrape: Scrape, it: Selector) -> Vector:
    def fits(labels: Labels) -> bool:
        told = dict(labels)
        for each in it.matchers:
            value = told.get(each.label, "")
            same = re.fullmatch(each.value, value) if "~" in each.sign else value == each.value
            if bool(same) is each.sign.startswith("!"):
                return False
        return True

    return {labels: value for labels, value in scrape.get(it.metric, {}).items() if fits(labels)}


def _aggregated(it: Aggregation, of: Vector) -> Vector:
    groups: dict[Labels, list[float]] = {}
    for labels, value in of.items():
        groups.setdefault(_only(labels, it.by), []).append(value)
    return {labels: AGGREGATED[it.operator](values) for labels, values in groups.items()}


def _quantiles(share: float, buckets: Vector) -> Vector:
    """Evenly between the bounds of the bucket that it is in."""
    found: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        bound = float(dict(labels)["le"])
        found.setdefault(_without(labels, LE), []).append((bound, count))
    return {labels: _quantile(share, sorted(some)) for labels, some in found.items()}


def _quantile(share: float, buckets: list[tuple[float, float]]) -> float:
    rank, low, below = share * buckets[-1][1], 0.0, 0.0
    for bound, count in buckets:
        if count >= rank and count > below:
            return (
                low if bound == math.inf else low + (bound - low) * (rank - below) / (count - below)
            )
        low, below = bound, count
    return math.nan


def _both(it: Binary, left: float | Vector, right: float | Vector) -> float | Vector:
    if isinstance(left, dict) and isinstance(right, dict):
        return _matched(it, left, right)
    if isinstance(left, dict):
        assert isinstance(right, float)
        pairs = {labels: (each, right, each) for labels, each in left.items()}
    elif isinstance(right, dict):
        pairs = {labels: (left, each, each) for labels, each in right.items()}
    else:
        return OPERATORS[it.operator](left, right)
    return _results(it.operator, pairs)


def _matched(it: Binary, left: Vector, right: Vector) -> Vector:
    of_key: Vector = {}
    for labels, value in right.items():
        _put(of_key, _key(labels, it.matching), value)
    pairs: dict[Labels, tuple[float, float, float]] = {}
    for labels, value in left.items():
        key = _key(labels, it.matching)
        if key in of_key:
            told = labels if it.matching.many_left else key
            _put(pairs, told, (value, of_key[key], value))
    return _results(it.operator, pairs)


def _put(into: dict[Labels, Value], key: Labels, value: Value) -> None:
    if key in into:
        raise NotPromql(f"several of one side belong to {sorted(key)}")
    into[key] = value


def _results(sign: str, pairs: Mapping[Labels, tuple[float, float, float]]) -> Vector:
    """A comparison keeps what fits, as it is."""
    work = OPERATORS[sign]
    if sign in COMPARISONS:
        return {key: kept for key, (left, right, kept) in pairs.items() if work(left, right)}
    return {key: work(left, right) for key, (left, right, _) in pairs.items()}


def _key(labels: Labels, matching: Matching) -> Labels:
    return (_only if matching.on else _without)(labels, matching.labels)


def _only(labels: Labels, names: frozenset[str]) -> Labels:
    return frozenset(each for each in labels if each[0] in names)


def _without(labels: Labels, names: frozenset[str]) -> Labels:
    return frozenset(each for each in labels if each[0] not in names)
