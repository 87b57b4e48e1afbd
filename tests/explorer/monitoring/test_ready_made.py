"""The dashboard and the alerts name what there is, and each alert says what to do."""

import json
import re
from typing import Any

import pytest
import yaml
from django.test import Client

from explorer.views.guides import MONITORING
from tests.explorer.monitoring.exposed import HERE

LABELS = {
    "chain", "destination", "job", "le", "node", "queue", "signer", "source", "stage",
    "state", "status",
}  # fmt: skip
DASHBOARD, ALERTS = MONITORING / "dashboard.json", MONITORING / "alerts.yml"


def _alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [each for each in panels if each["type"] != "row"]


def _expressions() -> list[str]:
    shown = [target["expr"] for panel in _panels() for target in panel["targets"]]
    return shown + [rule["expr"] for rule in _alerts()]


@pytest.mark.django_db
def test_every_metric_that_is_named_exists() -> None:
    text = Client().get("/metrics", headers=HERE).text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    histograms = {name for name, kind in kinds.items() if kind == "histogram"}
    known = {*kinds, *(f"{name}_{end}" for name in histograms for end in ("bucket", "sum"))}
    named = {name for each in _expressions() for name in re.findall(r"\btacitus_\w+", each)}
    assert named <= known
    assert named >= set(kinds) - histograms - {
        "tacitus_info", "tacitus_facts_total", "tacitus_node_head_number",
        "tacitus_node_look_age_seconds",
    }  # fmt: skip
    for each in _expressions():
        counters = re.findall(r"\btacitus_\w+_(?:total|bucket)\b", each)
        rates = re.findall(r"increase\(tacitus_\w+_(?:total|bucket)\b", each)
        assert len(counters) == len(rates), each


@pytest.mark.no_database
def test_every_label_that_is_named_exists() -> None:
    for each in _expressions():
        chosen = ",".join(re.findall(r"\{([^}]*)\}", each))
        grouped = ",".join(re.findall(r"\b(?:by|on) \(([^)]*)\)", each))
        named = {*re.findall(r"(\w+)!?=", chosen), *re.findall(r"\w+", grouped)}
        assert named <= LABELS, each


@pytest.mark.no_database
def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in _alerts()]
    assert len(names) == len(set(names)) >= 12
    for rule in _alerts():
        assert set(rule["annotations"]) == {"summary", "do"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        for sentence in rule["annotations"].values():
            assert re.fullmatch(r".{20,}\.", sentence), sentence


@pytest.mark.no_database
def test_every_panel_says_what_it_shows() -> None:
    for panel in _panels():
        assert panel["description"].endswith("."), panel["title"]
    places = [tuple(panel["gridPos"].values()) for panel in _panels()]
    assert len(places) == len(set(places))


@pytest.mark.no_database
@pytest.mark.parametrize("name", ["dashboard.json", "alerts.yml"])
def test_they_can_be_had_from_the_server(name: str) -> None:
    answer = Client().get(f"/docs/monitoring/{name}")
    assert answer.status_code == 200
    assert answer.content == (MONITORING / name).read_bytes()
    assert name in Client().get("/docs/operating").text
