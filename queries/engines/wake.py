"""The configured engine: how provers are woken."""

from django.conf import settings

if settings.PROVER_ENGINE == "CELERY":
    from queries.engines.celery import ALARM, POLL_SECONDS, listen, wake
else:
    from queries.engines.alarm import Alarm

    ALARM = Alarm()
    POLL_SECONDS = 0.1

    def wake(batch_id: str) -> None:
        """Do nothing, because provers of the embedded engine poll the database."""

    def listen() -> None:
        ALARM.wait_until_stopped()


__all__ = ["ALARM", "POLL_SECONDS", "listen", "wake"]
