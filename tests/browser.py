"""The system's Chromium, driven by Playwright, for tests that ask for a `page`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from explorer.settings.environment import Environment

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]


ABSENT = "no Chromium on this machine: apt-get install chromium"


def installed() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running(executable: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = installed()
    if executable is None:
        if Environment(os.environ).flag("REQUIRE_BROWSER"):
            pytest.fail(ABSENT)
        pytest.skip(ABSENT)
    with running(executable) as launched:
        yield launched


@pytest.fixture
def complaints() -> list[str]:
    """What the console of `page` said; a test that provokes something takes it out again."""
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page of a fresh visitor; a console error or a policy violation fails the test."""

    def note(message: ConsoleMessage) -> None:
        # htmx complains of a poll that ends because its page is left.
        is_of_leaving = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
        if message.type in {"error", "warning"} and not is_of_leaving:
            complaints.append(message.text)

    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    opened.on("console", note)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


@dataclass(frozen=True, slots=True)
class Pictures:
    """Of what tests see, for people to look at. They take longer than all else that a browser does,
    so they are taken where PICTURES=1 asks for them.
    """

    folder: Path
    wanted: bool

    def take(self, page: Page, name: str) -> None:
        if self.wanted:
            page.screenshot(path=self.folder / f"{name}.png", full_page=True)

    def check_fit(self, page: Page, name: str, widths: tuple[int, ...] = (360, 1200)) -> None:
        """Check that nothing is wider than the window, in both colour schemes."""
        for scheme, width in product(("light", "dark"), widths):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            self.take(page, f"{name}-{scheme}-{width}")


@pytest.fixture(scope="session")
def pictures(repository: Path) -> Pictures:
    return Pictures(repository / "var" / "pictures", Environment(os.environ).flag("PICTURES"))
