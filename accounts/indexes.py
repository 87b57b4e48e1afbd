"""How a migration after the first adds an index to a table that others write to."""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState


class AddIndexBesideWriters(migrations.AddIndex):
    """PostgreSQL builds it while they go on, and waits for their transactions as long as it takes.
    On SQLite, where one writes at a time, whoever writes waits. Its migration is not `atomic`, so
    what a try that was broken off has left is built anew.
    """

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            name = schema_editor.quote_name(self.index.name)
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.all_models[app_label][self.model_name_lower]
        on_postgresql: Any = schema_editor
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            (patience,) = cursor.fetchone()
            cursor.execute("SELECT SET_CONFIG('lock_timeout', '0', FALSE)")
            try:
                on_postgresql.remove_index(model, self.index, concurrently=True)
                on_postgresql.add_index(model, self.index, concurrently=True)
            finally:
                cursor.execute("SELECT SET_CONFIG('lock_timeout', %s, FALSE)", [patience])
