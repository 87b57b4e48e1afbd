from django.apps import AppConfig


class QueriesConfig(AppConfig):
    """The work: batches, proofs, registries."""

    name = "queries"
