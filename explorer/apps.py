from django.apps import AppConfig


class ExplorerConfig(AppConfig):
    """The project's window: pages, health, logs."""

    name = "explorer"
