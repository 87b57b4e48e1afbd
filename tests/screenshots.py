"""`make screenshots`: the README's picture, of the demo's first batch, and the card that link
previews show."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT

from playwright.sync_api import Browser, FloatRect, Locator, Page, ViewportSize

from tests import browser
from tests.commands import free_port
from tests.rigs.service import REPOSITORY

PICTURES = REPOSITORY / "explorer" / "static" / "pictures"
WIDTH, BOTTOM_MARGIN = 1200, 40
MAX_BYTES = 150_000
CARD = Path(__file__).with_name("card.svg")
CARD_SIZE: ViewportSize = {"width": 1200, "height": 630}
MAX_CARD_BYTES = 60_000


def main() -> None:
    executable = browser.executable_path()
    if executable is None:
        sys.exit(f"Missing on this machine: {browser.CHROMIUM}")
    with _demo_batch() as address, browser.running(executable) as chromium:
        with _page(chromium, address) as page:
            PICTURES.mkdir(exist_ok=True)
            _take(page, page.locator("#batch"), "batch")
        _take_card(chromium)


@contextmanager
def _demo_batch() -> Iterator[str]:
    """Run the demo; yields the address of its first batch."""
    command = [sys.executable, "-u", "manage.py", "demo", f"--port={free_port()}"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as demo:
        try:
            output = ""
            for line in demo.stdout or ():
                output += line
                if "stays up until" in line:
                    break
            proof = re.search(r"(\S+/explorer/query/\w+)/proof\.json", output)
            if proof is None:
                sys.exit(f"The demo has failed:\n{output}")
            yield proof[1]
        finally:
            demo.send_signal(SIGINT)


@contextmanager
def _page(chromium: Browser, address: str) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address, wait_until="load")
    yield page
    context.close()


def _take(page: Page, last: Locator, name: str) -> None:
    """Picture the page from its top to the end of `last`."""
    box = last.bounding_box()
    assert box, name
    clip: FloatRect = {
        "x": 0,
        "y": 0,
        "width": WIDTH,
        "height": box["y"] + box["height"] + BOTTOM_MARGIN,
    }
    file = PICTURES / f"{name}.png"
    _check_size(file, len(page.screenshot(path=file, clip=clip, full_page=True)), MAX_BYTES)


def _take_card(chromium: Browser) -> None:
    """The picture that link previews show for pages without one of their own."""
    context = chromium.new_context(viewport=CARD_SIZE)
    page = context.new_page()
    page.goto(CARD.as_uri())
    file = PICTURES / "card.png"
    _check_size(file, len(page.screenshot(path=file)), MAX_CARD_BYTES)
    context.close()


def _check_size(file: Path, size: int, maximum: int) -> None:
    if size > maximum:
        sys.exit(f"{file} has {size:,} bytes; at most {maximum:,} are allowed.")
    print(f"{file.relative_to(REPOSITORY)}: {size:,} bytes")


if __name__ == "__main__":
    main()
