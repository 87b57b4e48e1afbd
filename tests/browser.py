"""Fixtures for tests in Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from explorer.settings.environment import Environment
from tests.environment import skip_without

PACKAGED = Path(__file__).parent / "js" / "node_modules" / ".bin" / "chromium"
EXECUTABLES = ("chromium", "chromium-browser", "google-chrome", str(PACKAGED))
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
TIMEOUT = 15_000  # milliseconds, to load a page and to show something
CHROMIUM = "Chromium (apt-get install chromium)"


def executable_path() -> str | None:
    return next(filter(None, map(shutil.which, EXECUTABLES)), None)


@contextmanager
def running(executable: str) -> Iterator[Browser]:
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = executable_path()
    if executable is None:
        skip_without(CHROMIUM)
    with running(executable) as chromium:
        yield chromium


@pytest.fixture
def complaints() -> list[str]:
    """Console errors of `page`; a test that provokes some removes them."""
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page in a new context; console errors and policy violations fail the test."""

    def note(message: ConsoleMessage) -> None:
        # htmx logs an error if the page is left during a poll.
        is_abort = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
        if message.type in {"error", "warning"} and not is_abort:
            complaints.append(message.text)

    context = browser.new_context()
    new_page = context.new_page()
    new_page.set_default_timeout(TIMEOUT)
    new_page.on("console", note)
    new_page.on("pageerror", lambda error: complaints.append(str(error)))
    yield new_page
    context.close()
    assert complaints == []


@pytest.fixture
def plain_page(browser: Browser) -> Iterator[Page]:
    """A page without scripts."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def assert_fits(page: Page, *widths: int) -> None:
    """Check at each of these widths that nothing is wider than the window."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)


@dataclass(frozen=True, slots=True)
class Pictures:
    """Screenshots for people, taken with PICTURES=1 only, because they are slow."""

    folder: Path
    enabled: bool

    def take(self, page: Page, name: str) -> None:
        if self.enabled:
            page.screenshot(path=self.folder / f"{name}.png", full_page=True)

    def check_fit(self, page: Page, name: str, widths: tuple[int, ...] = (360, 1200)) -> None:
        """Check that nothing is wider than the window, in both colour schemes."""
        for scheme, width in product(("light", "dark"), widths):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert_fits(page, width)
            self.take(page, f"{name}-{scheme}-{width}")


@pytest.fixture(scope="session")
def pictures(repository: Path) -> Pictures:
    return Pictures(repository / "var" / "pictures", Environment(os.environ).flag("PICTURES"))
