"""A batch's queries are stored: by one statement, however many they are."""

from collections.abc import Sequence

from django.db import connection

from queries.models import Query


def insert(queries: Sequence[Query]) -> None:
    """Rows whose keys the database makes.

    Django sends SQLite at most 999 values in a statement, so 500 queries took fourteen of them,
    each prepared anew. Here SQLite prepares one INSERT and runs it for each row, 500 times, which
    Django counts as one statement. There is no way to a server between, so a run costs little.
    """
    if connection.vendor != "sqlite":
        Query.objects.bulk_create(queries)
        return
    meta, quote = Query._meta, connection.ops.quote_name  # noqa: SLF001
    fields = [field for field in meta.concrete_fields if not field.primary_key]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608
    rows = [
        [field.get_db_prep_save(getattr(query, field.attname), connection) for field in fields]
        for query in queries
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)
