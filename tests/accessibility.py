"""Accessibility checks with axe-core."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SERIOUS = {"serious", "critical"}


def serious_problems(page: Page) -> list[str]:
    """A line per problem that is serious or critical."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in violations
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def assert_accessible(page: Page) -> None:
    if problems := serious_problems(page):
        pytest.fail("\n".join(problems))
