"""The service with the chains of these tests, and clients of its API."""

import itertools
import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone

from accounts.keys import manage
from accounts.models import Account
from accounts.wallets import Wallet
from explorer import endpoints as api
from explorer import urls
from explorer.pages.feeds import feed_words
from queries.chain.signer import Signer
from queries.config.chains import Chain, NodeAddress
from queries.models import ChainRecord
from queries.schema.batch_checks import BatchLimits
from queries.sources import KINDS
from queries.sources.attested import AttestedRegistry
from queries.sources.registry import Registry, RegistryKind
from queries.sources.routes import Routes

HERE = __name__
SEPOLIA, OPTIMISM, LONELY = 11155111, 10, 137
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
OTHER_WALLET = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"
LIMITS = BatchLimits(
    blocks=600,
    accounts=600,
    slots=600,
    events=600,
    webhook_headers=10,
    webhook_header_bytes=4_096,
    body_bytes=200_000,
)

SIGNERS = [Signer(32 * f"{n:02x}") for n in (1, 2)]
ATTESTED = AttestedRegistry(
    OPTIMISM,
    SEPOLIA,
    "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    signers=tuple(signer.address for signer in SIGNERS),
    threshold=2,
)


def _registry(kind: RegistryKind, source: int, destination: int) -> tuple[Any, Registry]:
    address = (
        f"0x{source + destination * 10**9:040}"  # no letters, so its checksum is right in any case
    )
    return (source, destination), KINDS[kind](source, destination, address)


NODES = (NodeAddress("http://127.0.0.1:1"),)  # asked for estimates only
ROUTES = Routes(
    {
        SEPOLIA: Chain(
            SEPOLIA,
            "Sepolia",
            NODES,
            ("SN_SEPOLIA",),
            free=True,
            explorer="https://scan.example",
            ens_registry="0x" + 40 * "1",
        ),
        OPTIMISM: Chain(OPTIMISM, "OP Mainnet", NODES),
        LONELY: Chain(LONELY, "Polygon", ()),
    },
    dict(
        [
            _registry(RegistryKind.NATIVE, SEPOLIA, SEPOLIA),
            _registry(RegistryKind.NATIVE, OPTIMISM, OPTIMISM),
            _registry(RegistryKind.OPTIMISM, SEPOLIA, OPTIMISM),
            ((OPTIMISM, SEPOLIA), ATTESTED),
        ]
    ),
)


def broken(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("hunter2")


urlpatterns = [
    *api.url_patterns(ROUTES, LIMITS, feed_words),
    *urls.guide_pages(ROUTES, LIMITS),
    *urls.explorer_pages(ROUTES),
    *urls.account_pages(ROUTES, LIMITS),
    path("broken", broken),
    *urls.urlpatterns,
]
handler400, handler500 = urls.handler400, urls.handler500

names = itertools.count()


def make_key(wallet: str = WALLET) -> str:
    account, _ = Account.objects.get_or_create_for_wallet(Wallet(wallet))
    text = manage.reveal(manage.add_key(account, f"Key {next(names)}"))
    assert text is not None
    return text


def submit(key: str, content: object, **headers: str) -> Any:
    body = content if isinstance(content, str | bytes) else json.dumps(content)
    return Client().post(
        "/submit-batch-query",
        body,
        content_type="application/json",
        headers={"api-key": key, **headers},
    )


def submitted(key: str, content: object, **headers: str) -> str:
    """Submit, and return the new batch's id."""
    response = submit(key, content, **headers)
    assert response.status_code == 200, response.text
    return str(response.json()["internalId"])


def make_feed(key: str, content: object) -> Any:
    """The answer to POST /feeds."""
    return Client().post(
        "/feeds", json.dumps(content), content_type="application/json", headers={"api-key": key}
    )


def made_feed(key: str, content: object) -> str:
    """Make a feed, and return its id."""
    response = make_feed(key, content)
    assert response.status_code == 200, response.text
    return str(response.json()["id"])


def ask(key: str, address: str, **parameters: str | int) -> Any:
    return Client().get(address, parameters, headers={"api-key": key})


def record_head(chain: int, *, number: int, timestamp: int) -> None:
    """Record a chain's head as a worker that has just polled it."""
    now = timezone.now()
    ChainRecord.objects.create(
        chain=chain,
        polled_at=now,
        recorded_at=now,
        number=number,
        timestamp=timestamp,
        final_number=number,
    )
