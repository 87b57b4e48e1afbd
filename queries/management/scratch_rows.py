"""Many rows, fast, for a scratch database: past `save`, and past what holds a status in check."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, models

Row = Sequence[Any]


class Table:
    """A model's table, and how a row of it is made from another one."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.fields = model._meta.concrete_fields  # noqa: SLF001  (documented)
        self.places = {field.attname: place for place, field in enumerate(self.fields)}

    def row(self, instance: models.Model) -> list[Any]:
        """As the database is given it."""
        return [
            field.get_db_prep_save(getattr(instance, field.attname), connection)
            for field in self.fields
        ]

    def like(self, row: Row, **changes: object) -> list[Any]:
        """The same with other plain values, which costs far less than an instance."""
        changed = list(row)
        for name, value in changes.items():
            changed[self.places[name]] = value
        return changed

    def write(self, rows: Iterable[Row]) -> None:
        quote = connection.ops.quote_name
        table = quote(self.model._meta.db_table)  # noqa: SLF001
        columns = ", ".join(quote(str(field.column)) for field in self.fields)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
            else:
                marks = ", ".join(["%s"] * len(self.fields))
                insert = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608
                cursor.executemany(insert, rows)  # type: ignore[arg-type]  # takes any iterable


@contextmanager
def without_indexes(model: type[models.Model]) -> Iterator[None]:
    """They are built at the end, which is many times as fast as row by row."""
    indexes = model._meta.indexes  # noqa: SLF001
    with connection.schema_editor() as editor:
        for index in indexes:
            editor.remove_index(model, index)
    yield
    with connection.schema_editor() as editor:
        for index in indexes:
            editor.add_index(model, index)
