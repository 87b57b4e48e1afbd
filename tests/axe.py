"""What axe-core says keeps people out who see, hear or move in other ways."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious_faults(page: Page) -> list[str]:
    """Of the page as it stands, each in a line."""
    found = Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {[node['target'] for node in fault['nodes']]}"
        for fault in found
        if fault["impact"] in {"serious", "critical"}
    ]
