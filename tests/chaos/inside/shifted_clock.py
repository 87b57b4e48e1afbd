"""Python's clock of one process alone is some seconds off, for all that asks it."""

import datetime as dt
import time
from typing import Any

TRUE_TIME = time.time
TrueDatetime = dt.datetime


class _Kind(type):
    """A true datetime is one of these, and what is made here is a true one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TrueDatetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, TrueDatetime)


def shift(ahead: float) -> None:
    """From now on; before anything has taken a name of the clock's."""

    class ShiftedDatetime(TrueDatetime, metaclass=_Kind):
        """Tells another time than it is."""

        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            return TrueDatetime(*arguments, **named)

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return TrueDatetime.now(tz) + dt.timedelta(seconds=ahead)

        @classmethod
        def utcnow(cls) -> Any:
            return TrueDatetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=ahead)

    time.time = lambda: TRUE_TIME() + ahead
    dt.datetime = ShiftedDatetime  # type: ignore[misc]
