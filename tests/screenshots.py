"""`make screenshots`: the README's picture, of a batch in a real service, and the card that link
previews show."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, FloatRect, Locator, Page, ViewportSize

from tests import browser
from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, OWNERS, REPOSITORY, Service

PICTURES = REPOSITORY / "static" / "pictures"
UNUSED_ADDRESS = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"  # not used on the chain
WIDTH, BOTTOM_MARGIN = 1200, 40
MAX_BYTES = 150_000
CARD = Path(__file__).with_name("card.svg")
CARD_SIZE: ViewportSize = {"width": 1200, "height": 630}
MAX_CARD_BYTES = 60_000


def main() -> None:
    executable = browser.executable_path()
    if executable is None:
        sys.exit(f"There is {browser.NOT_INSTALLED}")
    with (
        TemporaryDirectory(prefix="tacitus-") as folder,
        closing(Chain()) as chain,
        closing(Service(Path(folder), f"sqlite:///{folder}/tacitus.sqlite3")) as service,
        browser.running(executable) as chromium,
    ):
        service.manage("migrate", "--verbosity", "0")
        service.keys = (service.manage("create_api_key", "--owner", OWNERS[0]).stdout.strip(),)
        service.add_chain(chain, name="Demo A")
        service.add_registry("native", chain, chain)
        service.serve()
        service.prove()
        with _page(
            chromium, f"{service.url}/explorer/query/{_proven_batch(service, chain)}"
        ) as page:
            PICTURES.mkdir(exist_ok=True)
            _take(page, page.locator("#batch"), "batch")
        _take_card(chromium)


def _proven_batch(service: Service, chain: Chain) -> str:
    chain.set_balance(HOLDER, 123 * 10**18)
    accounts = {
        HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x0"]},
        service.registries[chain.id, chain.id]: {"props": ["CODE_HASH", "STORAGE_ROOT"]},
        UNUSED_ADDRESS: {"props": ["BALANCE"]},
    }
    entry = {"accounts": accounts, "header": ["TIMESTAMP", "STATE_ROOT"]}
    batch = service.submit({chain.id: {chain.mine(3) - 1: entry}})
    service.wait(batch)
    return batch


@contextmanager
def _page(chromium: Browser, address: str) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address, wait_until="networkidle")
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
