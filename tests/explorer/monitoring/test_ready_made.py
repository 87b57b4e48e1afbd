"""The dashboard and the alerts that operators are given."""

import json
import re

import pytest
import yaml
from django.test import Client

from explorer.http import metrics
from explorer.pages.docs import MONITORING
from tests.explorer.monitoring.exposed import kinds_of, told
from tests.explorer.monitoring.watched_service import WATCHED, make_service
from tests.queries.api import served_api


def _expressions() -> list[str]:
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    targets = [target for panel in panels for target in panel.get("targets", [])]
    return [each["expr"] for each in (*group["rules"], *targets)]


@pytest.mark.urls(served_api.HERE)
@pytest.mark.django_db(transaction=True)
def test_every_metric_that_is_named_is_exposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "ROUTES", WATCHED)
    make_service()
    kinds = kinds_of(told())
    exposed = set(kinds)
    for name, kind in kinds.items():
        if kind == "histogram":
            exposed |= {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    named = {name for each in _expressions() for name in re.findall(r"\btacitus_\w+", each)}
    assert len(named) > 15
    assert named - exposed == set()


@pytest.mark.no_database
@pytest.mark.parametrize("name", ["dashboard.json", "alerts.yml"])
def test_they_can_be_had_from_the_server(name: str) -> None:
    answer = Client().get(f"/docs/monitoring/{name}")
    assert answer.status_code == 200
    assert answer.content == (MONITORING / name).read_bytes()
    assert f'href="/docs/monitoring/{name}"' in Client().get("/docs/operating").text
