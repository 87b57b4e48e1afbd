"""Accessibility checks with axe-core."""

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.environment import IS_THOROUGH

SERIOUS = {"serious", "critical"}
COLOUR_RULES = ["color-contrast", "link-in-text-block"]  # take most of the time
# The rows of a table have the same colours.
REPEATED = [["tr:nth-of-type(n+5)"], ["details:nth-of-type(n+5)"]]
RUN = "async ([context, options]) => (await axe.run(context ?? document, options)).violations"


def serious_problems(page: Page) -> list[str]:
    """A line per problem that is serious or critical.

    A thorough run looks at a wide window too, and at dark colours.
    """
    page.evaluate(AXE_SCRIPT)
    colours = {"runOnly": {"type": "rule", "values": COLOUR_RULES}}
    others = {"rules": {rule: {"enabled": False} for rule in COLOUR_RULES}}
    problems, size = _problems(page, **others), page.viewport_size
    if IS_THOROUGH and size:
        page.set_viewport_size({"width": 1280, "height": 720})
        problems += _problems(page, **others)
        page.set_viewport_size(size)
    for scheme in ("light", "dark") if IS_THOROUGH else ("light",):
        page.emulate_media(color_scheme=scheme)
        problems += _problems(page, {"exclude": REPEATED}, **colours)
    return problems


def _problems(page: Page, context: dict[str, Any] | None = None, **options: Any) -> list[str]:
    violations = page.evaluate(RUN, [context, {"resultTypes": ["violations"], **options}])
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in violations
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def assert_accessible(page: Page) -> None:
    if problems := serious_problems(page):
        pytest.fail("\n".join(problems))
