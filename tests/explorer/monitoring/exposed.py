"""What `/metrics` answers, read as Prometheus reads it."""

import re

from django.test import Client

HERE = {"Host": "127.0.0.1:8000"}
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
Samples = dict[str, dict[tuple[str, ...], float]]  # name → values of its labels → value


def exposed() -> Samples:
    return samples_of(told())


def told() -> str:
    answer = Client().get("/metrics", headers=HERE)
    assert answer.status_code == 200, answer.text
    return answer.text


def kinds_of(text: str) -> dict[str, str]:
    """Metric → its kind."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))


def samples_of(text: str) -> Samples:
    """Each line is one that the format knows, or this fails."""
    assert text.endswith("\n")
    found: Samples = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split(" ")[2])
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helped
            assert name not in kinds
            kinds[name] = kind
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        name, labels, value = sample[1], sample[2] or "", float(sample[3])
        assert re.sub("_(bucket|sum|count)$", "", name) in kinds or name in kinds, line
        if labels:
            assert LABEL.sub("", labels).strip(",") == "", line
        told = tuple(each[1] for each in LABEL.findall(labels))
        assert told not in found.setdefault(name, {}), line
        found[name][told] = value
    return found
