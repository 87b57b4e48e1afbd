"""Whether the database can be used, and has this version's migrations and tables."""

import re
from collections.abc import Iterator

from django.apps import apps
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

# The database is gone, locked or full. A traceback of our code would not help.
OUTAGE_ERRORS = (OperationalError, InterfaceError)
NOT_MIGRATED = "The database is not migrated. Run: tacitus migrate"


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
        "one an empty database and run tacitus migrate"
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
# Names of indexes and constraints. SQLite has those of constraints in the tables' statements only.
_NAMES = {
    "sqlite": "SELECT name FROM sqlite_master UNION SELECT sql FROM sqlite_master",
    "postgresql": """
        SELECT indexname FROM pg_indexes WHERE schemaname = ANY (current_schemas(false))
        UNION SELECT conname FROM pg_constraint
    """,
}
_NAME = re.compile("[a-z0-9_]+")


def _schema_differences() -> Iterator[str]:
    """Why statements of this version fail, or store two rows where one may be.

    A later version may have added to the tables, if new columns need no value.
    """
    models = apps.get_models(include_auto_created=True)
    with connection.cursor() as cursor:
        cursor.execute(_NAMES[connection.vendor])
        names = {name for (text,) in cursor.fetchall() for name in _NAME.findall(text or "")}
        cursor.execute(_COLUMNS[connection.vendor])
        actual = {(table, column): bool(needed) for table, column, needed in cursor.fetchall()}
    expected = {
        (model._meta.db_table, field.column): not field.null
        for model in models
        for field in model._meta.local_concrete_fields
    }
    tables = {table for table, _ in expected}
    for model in models:
        for rule in (*model._meta.constraints, *model._meta.indexes):
            if rule.name not in names:
                yield f"{model._meta.db_table} has no {rule.name}"
    for table, column in sorted(expected.keys() - actual.keys()):
        yield f"{table} has no column {column}"
    for (table, column), needs_value in sorted(actual.items()):
        if table in tables and needs_value and not expected.get((table, column)):
            yield f"{table} needs a value in the column {column}"
