"""What keeps people with other senses out of a page, as axe-core finds it."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

GRAVE = {"serious", "critical"}


def grave_faults(page: Page) -> list[str]:
    """A line for each that is serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {node['html'][:200]}"
        for fault in found
        if fault["impact"] in GRAVE
        for node in fault["nodes"]
    ]


def assert_open_to_all(page: Page) -> None:
    faults = grave_faults(page)
    if faults:
        pytest.fail("\n".join(faults))
