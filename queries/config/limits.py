"""Limits of nodes, jobs and transactions. The routes file's `[limits]` table overrides them."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from accounts.wording import DAY
from queries.config.routes_file import bounded, raise_routes_error, read_table

ROWS_PER_PASS = 100  # that a pass reads from the database at most


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits; durations are in seconds."""

    request_timeout: float = bounded(8.0, 0.1, 120, "Time-out of a request to a node.")
    head_timeout: float = bounded(2.0, 0.1, 60, "Time-out of a head request after a node's fault.")
    visitor_timeout: float = bounded(5.0, 0.1, 30, "Time for a live check or a wallet's sign-in.")
    initial_cooldown: float = bounded(1.0, 0.1, 60, "First cool-down of a failed node; it doubles.")
    max_cooldown: float = bounded(60.0, 1, 3600, "Maximum cool-down of a failed node.")
    node_check_interval: float = bounded(
        3600.0, 1, DAY, "Interval of checks of chain id, proof window and gas."
    )
    max_lag: float = bounded(
        60.0, 1, 3600, "How far a head may be behind another's, or in the future."
    )
    head_max_age: float = bounded(3600.0, 60, DAY, "check_setup reports nodes with older heads.")
    poll_interval: float = bounded(12.0, 0.1, 60, "Interval of head requests to idle nodes.")
    head_cache_seconds: float = bounded(0.1, 0.01, 10, "Time to cache heads and daily budgets.")
    check_interval: float = bounded(300.0, 1, DAY, "Interval of finality, ENS and balance checks.")
    quorum_wait: float = bounded(
        120.0, 0, DAY, "Time after which a single node's answer counts, if no other node answers."
    )
    max_batch_calls: int = bounded(100, 1, 1000, "Maximum number of calls in a JSON-RPC batch.")
    max_log_blocks: int = bounded(
        500, 1, 100_000, "Maximum number of blocks in a request for logs (eth_getLogs)."
    )
    max_answer_mib: int = bounded(64, 1, 1024, "Maximum size of a node's answer, in MiB.")
    gas_reserve: float = bounded(0.1, 0, 1, "Share of the gas estimate that is added as a reserve.")
    initial_retry_delay: float = bounded(0.25, 0.05, 60, "First pause before a retry; it doubles.")
    max_retry_delay: float = bounded(60.0, 0.1, 3600, "Maximum pause before a retry.")
    recheck_divisor: float = bounded(16, 1, 1000, "A job that waited t is checked after t / this.")
    update_wait: float = bounded(
        36.0, 0, 3600, "Time in an epoch to wait for an update that more validators have signed."
    )
    gather_seconds: float = bounded(1.5, 0, 60, "Time to gather jobs for one transaction.")
    batch_max_age: float = bounded(
        DAY,
        1,
        365 * DAY,
        "Time until a provable, unproven batch is rejected, or an unsent delivery fails.",
    )
    attestation_max_age: float = bounded(7 * DAY, 1, 365 * DAY, "Maximum wait for attestations.")
    max_refusals: int = bounded(3, 1, 100, "Consecutive refusals before a batch is rejected.")
    max_failed_transactions: int = bounded(
        3, 1, 100, "Failed transactions of a job until rejection."
    )
    delivery_attempts: int = bounded(
        8, 1, 100, "Attempts of a delivery that its contract refuses, until it has failed."
    )
    delivery_pause: float = bounded(
        15.0, 0.1, 3600, "First pause before such a delivery is tried again; it doubles."
    )
    delivery_gas_per_day: int = bounded(
        100_000_000, 0, 10**12, "Gas of an account's deliveries on a chain in 24 hours."
    )
    resend_after: float = bounded(15.0, 0.1, DAY, "Time until an unmined transaction is resent.")
    replace_after: float = bounded(60.0, 0.1, DAY, "Time until a replacement at a higher fee.")
    abandon_after: float = bounded(
        DAY, 1, 365 * DAY, "Time for which transactions of a former signer are rebroadcast."
    )
    max_blocks_ahead: int = bounded(
        300, 0, 10**6, "Blocks above the newest one that requests may name."
    )
    max_seconds_ahead: float = bounded(
        3600.0, 0, 365 * DAY, "How far ahead of the head a time may be."
    )


def limit_rows() -> Iterator[tuple[str, ...]]:
    """A limit's name, default, bounds and meaning, for the guide's table."""
    for limit in fields(Limits):
        bounds = f"{limit.metadata['ge']} to {limit.metadata['le']}"
        default = f"{limit.default:.12g}"
        yield f"`{limit.name}`", default, bounds, limit.metadata["description"]


def read_limits(table: object) -> Limits:
    limits = read_table(Limits, "limits", table)
    for smaller, larger in (
        ("head_timeout", "request_timeout"),
        ("initial_cooldown", "max_cooldown"),
        ("initial_retry_delay", "max_retry_delay"),
        ("resend_after", "replace_after"),
    ):
        if getattr(limits, smaller) > getattr(limits, larger):
            raise_routes_error(f"limits.{smaller}", f"it must not exceed {larger}")
    return limits
