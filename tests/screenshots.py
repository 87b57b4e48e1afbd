"""The README's picture: `make screenshots` runs the service, has it prove, and takes it."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, FloatRect, Locator, Page

from tests import browser
from tests.scenarios.chain import Chain
from tests.scenarios.service import HOLDER, OWNERS, REPOSITORY, Service

PICTURES = REPOSITORY / "static" / "pictures"
NO_SIGNER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"  # who has no account on the chain
WIDTH, BELOW = 1200, 40  # what is left under the last thing that a picture shows
MOST_BYTES = 150_000  # of a picture, in a README


def main() -> None:
    executable = browser.installed()
    if executable is None:
        sys.exit(f"There is {browser.ABSENT}")
    with (
        TemporaryDirectory(prefix="tacitus-") as folder,
        closing(Chain()) as chain,
        closing(Service(Path(folder), f"sqlite:///{folder}/tacitus.sqlite3")) as service,
        browser.running(executable) as chromium,
    ):
        service.manage("migrate", "--verbosity", "0")
        service.keys = (service.manage("create_api_key", "--owner", OWNERS[0]).stdout.strip(),)
        service.add_chain(chain, name="Local")
        service.add_registry("native", chain, chain)
        service.serve()
        service.prove()
        with _page(chromium, f"{service.url}/explorer/query/{_proven(service, chain)}") as page:
            page.locator(".queries summary", has_text="NONCE").click()
            page.locator(".decoded-value").first.wait_for()
            PICTURES.mkdir(exist_ok=True)
            _take(page, page.locator(".queries"), "batch")


def _proven(service: Service, chain: Chain) -> str:
    """The id of a batch that is DONE."""
    chain.set_balance(HOLDER, 123 * 10**18)
    asked = {
        HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x0"]},
        service.registries[chain.id, chain.id]: {"props": ["CODE_HASH", "STORAGE_ROOT"]},
        NO_SIGNER: {"props": ["BALANCE"]},
    }
    entry = {"accounts": asked, "header": ["TIMESTAMP", "STATE_ROOT"]}
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
    """From the top of the page to this part of it."""
    box = last.bounding_box()
    assert box, name
    clip: FloatRect = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + BELOW}
    file = PICTURES / f"{name}.png"
    size = len(page.screenshot(path=file, clip=clip, full_page=True))
    if size > MOST_BYTES:
        sys.exit(f"{file} has {size:,} bytes; a README's picture has at most {MOST_BYTES:,}.")
    print(f"{file.relative_to(REPOSITORY)}: {size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
