"""The Grafana dashboard and the Prometheus alerts that the server offers to operators."""

import json
import re

import pytest
import yaml
from django.test import Client

from explorer.http import probes
from explorer.pages.docs import MONITORING
from tests.explorer.monitoring.exposition import metric_types, metrics_text
from tests.explorer.monitoring.healthy_service import WATCHED, make_service
from tests.queries.api import served_api


def _expressions() -> list[str]:
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    targets = [target for panel in panels for target in panel.get("targets", [])]
    return [entry["expr"] for entry in (*group["rules"], *targets)]


@pytest.mark.urls(served_api.HERE)
@pytest.mark.django_db(transaction=True)
def test_dashboard_and_alerts_use_only_exposed_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "ROUTES", WATCHED)
    make_service()
    types = metric_types(metrics_text())
    exposed = set(types)
    for name, kind in types.items():
        if kind == "histogram":
            exposed |= {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    used = {name for text in _expressions() for name in re.findall(r"\btacitus_\w+", text)}
    assert len(used) > 15
    assert used - exposed == set()


@pytest.mark.no_database
@pytest.mark.parametrize("name", ["dashboard.json", "alerts.yml"])
def test_the_server_offers_the_files(name: str) -> None:
    answer = Client().get(f"/docs/monitoring/{name}")
    assert answer.status_code == 200
    assert answer.content == (MONITORING / name).read_bytes()
    assert f'href="/docs/monitoring/{name}"' in Client().get("/docs/operating").text
