"""Wake-ups of the configured engine, for rows that have become due."""

from django.conf import settings

__all__ = ["wake"]

if settings.PROVER_ENGINE == "CELERY":
    from queries.engines.celery import send as wake
else:

    def wake(task: str, delay: float = 0) -> None:
        """Do nothing, because the embedded engine polls the database."""
