from django.apps import AppConfig
from django.core.checks import register

from explorer.checks import sqlite_is_new_enough


class ExplorerConfig(AppConfig):
    """The project's window: pages, health, logs."""

    name = "explorer"

    def ready(self) -> None:
        register(sqlite_is_new_enough)
