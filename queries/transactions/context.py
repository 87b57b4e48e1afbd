"""The chains, the signer and the caches of a prover's thread."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from queries.chain import ChainHead, Signer
from queries.database.chain_records import record_head
from queries.database.handler import Wait
from queries.models import BlockJob, ChainRecord
from queries.planning.readers import ChainReaders
from queries.transactions.budget import is_budget_spent
from queries.transactions.lane import Lane
from queries.wait_reasons import Reason

# Look for the next block only after this share of the average block time. Chains slower than
# MAX_BLOCK_SECONDS are treated as making blocks on demand.
MIN_BLOCK_TIME_SHARE, MAX_BLOCK_SECONDS = 0.8, 15


@dataclass
class ProverContext(ChainReaders):
    """A prover thread's chains and its signer. It stores the heads of chains with one node."""

    signer: Signer
    # By job: the destination's latest block, and since when the job waits for the next one. All
    # threads of a process share it, because any of them may take the job next.
    block_waits: dict[int, tuple[bytes, float]] = field(default_factory=dict)
    is_stopped: Callable[[], bool] = lambda: False  # then long work ends early
    stored_heads: dict[int, ChainHead] = field(default_factory=dict)  # by chain, the last one

    @property
    def sender(self) -> str:
        return self.signer.address

    def _read_head(self, chain_id: int) -> ChainHead:
        head = super()._read_head(chain_id)
        # Of several nodes, one may make up a head, so polls compare theirs.
        has_one_node = len(self.chain(chain_id).nodes) == 1
        if has_one_node and self.stored_heads.get(chain_id) != head:
            record_head(chain_id, head)
            self.stored_heads[chain_id] = head
        return head

    def lane(self, chain_id: int) -> Lane:
        return Lane(self.client(chain_id), self.signer, self.routes.limits)

    def is_budget_spent(self, chain_id: int) -> bool:
        """Whether the daily budget is spent. Cached; signing checks the budget again."""
        read = partial(is_budget_spent, self.chain(chain_id), self.lane(chain_id).own_rows)
        return self._read_cached(("budget", chain_id), read)

    def wait_for_block(self, job: BlockJob, reason: Reason, block_hash: bytes) -> Wait:
        """Wait until the destination has a successor of this block; nothing changes before."""
        return Wait(reason, partial(self._delay_until_next_block, job, block_hash))

    def _delay_until_next_block(self, job: BlockJob, block_hash: bytes) -> timedelta:
        """Return the delay until a worker looks for a successor of this block, and record since
        when the job waits for one.
        """
        now, limits = time.monotonic(), self.limits
        for job_id, (_, wait_start) in list(self.block_waits.items()):
            if job_id != job.pk and wait_start < now - limits.resend_after:
                self.block_waits.pop(job_id, None)
        last_hash, wait_start = self.block_waits.get(job.pk, (b"", now))
        if block_hash != last_hash:
            wait_start = now
        self.block_waits[job.pk] = block_hash, wait_start
        seconds_waited = now - wait_start
        age = max(time.time() - self.last_read_head(job.destination).timestamp, seconds_waited)
        min_block_time = MIN_BLOCK_TIME_SHARE * self._block_seconds(job.destination)
        recheck_delay = seconds_waited / limits.recheck_divisor
        delays = recheck_delay, limits.initial_retry_delay, min_block_time - age
        return timedelta(seconds=max(delays))

    def _block_seconds(self, chain_id: int) -> float:
        """The average time between blocks, as `watch` measures it; 0 if one may come any time."""
        rows = ChainRecord.objects.filter(chain=chain_id, block_seconds__lte=MAX_BLOCK_SECONDS)
        return rows.values_list("block_seconds", flat=True).first() or 0.0
