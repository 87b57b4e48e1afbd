"""Prometheus's text format, version 0.0.4."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value, and what tells it from the others of its metric."""

    value: float  # or an int, which is written whole
    labels: Mapping[str, object] = field(default_factory=dict)
    of: str = ""  # of a histogram: `_bucket`, `_sum` or `_count`


@dataclass(frozen=True, slots=True)
class Metric:
    """What it is called, what it says, and what it is now."""

    name: str
    kind: Kind
    says: str
    samples: tuple[Sample, ...]


def exposition(metrics: Iterable[Metric]) -> str:
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {_escaped(metric.says)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for each in metric.samples:
        labels = ",".join(f'{name}="{_quoted(value)}"' for name, value in each.labels.items())
        yield f"{metric.name}{each.of}{f'{{{labels}}}' if labels else ''} {each.value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(value: object) -> str:
    return _escaped(str(value)).replace('"', r"\"")
