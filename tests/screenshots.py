"""The README's picture: `make screenshots` runs the service, has it prove, and takes it."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests
from playwright.sync_api import Browser, FloatRect, Locator, Page

from tests import browser
from tests.commands import managing
from tests.installation import Installation, installation
from tests.local_chain import CHAIN_ID, HOLDER

REPOSITORY = Path(__file__).parent.parent
PICTURES = REPOSITORY / "static" / "pictures"
NO_SIGNER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"  # who has no account on the chain
WIDTH, BELOW = 1200, 40  # what is left under the last thing that a picture shows
MOST_BYTES = 150_000  # of a picture, in a README
WITHIN = 60  # seconds for a batch


def main() -> None:
    executable = browser.installed()
    if executable is None:
        sys.exit(f"There is {browser.ABSENT}")
    with TemporaryDirectory(prefix="tacitus-") as name:
        folder = Path(name)
        with installation(REPOSITORY, folder, managing(REPOSITORY, folder)) as service:
            batch = _proven(
                service,
                {
                    HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x0"]},
                    service.registry: {"props": ["CODE_HASH", "STORAGE_ROOT"]},
                    NO_SIGNER: {"props": ["BALANCE"]},
                },
                header=["TIMESTAMP", "STATE_ROOT"],
            )
            PICTURES.mkdir(exist_ok=True)
            with browser.running(executable) as chromium:
                address = f"{service.address}/explorer/query/{batch}"
                with _page(chromium, address) as page:
                    page.locator(".queries summary", has_text="NONCE").click()
                    page.locator(".said-value").first.wait_for()
                    _take(page, page.locator(".queries"), "batch")


def _proven(service: Installation, accounts: Mapping[str, object], **more: object) -> str:
    """The id of a batch that is DONE."""
    ask = service.node.rpc.ask
    ask("anvil_mine", "0x3")
    block = int(ask("eth_blockNumber"), 16) - 1
    data = {str(CHAIN_ID): {f"block:{block}": {"accounts": accounts, **more}}}
    batch = {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data}
    told = _answer(service, "POST", "submit-batch-query", json=batch)
    until = time.monotonic() + WITHIN
    while told.get("queryStatus") != "DONE":
        if told.get("queryStatus") == "REJECTED" or time.monotonic() > until:
            sys.exit(f"The batch is not proven: {told}")
        time.sleep(0.2)
        asked = {"batchQueryId": told["internalId"], "details": "0"}
        told = _answer(service, "GET", "batch-query-status", params=asked)
    return str(told["internalId"])


def _answer(service: Installation, method: str, path: str, **asked: Any) -> Any:
    headers = {"api-key": service.key}
    address = f"{service.address}/{path}"
    answer = requests.request(method, address, headers=headers, timeout=10, **asked)
    answer.raise_for_status()
    return answer.json()


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
