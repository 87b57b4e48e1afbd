"""The beacon nodes of a chain: what they serve to light clients, checked as far as a caller asks.

Nodes are used in the operator's order, with the cool-downs of execution nodes.
"""

import math
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlsplit

from queries.chain.errors import (
    BeaconAnswersInvalidError,
    BeaconError,
    BeaconNodesRefuseError,
    BeaconNodesUnreachableError,
    BeaconObjectUnknownError,
    ChainError,
    NodeError,
)
from queries.chain.json_rpc import ACCESS_DENIED_STATUSES, transport_error
from queries.chain.node_pool import NodeHealth
from queries.config.routes import Chain, NodeAddress
from queries.http.bounded import REQUEST_ERRORS, BoundedSession
from queries.proving.beacon import (
    Bootstrap,
    Update,
    UpdateError,
    check_bootstrap,
    decode_bootstrap,
    decode_finality_update,
    decode_update,
)
from queries.proving.ssz import SszError

MAX_UPDATES = 128  # in a request, by the beacon nodes' own limit
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
        self.session.headers["Accept"] = "application/octet-stream"
        self._address, self._deadline = urlsplit(address.url), deadline

    def get(self, path: str) -> bytes:
        """The content at this path, or `NodeError`."""
        path, _, query = path.partition("?")
        url = self._address._replace(
            path=f"{self._address.path.rstrip('/')}{path}",
            query="&".join(filter(None, (self._address.query, query))),
        )
        if not self.health.allow_request() or time.monotonic() >= self._deadline:
            raise NodeError(self.health.fault or BeaconNodesUnreachableError)
        try:
            response = self.session.get(url.geturl())
        except REQUEST_ERRORS as error:
            # A time-out too: no other question is cheaper.
            self.health.record_failure(BeaconNodesUnreachableError)
            raise transport_error(path, error, BeaconNodesUnreachableError) from None
        status = response.status_code
        if status in ACCESS_DENIED_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.health.record_failure(BeaconNodesRefuseError)
        else:
            self.health.record_success()
        if status == HTTPStatus.NOT_FOUND:
            raise NodeError(BeaconObjectUnknownError)
        if status != HTTPStatus.OK:
            raise NodeError(BeaconNodesRefuseError, f" (HTTP status {status})")
        return response.content


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
        """The best updates of these periods, one a period, as far as a node has them."""

        def read(content: bytes) -> list[Update]:
            updates = [decode_update(item, self.beacon_chain) for item in _split_list(content)]
            periods = [update.attested.period for update in updates]
            if periods != list(range(first_period, first_period + len(updates))) or (
                len(updates) > count
            ):
                raise UpdateError("these are not the updates that were requested")
            if count and not updates:
                raise UpdateError(f"it has no update of period {first_period:,}")
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

        newest: Update | None = None
        errors: list[NodeError] = []
        for node in self._nodes:
            try:
                update = _read(node, "finality_update", read)
            except NodeError as error:
                errors.append(error)
                continue
            if newest is None or update.finalized.beacon.slot > newest.finalized.beacon.slot:
                newest = update
            if not self._is_old(newest):
                break
        if newest is None:
            raise self._best_error("a finality update", errors)
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
        errors: list[NodeError] = []
        for node in self._nodes:
            try:
                return _read(node, path, read)
            except NodeError as error:
                errors.append(error)
        raise self._best_error(name, errors)

    def _best_error(self, name: str, errors: Sequence[NodeError]) -> ChainError:
        """The most telling error: a wrong answer, then an unknown object, then other ones."""
        ranks = [BeaconAnswersInvalidError, BeaconObjectUnknownError, BeaconNodesRefuseError]
        error = min(errors, key=lambda error: (*ranks, error.kind).index(error.kind))
        return error.kind.create(self.chain.name, name, error.detail)


def _read(node: BeaconNode, path: str, read: Callable[[bytes], Value]) -> Value:
    content = node.get(f"/eth/v1/beacon/light_client/{path}")
    try:
        return read(content)
    except (SszError, UpdateError) as error:
        sentence = str(error)
        detail = f" {sentence[:1].upper()}{sentence[1:]}."
        raise NodeError(BeaconAnswersInvalidError, detail) from None
    except BeaconError as error:  # of a question that the check has asked
        raise NodeError(BeaconAnswersInvalidError, f" {error}") from None


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
