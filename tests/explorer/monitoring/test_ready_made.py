"""The dashboard and the alerts are PromQL, name what there is, and each alert says what to do."""

import re
from typing import Any

import pytest
from django.test import Client

from explorer.monitoring import endpoint
from explorer.views.guides import MONITORING
from tests.explorer.monitoring.exposed import kinds_of, told
from tests.explorer.monitoring.promql import Selector, duration, parsed, selectors
from tests.explorer.monitoring.promql_labels import labels_of
from tests.explorer.monitoring.ready_made import alerts, expressions, panels, targets
from tests.explorer.monitoring.watched_service import WATCHED, make_service, scrape
from tests.queries.api import served_api

NOT_SHOWN = {
    "tacitus_info", "tacitus_facts_total", "tacitus_node_head_number",
    "tacitus_node_look_age_seconds",
}  # fmt: skip


@pytest.mark.no_database
def test_every_expression_is_promql_and_every_time_a_duration() -> None:
    for each in expressions():
        assert list(selectors(parsed(each))), each
    for rule in alerts():
        assert duration(rule.get("for", "1s"))


@pytest.mark.urls(served_api.HERE)
@pytest.mark.django_db(transaction=True)
def test_every_metric_and_label_that_is_named_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "ROUTES", WATCHED)
    make_service()
    known = {
        metric: frozenset(name for labels in vector for name, _ in labels)
        for metric, vector in scrape().items()
    }
    for target in targets():
        labels = labels_of(parsed(target["expr"]), known)
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= labels, target
    for rule in alerts():
        labels = labels_of(parsed(rule["expr"]), known)
        sentences = " ".join(rule["annotations"].values())
        assert set(re.findall(r"\$labels\.(\w+)", sentences)) <= labels, rule


@pytest.mark.django_db
def test_every_metric_is_used_as_its_kind_is() -> None:
    """A counter says nothing but by how much it grew."""
    kinds = kinds_of(told())
    used = {
        each: kinds.get(each.metric, kinds.get(re.sub("_(bucket|sum|count)$", "", each.metric), ""))
        for text in expressions()
        for each in selectors(parsed(text))
    }
    for each, kind in used.items():
        assert bool(each.seconds) is (kind in {"counter", "histogram"}), each
    shown = {each.metric for each in used}
    assert shown >= {name for name, kind in kinds.items() if kind != "histogram"} - NOT_SHOWN


@pytest.mark.no_database
def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len(set(names)) >= 12
    for rule in alerts():
        assert set(rule["annotations"]) == {"summary", "do"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        for sentence in rule["annotations"].values():
            assert re.fullmatch(r".{20,}\.", sentence), sentence


@pytest.mark.no_database
def test_the_guide_names_the_alerts_that_a_restored_database_misleads(client: Client) -> None:
    """A total that is smaller than it was counts as grown by the whole of it."""
    restoring = client.get("/docs/operating").text.partition('id="backups"')[2].partition("<h2")[0]
    grown = {rule["alert"] for rule in alerts() if any(each.seconds for each in _read(rule))}
    assert set(re.findall(r"<code>(Tacitus\w+)</code>", restoring)) == grown


def _read(rule: dict[str, Any]) -> list[Selector]:
    return list(selectors(parsed(rule["expr"])))


@pytest.mark.no_database
def test_every_panel_says_what_it_shows() -> None:
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
    places = [tuple(panel["gridPos"].values()) for panel in panels()]
    assert len(places) == len(set(places))


@pytest.mark.no_database
@pytest.mark.parametrize("name", ["dashboard.json", "alerts.yml"])
def test_they_can_be_had_from_the_server(name: str) -> None:
    answer = Client().get(f"/docs/monitoring/{name}")
    assert answer.status_code == 200
    assert answer.content == (MONITORING / name).read_bytes()
    assert name in Client().get("/docs/operating").text
