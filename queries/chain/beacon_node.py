"""The beacon nodes of a chain: what they serve to light clients, checked as far as a caller asks.

Nodes are used in the operator's order, with the cool-downs of execution nodes. A node that lacks
what it is asked for has answered: it gets no cool-down, and its message is a part of the error.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

from queries.chain.errors import (
    BeaconAnswersInvalidError,
    BeaconError,
    BeaconNodesRefuseError,
    BeaconNodesUnreachableError,
    BeaconObjectUnknownError,
    NodeError,
    redact,
)
from queries.chain.json_rpc import ACCESS_DENIED_STATUSES, transport_error
from queries.chain.node_pool import NodeHealth
from queries.config.chains import Chain, NodeAddress
from queries.http.bounded import REQUEST_ERRORS, BoundedSession
from queries.proving import SszError
from queries.proving.beacon import (
    Bootstrap,
    Update,
    UpdateError,
    check_bootstrap,
    decode_bootstrap,
    decode_finality_update,
    decode_update,
)

MAX_UPDATES = 128  # in a request, by the beacon nodes' own limit
MAX_MESSAGE = 200  # characters of a node's message
MAX_ERROR_BYTES = 2**14
LACKING_STATUSES = {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED}
LENGTH_BYTES, DIGEST_BYTES = 8, 4  # before each object of a list; the length includes the digest
# A finalized block is two to three epochs old. A node whose newest one is older may lag.
MAX_FINALITY_EPOCHS = 4

Value = TypeVar("Value")
Check = Callable[[Update], object]  # raises `UpdateError` or `ChainError` if an update is wrong

_health_by_node: dict[tuple[int, str], NodeHealth] = {}  # by chain id and URL


def no_check(_: Update) -> None:
    """For callers that check an update themselves."""


class BeaconNode:
    """A connection to one beacon node, for one thread."""

    def __init__(self, chain: Chain, address: NodeAddress, deadline: float) -> None:
        # Logs show the node's number, because its address may hold a key.
        self.health = _health_by_node.setdefault(
            (chain.id, address.url),
            NodeHealth(f"Beacon node {address.number} of {chain.name}", chain, batch_size=1),
        )
        self.session = BoundedSession(address.url, chain.limits)
        self._address, self._deadline = urlsplit(address.url), deadline

    def get_json(self, path: str) -> Any:
        """The data at this path that nodes serve as JSON alone, or `NodeError`."""
        try:
            return json.loads(self.get(path, "application/json"))["data"]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise NodeError(BeaconAnswersInvalidError) from None

    def get(self, path: str, media_type: str = "application/octet-stream") -> bytes:
        """The content at this path, or `NodeError`."""
        path, _, query = path.partition("?")
        url = self._address._replace(
            path=f"{self._address.path.rstrip('/')}{path}",
            query="&".join(filter(None, (self._address.query, query))),
        )
        if not self.health.allow_request() or time.monotonic() >= self._deadline:
            raise NodeError(self.health.fault or BeaconNodesUnreachableError, self.health.detail)
        try:
            response = self.session.get(url.geturl(), headers={"Accept": media_type})
        except REQUEST_ERRORS as error:
            # A time-out too: no other question is cheaper.
            self.health.record_failure(BeaconNodesUnreachableError)
            raise transport_error(path, error, BeaconNodesUnreachableError) from None
        status = response.status_code
        message = "" if status == HTTPStatus.OK else _error_message(response.content, status)
        # Some clients answer 500 for what they lack, and 501 for what they never have.
        lacks_object = status == HTTPStatus.NOT_FOUND or (status in LACKING_STATUSES and message)
        detail = f": {message}" if message else ""
        if not lacks_object and status != HTTPStatus.OK:
            detail = f" (HTTP status {status}{detail})"
        is_failure = status in ACCESS_DENIED_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        if is_failure and not lacks_object:
            self.health.record_failure(BeaconNodesRefuseError, detail)
        else:
            self.health.record_success()
        if lacks_object:
            raise NodeError(BeaconObjectUnknownError, detail)
        if status != HTTPStatus.OK:
            raise NodeError(BeaconNodesRefuseError, detail)
        return response.content


def _error_message(content: bytes, status: int) -> str:
    """The message of an error in the form of the beacon API, `{code, message}`; empty if it has
    another form, as a proxy's error page has.
    """
    try:
        body = json.loads(content if len(content) <= MAX_ERROR_BYTES else b"")
    except (ValueError, RecursionError):
        return ""
    if not isinstance(body, dict) or body.get("code") != status:
        return ""
    message = body.get("message")
    return redact(message[:MAX_MESSAGE]) if isinstance(message, str) else ""


class BeaconNodes:
    """The beacon nodes of a chain that has them, for one thread. None is asked after `deadline`
    (monotonic).

    Each method asks the next node if one cannot answer or its answer is wrong, and raises a
    `ChainError` if none can.
    """

    def __init__(self, chain: Chain, *, deadline: float = math.inf) -> None:
        if chain.beacon_chain is None:
            raise ValueError("the beacon chain is not known")
        self.chain, self.beacon_chain = chain, chain.beacon_chain
        self._nodes = [BeaconNode(chain, address, deadline) for address in chain.beacon]

    def bootstrap(self, root: bytes) -> Bootstrap:
        """The committee of the block with this root, checked against the root."""

        def read(content: bytes) -> Bootstrap:
            bootstrap = decode_bootstrap(content, self.beacon_chain)
            check_bootstrap(bootstrap, root, self.beacon_chain)
            return bootstrap

        name = f"the beacon block 0x{root.hex()[:8]}…"
        return self._fetch(name, f"bootstrap/0x{root.hex()}", read)

    def updates(self, first_period: int, count: int, check: Check = no_check) -> list[Update]:
        """The best updates of these periods, one a period: of the first one, and of those after it
        as far as a node has them.
        """

        def read(content: bytes) -> list[Update]:
            updates = [decode_update(item, self.beacon_chain) for item in _split_list(content)]
            periods = [update.attested.period for update in updates]
            requested = range(first_period, first_period + count)
            if periods != sorted(set(periods).intersection(requested)):
                raise UpdateError("these are not the updates that were requested")
            # A node may begin later, leave out some, or have none.
            updates = [
                update
                for update, period in zip(updates, requested, strict=False)
                if update.attested.period == period
            ]
            if not updates:
                first = f": theirs begin with period {periods[0]:,}" if periods else ""
                raise NodeError(BeaconObjectUnknownError, first)
            for update in updates:
                check(update)
            return updates

        count = min(count, MAX_UPDATES)
        path = f"updates?start_period={first_period}&count={count}"
        return self._fetch(f"the updates from period {first_period:,} on", path, read)

    def finality_update(self, check: Check = no_check) -> Update:
        """The newest update about a finalized block. While it is old, other nodes are asked too."""

        def read(content: bytes) -> Update:
            update = decode_finality_update(content, self.beacon_chain)
            check(update)
            return update

        name, newest = "a finality update", None
        errors: list[BeaconError] = []
        for node in self._nodes:
            try:
                update = self._read(node, name, "finality_update", read)
            except BeaconError as error:
                errors.append(error)
                continue
            if newest is None or update.finalized.beacon.slot > newest.finalized.beacon.slot:
                newest = update
            if not self._is_old(newest):
                break
        if newest is None:
            raise _best_error(errors)
        return newest

    def slot_age(self, slot: int) -> int:
        """How many seconds ago the slot began; 0 if it has not."""
        return max(int(time.time()) - self.beacon_chain.start_of(slot), 0)

    def close(self) -> None:
        for node in self._nodes:
            node.session.close()

    def _is_old(self, update: Update) -> bool:
        slots = MAX_FINALITY_EPOCHS * self.beacon_chain.slots_per_epoch
        return self.slot_age(update.finalized.beacon.slot) > slots * (
            self.beacon_chain.seconds_per_slot
        )

    def _fetch(self, name: str, path: str, read: Callable[[bytes], Value]) -> Value:
        errors: list[BeaconError] = []
        for node in self._nodes:
            try:
                return self._read(node, name, path, read)
            except BeaconError as error:
                errors.append(error)
        raise _best_error(errors)

    def _read(
        self, node: BeaconNode, name: str, path: str, read: Callable[[bytes], Value]
    ) -> Value:
        """What `read` returns for the node's answer, or a `BeaconError`: also that of a question
        which its check asks.
        """
        try:
            return read(node.get(f"/eth/v1/beacon/light_client/{path}"))
        except NodeError as error:
            raise error.kind.create(self.chain.name, name, error.detail) from None
        except (SszError, UpdateError) as error:
            sentence = str(error)
            detail = f" {sentence[:1].upper()}{sentence[1:]}."
            raise BeaconAnswersInvalidError.create(self.chain.name, name, detail) from None


def _best_error(errors: Sequence[BeaconError]) -> BeaconError:
    """The most telling error: a wrong answer, then an unknown object, then other ones."""
    ranks = [BeaconAnswersInvalidError, BeaconObjectUnknownError, BeaconNodesRefuseError]
    return min(errors, key=lambda error: (*ranks, type(error)).index(type(error)))


def _split_list(content: bytes) -> list[bytes]:
    """The objects of an answer that has several."""
    objects, start = list[bytes](), 0
    while start < len(content):
        length = int.from_bytes(content[start : start + LENGTH_BYTES], "little")
        start += LENGTH_BYTES
        if not DIGEST_BYTES <= length <= len(content) - start:
            raise SszError("a list of objects is cut off")
        objects.append(content[start + DIGEST_BYTES : start + length])
        start += length
    return objects
