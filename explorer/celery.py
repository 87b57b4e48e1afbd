"""Sets Django up for `celery -A explorer worker` and `celery -A explorer beat`."""

import os
import signal
import sys
from contextlib import suppress

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from explorer.http.logs import log_warnings_and_exceptions

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # they import every page
try:
    django.setup()
except ImproperlyConfigured as error:
    sys.exit(f"Tacitus cannot start. {error}")
if settings.PROVER_ENGINE != "CELERY":
    sys.exit("PROVER_ENGINE is EMBEDDED. Set it to CELERY, or run: tacitus run_prover")

from queries.engines.celery import app, beat_init, setup_logging
from queries.prover import tasks

__all__ = ["app", "tasks"]


@setup_logging.connect  # type: ignore[untyped-decorator]
def set_up_logging(**_: object) -> None:
    """Celery leaves the logs to this receiver, and it leaves them as the settings have them."""
    log_warnings_and_exceptions()


@beat_init.connect  # type: ignore[untyped-decorator]
def end_beat_at_once(**_: object) -> None:
    """Replace Celery's handler, which closes the connection to the broker: if it is in use, an
    error may hide the request to end. Beat keeps nothing that could be lost.
    """

    def end(*_: object) -> None:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
