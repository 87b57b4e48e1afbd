"""Posts a batch's end to its webhook, and retries for about a day until the receiver accepts it.

All attempts carry the same bytes and event id, so that a receiver can ignore repetitions. If a
reorg changes facts after that, another event corrects it (`transitions.finish`). The URL is
untrusted: its host is resolved once, all of its IP addresses must be on the public internet, the
connection goes to an address that was checked, and only the status of the answer is used.
"""

import base64
import hmac
import json
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from threading import Thread
from urllib.parse import urlsplit

import urllib3
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from accounts.errors import Refusal
from accounts.models import Account
from accounts.rate_limits import spend
from accounts.wording import counted
from queries.bounded_http import PlainPool, SecurePool
from queries.engines.waking import wake
from queries.errors import TOO_MANY_REPLAYS
from queries.fact_names import shown_values
from queries.models import Batch, Query, WebhookAttempt, WebhookDelivery
from queries.pipeline.queue import Lease, Outcome, Retry, claim_one, due, shared_now
from queries.reading.deliveries import DeliveryView, is_event, rows_of, views_of
from queries.statuses import BatchStatus

# The Standard Webhooks specification, 1.0
ID_HEADER, TIME_HEADER, SIGNATURE_HEADER = "webhook-id", "webhook-timestamp", "webhook-signature"
PREFIX = "whsec_"
# After each attempt that was not accepted: about a day in all.
PAUSES = [timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200)]
TAKEN = range(200, 300)
SALT = "queries.webhooks"
MOST_FACTS = 1_000
# Times an hour that an account may have webhooks sent again; each may be tried ten times.
REPLAYS_AN_HOUR, HOUR = 100, 3_600
# Seconds for the DNS look-up, for connecting, and for the whole request after the look-up.
LOOKUP, CONNECT, WHOLE = 4.0, 3.0, 8.0
MAX_SECONDS = LOOKUP + WHOLE
# Nothing was sent, so the next address of the host may be tried.
NOT_CONNECTED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
# Reserved for protocol assignments (RFC 6890). Some clouds have metadata services there, and older
# Python versions call most of it global.
OF_PROTOCOLS = IPv4Network("192.0.0.0/24")
# The only IPv6 range for the public internet. Python also calls some other ranges global, such as
# site-local ones and several spellings of IPv4, private or not (RFC 4291, RFC 2765).
GIVEN = IPv6Network("2000::/3")
DOCUMENTATION = IPv6Network("3fff::/20")  # unknown to older Python versions
NAT64 = IPv6Network("64:ff9b::/96")  # of the public internet: the last four bytes are IPv4


def claim_delivery() -> Lease[WebhookDelivery] | None:
    """Claim a delivery of an account that has none in progress: no account may use all threads."""
    pending = WebhookDelivery.objects.filter(look_again__isnull=False)
    in_hand = pending.filter(lease_until__gt=shared_now())
    rows = pending.exclude(owner__in=in_hand.values("owner"))
    while owner := due(rows, shared_now()).values_list("owner", flat=True).first():
        with transaction.atomic():
            # Locked until the commit: claims of other provers are visible only after theirs.
            Account.objects.select_for_update(no_key=True).get(pk=owner)
            if lease := claim_one(rows.filter(owner=owner)):
                return lease
    return None


def deliver(lease: Lease[WebhookDelivery]) -> Outcome:
    delivery = lease.row
    batch = delivery.batch
    if delivery.failures and WebhookDelivery.objects.filter(corrects=delivery).exists():
        return None  # only the correction is still worth a retry
    body = delivery.body or _store_body(lease)
    now = shared_now()
    headers = dict(batch.webhook_headers) | _signed(delivery, int(now.timestamp()), body)
    begin = time.monotonic()
    answered, fault = None, ""
    try:
        answered = post(batch.webhook_url, headers, body, to_private=settings.WEBHOOKS_TO_PRIVATE)
    except NotDelivered as reason:
        fault = str(reason)
    took = int((time.monotonic() - begin) * 1_000)
    lease.keep()
    WebhookAttempt.objects.create(
        delivery=delivery, made=now, answered=answered, fault=fault, milliseconds=took
    )
    if answered in TAKEN:
        lease.held().update(delivered=now)
        return None
    # Delay the account's other deliveries by as long as this one took: a receiver that hangs must
    # not hold up other accounts.
    now = shared_now()
    others = WebhookDelivery.objects.filter(owner=delivery.owner_id, look_again__lte=now)
    others.exclude(pk=delivery.pk).update(look_again=now + timedelta(milliseconds=took))
    attempts = delivery.failures + 1
    if attempts > len(PAUSES):
        return None
    return Retry(None, attempts, PAUSES[attempts - 1])  # the list of attempts says why


def _store_body(lease: Lease[WebhookDelivery]) -> bytes:
    """Store the body at the first attempt; later attempts and replays send the same bytes."""
    with transaction.atomic():
        # `transitions.finish` locks it as well: it either changes facts first, or sees the body.
        Batch.objects.select_for_update(no_key=True).get(pk=lease.row.batch_id)
        lease.keep()
        body = _body(lease.row)
        lease.held().update(body=body)
    return body


