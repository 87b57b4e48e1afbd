"""What keeps people out of a page, by axe-core."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page


def assert_open_to_all(page: Page) -> None:
    """No serious or critical fault."""
    violations = Axe().run(page).response["violations"]
    faults = [
        f"{each['id']} ({each['impact']}): {node['target']}"
        for each in violations
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
    if faults:
        pytest.fail("\n".join(faults))
