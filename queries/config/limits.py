"""Limits of nodes, jobs and transactions. The routes file's `[limits]` table overrides them."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from decimal import Decimal
from typing import Any

from queries.config.routes_file import check_keys, read_table, refuse

DAY = 86_400


def _limit(default: float, min_value: float, max_value: float, meaning: str) -> Any:
    return field(default=default, metadata={"min": min_value, "max": max_value, "meaning": meaning})


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits; durations are in seconds."""

    request_timeout: float = _limit(8.0, 0.1, 120, "Time-out of a request to a node.")
    head_timeout: float = _limit(2.0, 0.1, 60, "Time-out of a head request after a node's fault.")
    visitor_timeout: float = _limit(5.0, 0.1, 30, "Time for a live check or a wallet's sign-in.")
    initial_cooldown: float = _limit(1.0, 0.1, 60, "First cool-down of a failed node; it doubles.")
    max_cooldown: float = _limit(60.0, 1, 3600, "Maximum cool-down of a failed node.")
    node_check_interval: float = _limit(
        3600.0, 1, DAY, "Interval of checks of chain id and proof window."
    )
    max_lag: float = _limit(
        60.0, 1, 3600, "How far a head may be behind another's, or in the future."
    )
    head_max_age: float = _limit(3600.0, 60, DAY, "check_setup reports nodes with older heads.")
    poll_interval: float = _limit(12.0, 0.1, 60, "Interval of head requests to idle nodes.")
    head_cache_seconds: float = _limit(0.1, 0.01, 10, "Time to cache heads and daily budgets.")
    check_interval: float = _limit(300.0, 1, DAY, "Interval of finality, ENS and balance checks.")
    quorum_wait: float = _limit(
        120.0, 0, DAY, "Time after which a single node's answer counts, if no other node answers."
    )
    max_batch_calls: int = _limit(100, 1, 1000, "Maximum number of calls in a JSON-RPC batch.")
    max_answer_mib: int = _limit(64, 1, 1024, "Maximum size of a node's answer, in MiB.")
    gas_reserve: float = _limit(0.1, 0, 1, "Share of the gas estimate that is added as a reserve.")
    initial_retry_delay: float = _limit(0.25, 0.05, 60, "First pause before a retry; it doubles.")
    max_retry_delay: float = _limit(60.0, 0.1, 3600, "Maximum pause before a retry.")
    recheck_divisor: float = _limit(16, 1, 1000, "A job that waited t is checked after t / this.")
    gather_seconds: float = _limit(1.5, 0, 60, "Time to gather jobs for one transaction.")
    batch_max_age: float = _limit(DAY, 1, 365 * DAY, "A batch provable for this long is rejected.")
    attestation_max_age: float = _limit(7 * DAY, 1, 365 * DAY, "Maximum wait for attestations.")
    max_refusals: int = _limit(3, 1, 100, "Consecutive refusals before a batch is rejected.")
    max_failed_transactions: int = _limit(
        3, 1, 100, "Failed transactions of a job until rejection."
    )
    resend_after: float = _limit(15.0, 0.1, DAY, "Time until an unmined transaction is resent.")
    replace_after: float = _limit(60.0, 0.1, DAY, "Time until a replacement at a higher fee.")
    abandon_after: float = _limit(
        DAY, 1, 365 * DAY, "Time for which transactions of a former signer are rebroadcast."
    )
    max_blocks_ahead: int = _limit(
        300, 0, 10**6, "Blocks above the newest one that requests may name."
    )
    max_seconds_ahead: float = _limit(
        3600.0, 0, 365 * DAY, "How far ahead of the head a time may be."
    )


@dataclass(frozen=True, slots=True)
class LimitView:
    """A limit in the guide's table."""

    name: str
    default: str
    allowed: str
    meaning: str


def limit_views() -> Iterator[LimitView]:
    for limit in fields(Limits):
        bounds = (_format_number(limit.metadata[bound]) for bound in ("min", "max"))
        default = _format_number(getattr(Limits(), limit.name))
        yield LimitView(limit.name, default, " to ".join(bounds), limit.metadata["meaning"])


def read_limits(content: object) -> Limits:
    """Read the `[limits]` table, or raise `RoutesFileError` if a name or a value is wrong."""
    table = read_table("limits", content)
    fields_by_name = {limit.name: limit for limit in fields(Limits)}
    check_keys("limits", table, fields_by_name)
    values: dict[str, Any] = {
        name: _read_limit(fields_by_name[name], value) for name, value in table.items()
    }
    limits = Limits(**values)
    for smaller, larger in (
        ("head_timeout", "request_timeout"),
        ("initial_cooldown", "max_cooldown"),
        ("initial_retry_delay", "max_retry_delay"),
        ("resend_after", "replace_after"),
    ):
        if getattr(limits, smaller) > getattr(limits, larger):
            refuse(f"limits.{smaller}", f"it must not exceed {larger}")
    return limits


def _read_limit(limit: Field[Any], value: object) -> float:
    min_value, max_value = limit.metadata["min"], limit.metadata["max"]
    is_whole = limit.type in {int, "int"}
    number = Decimal(value) if type(value) is int else value
    if (
        not isinstance(number, Decimal)
        or not number.is_finite()
        or not min_value <= number <= max_value
        or (is_whole and type(value) is not int)
    ):
        kind = "a whole number" if is_whole else "a number"
        refuse(
            f"limits.{limit.name}",
            f"it must be {kind} from {_format_number(min_value)} to {_format_number(max_value)}",
        )
    return int(number) if is_whole else float(number)


def _format_number(number: float) -> str:
    return str(int(number) if number == int(number) else number)
