"""The response of `/metrics`, parsed as Prometheus does."""

import re

from django.test import Client

LOCAL_HOST = {"Host": "127.0.0.1:8000"}
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
Samples = dict[str, dict[tuple[str, ...], float]]  # name → label values → value


def metrics_text() -> str:
    answer = Client().get("/metrics", headers=LOCAL_HOST)
    assert answer.status_code == 200, answer.text
    return answer.text


def metric_types(text: str) -> dict[str, str]:
    """Types by metric."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def metric_samples() -> Samples:
    """All samples; fails on a line that violates the format."""
    text = metrics_text()
    assert text.endswith("\n")
    samples: Samples = {}
    types: dict[str, str] = {}
    documented: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            documented.add(line.split(" ")[2])
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in documented
            assert name not in types
            types[name] = kind
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        name, labels, value = sample[1], sample[2] or "", float(sample[3])
        assert re.sub("_(bucket|sum|count)$", "", name) in types or name in types, line
        if labels:
            assert LABEL.sub("", labels).strip(",") == "", line
        label_values = tuple(label[1] for label in LABEL.findall(labels))
        assert label_values not in samples.setdefault(name, {}), line
        samples[name][label_values] = value
    return samples
