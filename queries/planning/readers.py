"""Connections to the chains of the routes file, with briefly cached heads.

They resolve a query's time to a block and its ENS name to an account.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

from eth_utils.address import to_checksum_address

from accounts.wording import format_timestamp
from queries.chain import (
    DRY_RUN_SENDER,
    BeaconNodes,
    ChainClient,
    ChainError,
    ChainHead,
    NodePool,
    resolve_names,
)
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.database.chain_records import measured_gas_rules
from queries.database.light_clients import checked_finality
from queries.models import ChainRecord, Query
from queries.planning.dry_runs import CallEstimator
from queries.proving import GasRules, Header
from queries.sources import Registry, RegistryReader, Routes
from queries.wait_reasons import Reason, WaitCode

Value = TypeVar("Value")


@dataclass
class ChainReaders:
    """Reads chains, for one thread. Sends and stores nothing."""

    routes: Routes
    _: KW_ONLY
    deadline: float = math.inf  # monotonic time after which no node is asked
    head_cache_seconds: float = 0.0  # 0: the limit of this name
    _clients: dict[int, ChainClient] = field(default_factory=dict, init=False)
    _beacon_nodes: dict[int, BeaconNodes] = field(default_factory=dict, init=False)
    _cache: dict[tuple[str, int], tuple[float, object]] = field(default_factory=dict, init=False)

    @property
    def limits(self) -> Limits:
        return self.routes.limits

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def client(self, chain_id: int) -> ChainClient:
        if chain_id not in self._clients:
            self._clients[chain_id] = ChainClient(
                self.chain(chain_id),
                deadline=self.deadline,
                read_finality=checked_finality,
                read_gas_rules=self._read_gas_rules,
            )
        return self._clients[chain_id]

    def beacon_nodes(self, chain_id: int) -> BeaconNodes:
        """The beacon nodes of a chain that has them."""
        if chain_id not in self._beacon_nodes:
            self._beacon_nodes[chain_id] = BeaconNodes(self.chain(chain_id), deadline=self.deadline)
        return self._beacon_nodes[chain_id]

    @property
    def sender(self) -> str:
        """The `from` of dry runs."""
        return DRY_RUN_SENDER

    def registry_reader(self, registry: Registry) -> RegistryReader:
        return RegistryReader(self.client(registry.destination), registry)

    def estimator(self, registry: Registry) -> CallEstimator:
        return CallEstimator(self.client(registry.destination), registry.address, self.sender)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, cached."""
        return self._read_cached(("head", chain_id), partial(self._read_head, chain_id))

    def _read_head(self, chain_id: int) -> ChainHead:
        return self.client(chain_id).head()

    def _read_gas_rules(self, nodes: NodePool) -> GasRules:
        """What provers have measured, cached."""
        chain = nodes.chain.id

        def read() -> GasRules:
            rows = ChainRecord.objects.only("new_slot_gas", "floor_byte_gas")
            return measured_gas_rules(rows.filter(chain=chain).first())

        return self._read_cached(("gas_rules", chain), read)

    def latest(self, chain_id: int) -> ChainHead:
        """The latest block, cached. The final number may be left out, which saves a request."""
        client = self.client(chain_id)
        if client.chain.finality is not None:
            return self.head(chain_id)
        return self._read_cached(("latest", chain_id), client.latest_head)

    def last_read_head(self, chain_id: int) -> ChainHead:
        """The newest head or latest block in the cache, whatever its age."""
        entries = [self._cache.get((name, chain_id)) for name in ("head", "latest")]
        _, head = max(filter(None, entries))
        return cast("ChainHead", head)

    def _read_cached(self, key: tuple[str, int], read: Callable[[], Value]) -> Value:
        """The result of `read`, cached for `head_cache_seconds`."""
        read_at, value = self._cache.get(key, (-math.inf, None))
        max_age = self.head_cache_seconds or self.limits.head_cache_seconds
        if value is None or time.monotonic() > read_at + max_age:
            value = read()
            self._cache[key] = time.monotonic(), value
        return cast("Value", value)

    def rotate(self, attempt: int, *chain_ids: int) -> None:
        """Attempt n asks each chain's n-th node first, counted from 0 and round robin."""
        for chain_id in chain_ids:
            if self.client(chain_id).rotate(attempt):
                self._cache.pop(("head", chain_id), None)
                self._cache.pop(("latest", chain_id), None)

    def provable_head(self, registry: Registry) -> ChainHead:
        """The head. Its final number is the newest block that may be proven to this registry."""
        head = self.head(registry.source)
        finality = self.chain(registry.source).finality_for(registry.destination)
        if finality is None:
            return head
        final_number = max(head.number - finality, 0)
        return replace(head, final_number=final_number, finality_fault="", finality_state="")

    def block_at_time(self, source: int, timestamp: int) -> tuple[int | None, Reason | None]:
        """The last block at a time, or None; and what that block still waits for."""
        head, name = self.head(source), self.chain(source).name
        if head.timestamp <= timestamp:
            sentence = f"{name} has no block after {format_timestamp(timestamp)} yet."
            return None, Reason(WaitCode.TIME_NOT_REACHED, sentence)
        block, child = self.client(source).last_block_at(timestamp, head)
        subject = f"The block after {format_timestamp(timestamp)} on {name}"
        return block.number, head.wait_reason(child.number, subject)

    def set_accounts(self, header: Header, queries: Iterable[Query]) -> None:
        """Set the accounts of queries of one block by their ENS names, unsaved.

        Raises `EnsUnresolvedError` or `EnsOffChainError` at the first name without an address.
        """
        unresolved_queries = [query for query in queries if query.name and not query.account]
        if not unresolved_queries:
            return
        names = list(dict.fromkeys(query.name for query in unresolved_queries))
        source = self.client(unresolved_queries[0].source)
        accounts = dict(zip(names, resolve_names(source, header, names), strict=True))
        for query in unresolved_queries:
            account = accounts[query.name]
            if isinstance(account, ChainError):
                raise account
            query.account = to_checksum_address(account)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        for nodes in self._beacon_nodes.values():
            nodes.close()
