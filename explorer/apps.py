from django.apps import AppConfig

from explorer import checks as checks  # registers them


class ExplorerConfig(AppConfig):
    """The project's window: pages, health, logs."""

    name = "explorer"
