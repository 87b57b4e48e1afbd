from django.apps import AppConfig


class QueriesConfig(AppConfig):
    """Batches, proofs and registries."""

    name = "queries"
