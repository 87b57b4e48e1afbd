"""Intervals, time-outs and counts for nodes, jobs and transactions.

The `[limits]` table of the routes file overrides them. The table in `explorer/docs/operating.md`
is that of `/docs/operating.md`, which is rendered from here.
"""

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from datetime import timedelta
from decimal import Decimal
from typing import Any

from queries.config.routes_file import only, refuse, table_in

DAY = 86_400


def _limit(default: float, least: float, greatest: float, meaning: str) -> Any:
    return field(
        default=default, metadata={"least": least, "greatest": greatest, "meaning": meaning}
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Durations are in seconds."""

    request_timeout: float = _limit(8.0, 0.1, 120, "Time for one complete answer of a node.")
    head_timeout: float = _limit(
        2.0, 0.1, 60, "Time-out of the head request after a node's time-out or invalid answer."
    )
    visitor_timeout: float = _limit(
        5.0, 0.1, 30, "Time for all node requests of a live check or a contract wallet's sign-in."
    )
    cooldown_first: float = _limit(
        1.0, 0.1, 60, "First cool-down of a failed node; it doubles while the node fails."
    )
    cooldown_longest: float = _limit(60.0, 1, 3600, "Longest cool-down of a failed node.")
    chain_id_age: float = _limit(
        3600.0,
        1,
        DAY,
        "Time after which a node's chain id, and how far back it proves, are checked again.",
    )
    lag: float = _limit(
        60.0,
        1,
        3600,
        "A node lags when its head is this much older than another node's; a head this far in the "
        "future is a failure.",
    )
    head_max_age: float = _limit(
        3600.0, 60, DAY, "A node whose newest block is older is reported by check_setup."
    )
    poll_interval: float = _limit(
        12.0, 0.1, 60, "Time between two requests for each node's head while nothing needs it."
    )
    head_age: float = _limit(0.1, 0.01, 10, "Time for which a head and a daily budget are cached.")
    check_interval: float = _limit(
        300.0, 1, DAY, "Time between two checks of the final block, ENS and the signer's balance."
    )
    quorum_wait: float = _limit(
        120.0, 0, DAY, "Time after which one node's answer counts while no other node answers."
    )
    batch_questions: int = _limit(100, 1, 1000, "Most calls in one JSON-RPC batch to a node.")
    answer_mebibytes: int = _limit(64, 1, 1024, "Largest answer of a node, in MiB.")
    gas_reserve: float = _limit(
        0.1, 0, 1, "Share of the gas estimate that is added to it as a transaction's gas limit."
    )
    retry_first: float = _limit(
        0.25, 0.05, 60, "First pause before a failed job is retried; it doubles with each attempt."
    )
    retry_longest: float = _limit(60.0, 0.1, 3600, "Longest pause before a failed job is retried.")
    wait_fraction: float = _limit(
        16,
        1,
        1000,
        "A job that has waited t seconds is checked again after t divided by this number.",
    )
    work_slice: float = _limit(1.5, 0, 60, "Time to gather jobs for one transaction.")
    batch_max_age: float = _limit(
        DAY, 1, 365 * DAY, "A batch that could be proven for this long, and was not, is rejected."
    )
    attestation_max_age: float = _limit(
        7 * DAY, 1, 365 * DAY, "A batch that waited this long for attestations is rejected."
    )
    refusals: int = _limit(
        3, 1, 100, "Refusals in a row, by registry or chain, before a batch is rejected."
    )
    failed_transactions: int = _limit(
        3, 1, 100, "Failed transactions of one job before its batches are rejected."
    )
    resend_after: float = _limit(
        15.0, 0.1, DAY, "Time after which an unmined transaction is broadcast again."
    )
    replace_after: float = _limit(
        60.0, 0.1, DAY, "Time after which an unmined transaction is replaced at a higher fee."
    )
    abandoned_after: float = _limit(
        DAY, 1, 365 * DAY, "Time for which transactions of a former signer are broadcast again."
    )
    blocks_ahead: int = _limit(
        300, 0, 10**6, "A request may name a block at most this far above the newest one."
    )
    seconds_ahead: float = _limit(
        3600.0, 0, 365 * DAY, "A request may name a time at most this far after the newest block."
    )

    def back_off(self, attempts: int) -> timedelta:
        """The pause after so many failed attempts in a row."""
        seconds = self.retry_first * 2 ** min(attempts, 20)
        return timedelta(seconds=min(seconds, self.retry_longest))


@dataclass(frozen=True, slots=True)
class LimitView:
    """A row of the guide's table."""

    name: str
    default: str
    allowed: str
    meaning: str


def described() -> Iterator[LimitView]:
    for each in fields(Limits):
        metadata = each.metadata
        allowed = f"{_shown(metadata['least'])} to {_shown(metadata['greatest'])}"
        default = _shown(getattr(Limits(), each.name))
        yield LimitView(each.name, default, allowed, metadata["meaning"])


def read_limits(content: object) -> Limits:
    """The `[limits]` table; `RoutesUnreadable` where a name or a value is wrong."""
    table = table_in("limits", content)
    known = {each.name: each for each in fields(Limits)}
    only("limits", table, known)
    values: dict[str, Any] = {name: _read(known[name], value) for name, value in table.items()}
    limits = Limits(**values)
    for smaller, larger in (
        ("head_timeout", "request_timeout"),
        ("cooldown_first", "cooldown_longest"),
        ("retry_first", "retry_longest"),
        ("resend_after", "replace_after"),
    ):
        if getattr(limits, smaller) > getattr(limits, larger):
            refuse(f"limits.{smaller}", f"it must not be more than {larger}")
    return limits


def _read(limit: Field[Any], value: object) -> float:
    least, greatest = limit.metadata["least"], limit.metadata["greatest"]
    whole = limit.type in {int, "int"}
    number = Decimal(value) if type(value) is int else value
    if (
        not isinstance(number, Decimal)
        or not number.is_finite()
        or not least <= number <= greatest
        or (whole and type(value) is not int)
    ):
        kind = "a whole number" if whole else "a number"
        refuse(
            f"limits.{limit.name}", f"it must be {kind} from {_shown(least)} to {_shown(greatest)}"
        )
    return int(number) if whole else float(number)


def _shown(number: float) -> str:
    return str(int(number) if number == int(number) else number)
