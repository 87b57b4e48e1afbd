"""Whether the database can be used, and has this version's migrations and tables."""

from collections.abc import Iterator

from django.apps import apps
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

# The database is gone, locked or full. A traceback of our code would not help.
OUTAGE_ERRORS = (OperationalError, InterfaceError)
NOT_MIGRATED = "The database is not migrated. Run: manage.py migrate"


def describe_outage(error: BaseException) -> str:
    return f"The database cannot be used: {' '.join(str(error).split())}"


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def schema_fault() -> str:
    """What is wrong with the tables, and what to do, in a sentence; empty if nothing is."""
    if not is_migrated():
        return NOT_MIGRATED
    difference = next(_schema_differences(), "")
    if not difference:
        return ""
    return (
        f"The database is that of another version ({difference}): run that version, or give this "
        "one an empty database and run manage.py migrate"
    )


def require_schema() -> None:
    """Stop a command before it does anything."""
    if fault := schema_fault():
        raise CommandError(fault)


# Whether a column needs a value, by table and column. Django reads one table at a time, which takes
# twenty times as long.
_COLUMNS = {
    "sqlite": """
        SELECT tables.name, columns.name, columns."notnull" AND columns.dflt_value IS NULL
        FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'
    """,
    "postgresql": """
        SELECT table_name, column_name, is_nullable = 'NO' AND column_default IS NULL
        FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false))
    """,
}


def _schema_differences() -> Iterator[str]:
    """Why statements of this version fail. They do not if a later version has only added columns
    that need no value.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS[connection.vendor])
        actual = {(table, column): bool(needed) for table, column, needed in cursor.fetchall()}
    expected = {
        (model._meta.db_table, field.column): not field.null
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
    }
    tables = {table for table, _ in expected}
    for table, column in sorted(expected.keys() - actual.keys()):
        yield f"{table} has no column {column}"
    for (table, column), needs_value in sorted(actual.items()):
        if table in tables and needs_value and not expected.get((table, column)):
            yield f"{table} needs a value in the column {column}"
