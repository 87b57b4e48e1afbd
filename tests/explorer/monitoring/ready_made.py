"""The alerts and the panels that operators are given."""

import json
from typing import Any

import yaml

from explorer.views.guides import MONITORING

DASHBOARD, ALERTS = MONITORING / "dashboard.json", MONITORING / "alerts.yml"


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [each for each in found if each["type"] != "row"]


def targets() -> list[dict[str, Any]]:
    return [target for panel in panels() for target in panel["targets"]]


def expressions() -> list[str]:
    return [each["expr"] for each in (*targets(), *alerts())]
