"""Python's clock of this process alone is some seconds off: CLOCK_AHEAD says how many.

The folder of this file is on PYTHONPATH of one prover, so that Python imports it before all else.
"""

import datetime as dt
import os
import time
from typing import Any

AHEAD = float(os.environ.get("CLOCK_AHEAD", "0"))
TRUE_TIME = time.time
TrueDatetime = dt.datetime


class _Kind(type):
    """A true datetime is one of these, and what is made here is a true one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TrueDatetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, TrueDatetime)


class ShiftedDatetime(TrueDatetime, metaclass=_Kind):
    """Tells another time than it is."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return TrueDatetime(*arguments, **named)

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return TrueDatetime.now(tz) + dt.timedelta(seconds=AHEAD)

    @classmethod
    def utcnow(cls) -> Any:
        return TrueDatetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=AHEAD)


if AHEAD:
    time.time = lambda: TRUE_TIME() + AHEAD
    dt.datetime = ShiftedDatetime  # type: ignore[misc]
