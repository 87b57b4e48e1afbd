"""Fields that databases return in the same form."""

from typing import TYPE_CHECKING

from django.db import models


class BytesField(models.BinaryField):  # type: ignore[type-arg]  # takes no types at run time
    """Returns bytes on every database; Django returns a memoryview on PostgreSQL."""

    if TYPE_CHECKING:
        _pyi_private_get_type: bytes

    def from_db_value(self, value: bytes | memoryview | None, *_: object) -> bytes | None:
        return None if value is None else bytes(value)