def _body(delivery: WebhookDelivery) -> bytes:
    batch = delivery.batch
    queries = list(Query.objects.filter(batch=batch).order_by("place")[: MOST_FACTS + 1])
    error = {
        "code": batch.error_code,
        "error": batch.error_sentence,
        "step": batch.error_step or None,
        "retryable": batch.error_retryable,
    }
    content = {
        "event": delivery.pk,
        "corrects": delivery.corrects_id,
        "batchQueryId": batch.pk,
        "queryStatus": batch.status,
        "destinationChainId": str(batch.destination),
        "error": error if batch.status == BatchStatus.REJECTED else None,
        "facts": [
            {
                "originChainId": str(query.source),
                "block": None if query.block is None else str(query.block),
                "account": query.account or None,
                "name": query.name or None,
                "values": shown_values(query.words) if batch.status == BatchStatus.DONE else None,
            }
            for query in queries[:MOST_FACTS]
        ],
        # As in the status answer, which lists the queries that follow.
        "nextQuery": queries[MOST_FACTS].place if len(queries) > MOST_FACTS else None,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def replay(owner: Account, event: str) -> DeliveryView | None:
    """Send the webhook again at once, or a pending one now. None: the owner has no such event."""
    spent = spend(f"replays of {owner.pk}", REPLAYS_AN_HOUR, HOUR)
    if not spent.allowed:
        raise Refusal(
            TOO_MANY_REPLAYS,
            f"An account may replay {REPLAYS_AN_HOUR} webhooks an hour and has used them up. "
            f"Try again in {counted(spent.seconds_left, 'second')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )
    if not is_event(event):  # some texts, such as a zero byte, are errors in PostgreSQL
        return None
    now = shared_now()
    with transaction.atomic():
        row = rows_of(owner).filter(pk=event).select_for_update(of=("self",)).first()
        if row is None:
            return None
        # One that a worker sends right now is left to it.
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        later = Q(look_again=None) | Q(look_again__gt=now)
        WebhookDelivery.objects.filter(free & later, pk=row.pk).update(look_again=now, failures=0)
        row.refresh_from_db()
        transaction.on_commit(lambda: wake(row.batch_id))
    (view,) = views_of([row])
    return view


class NotDelivered(Exception):  # noqa: N818
    """The address could not be reached, or must not be."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a webhook's URL."""

    scheme: str
    host: str
    port: int
    path: str


def webhook_secret(account: Account) -> str:
    """The secret that signs the account's webhooks. Derived from SECRET_KEY, and not stored."""
    return PREFIX + base64.b64encode(_signing_key(account, settings.SECRET_KEY)).decode()


def _signing_key(account: Account, secret_key: str) -> bytes:
    return salted_hmac(SALT, str(account.pk), secret=secret_key, algorithm="sha256").digest()


def _signed(delivery: WebhookDelivery, timestamp: int, body: bytes) -> dict[str, str]:
    """With a signature for each former key as well: receivers change their secret later."""
    content = f"{delivery.pk}.{timestamp}.".encode() + body
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    signatures = [hmac.digest(_signing_key(delivery.owner, key), content, "sha256") for key in keys]
    return {
        ID_HEADER: delivery.pk,
        TIME_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(f"v1,{base64.b64encode(s).decode()}" for s in signatures),
    }


def post(url: str, headers: dict[str, str], body: bytes, *, to_private: bool = False) -> int:
    """Post the webhook. Returns the HTTP status of the answer, or raises `NotDelivered`."""
    target = _target(url)
    addresses = _addresses(target, to_private=to_private)
    ours = {"Host": _host_header(target), "User-Agent": "Tacitus", "Connection": "close"}
    sent = urllib3.HTTPHeaderDict({"Content-Type": "application/json"})
    sent.update({**headers, **ours})  # capitals make no difference in a header's name
    until, fault = time.monotonic() + WHOLE, ""
    while addresses and (left := until - time.monotonic()) > 0:
        try:
            with (
                _connection(target, addresses.pop(0), left) as pool,
                pool.urlopen(
                    "POST", target.path, body=body, headers=sent, redirect=False, retries=False,
                    preload_content=False,
                ) as answer,
            ):  # fmt: skip
                return int(answer.status)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            fault = type(error).__name__
            if not isinstance(error, NOT_CONNECTED):
                break
    raise NotDelivered(f"The request failed ({fault}).")


def _target(url: str) -> Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"}:
        raise NotDelivered("The URL is invalid.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path)


def _addresses(target: Target, *, to_private: bool) -> list[str]:
    addresses = _looked_up(target)
    if not addresses:
        raise NotDelivered("The host of the URL has no IP address.")
    if not to_private and not all(is_public(address) for address in addresses):
        raise NotDelivered("The host is in a private network; webhooks are not sent there.")
    return addresses


def _looked_up(target: Target) -> list[str]:
    """Resolve with a time-out; the thread of a slow look-up is abandoned."""
    found: list[str] = []

    def look() -> None:
        with suppress(OSError, UnicodeError):
            entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            found.extend(str(entry[4][0]) for entry in entries)

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(LOOKUP)
    return list(found)


def is_private(url: str) -> bool:
    """Whether the host is written as an address or name that is not of the public internet.

    Any other name is looked up when the webhook is sent.
    """
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(host)
    except ValueError:
        return False


def is_public(text: str) -> bool:
    """Whether an IP address, and any IPv4 address embedded in it, is public."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and address not in OF_PROTOCOLS
    if address in NAT64:
        return is_public(str(IPv4Address(address.packed[12:])))
    if address not in GIVEN or address in DOCUMENTATION or address.teredo is not None:
        return False
    return address.is_global and (address.sixtofour is None or is_public(str(address.sixtofour)))


def _host_header(target: Target) -> str:
    usual = {"http": 80, "https": 443}[target.scheme]
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == usual else f"{host}:{target.port}"


def _connection(target: Target, address: str, seconds: float) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(total=seconds, connect=CONNECT)
    if target.scheme == "http":
        return PlainPool(address, target.port, timeout=timeout)
    return SecurePool(
        address,
        target.port,
        timeout=timeout,
        cert_reqs="CERT_REQUIRED",
        server_hostname=target.host,
        assert_hostname=target.host,
    )
