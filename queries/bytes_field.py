"""Bytes in the database: as many as they are, where hex in a text is twice as many."""

from typing import TYPE_CHECKING

from django.db import models


class BytesField(models.BinaryField):  # type: ignore[type-arg]  # takes no types at run time
    """It gives bytes, where Django leaves it to the database's driver to give a memoryview."""

    if TYPE_CHECKING:
        _pyi_private_get_type: bytes

    def from_db_value(self, value: bytes | memoryview | None, *_: object) -> bytes | None:
        return None if value is None else bytes(value)
