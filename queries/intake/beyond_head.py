"""Blocks above the newest one that a prover has seen: which are refused, and the sentence.

Without a head that a prover stored recently, a block is accepted, and checked later.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Protocol

from django.utils import timezone

from accounts.http.errors import InvalidValueError
from accounts.wording import format_duration, format_timestamp
from queries.config.limits import Limits
from queries.error_codes import RequestCode
from queries.models import ChainRecord
from queries.schema.checked_batch import CheckedBlock
from queries.selectors import Selector

MAX_HEAD_AGE_POLLS = 5  # poll intervals after which a stored head is ignored
_MAX_NUMBER = 2**63 - 1  # the largest number that a database column holds


def refuse_blocks_beyond_head(blocks: Iterable[CheckedBlock], limits: Limits) -> None:
    """Refuse a block too far above the head that a prover recorded recently."""
    earliest = timezone.now() - timedelta(seconds=MAX_HEAD_AGE_POLLS * limits.poll_interval)
    recent = ChainRecord.objects.filter(recorded_at__gt=earliest)
    heads = recent.in_bulk({block.source for block in blocks})
    for block in blocks:
        if block.selector.is_named:
            continue
        if reason := reason_beyond_head(block.selector, heads.get(block.source), limits):
            problem = f"is not on chain {block.source} yet: {reason}"
            raise InvalidValueError(
                RequestCode.BLOCK_BEYOND_HEAD,
                problem,
                block.path,
                sentence=f"{block.selector} {problem}",
            )


class KnownHead(Protocol):
    """The newest block that a prover has seen."""

    @property
    def number(self) -> int: ...

    @property
    def timestamp(self) -> int: ...

    @property
    def block_seconds(self) -> float | None: ...


def reason_beyond_head(selector: Selector, head: KnownHead | None, limits: Limits) -> str:
    """Say what is accepted, and when this block is expected; empty if the block is accepted."""
    number, seconds = selector.number, None
    if head is None:
        maximum = replace(selector, number=_MAX_NUMBER)
        return f"the maximum is {maximum}." if number > _MAX_NUMBER else ""
    if selector.is_time:
        last = head.timestamp + int(limits.max_seconds_ahead)
        newest = f"from {format_timestamp(head.timestamp)}"
        accepted_range = f"times up to {format_timestamp(last)}"
        seconds = number - head.timestamp
    else:
        last = head.number + limits.max_blocks_ahead
        newest, accepted_range = f"{head.number:,}", f"blocks up to {last:,}"
        if head.block_seconds is not None:
            seconds = round((number - head.number) * head.block_seconds)
    if number <= last:
        return ""
    sentence = f"the newest block seen is {newest}, and {accepted_range} are accepted."
    if seconds is None:
        return sentence
    return f"{sentence} It is expected in about {format_duration(seconds)}."
