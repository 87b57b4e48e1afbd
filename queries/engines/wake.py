"""Wake-ups of the configured engine, for rows that have become due."""

from django.conf import settings

if settings.PROVER_ENGINE == "CELERY":
    from queries.engines.celery import wake_provers, wake_senders
else:

    def wake_provers() -> None:
        """Do nothing, because provers of the embedded engine poll the database."""

    def wake_senders() -> None:
        """Do nothing, as above."""


__all__ = ["wake_provers", "wake_senders"]
