"""Celery as an alarm clock: messages wake provers when a batch arrives.

Lost and repeated messages are harmless, because provers also poll the database.
"""

import logging
import os
from urllib.parse import urlsplit

from celery import Celery
from celery.exceptions import OperationalError
from celery.worker import state
from django.conf import settings

from queries.engines.alarm import Alarm

log = logging.getLogger("tacitus.prover")

POLL_SECONDS = 5.0


class CeleryAlarm(Alarm):
    def stop(self) -> None:
        super().stop()
        # For a signal before Celery has installed its own handlers.
        state.should_stop = os.EX_OK


ALARM: Alarm = CeleryAlarm()  # of this process

# Check the broker's certificate and host name, which neither library does by default.
TLS_OPTIONS = {
    "amqps": {"server_hostname": None},  # the URL's host
    "rediss": {"ssl_cert_reqs": "required", "ssl_check_hostname": True},
}


def create_app(broker: str) -> Celery:
    app = Celery("tacitus", broker=broker)
    app.conf.update(
        broker_use_ssl=TLS_OPTIONS.get(urlsplit(broker).scheme),
        task_default_queue="tacitus",
        task_ignore_result=True,
        task_publish_retry=False,
        broker_connection_timeout=2,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # provers poll while the broker is away
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        # Remote control uses a queue per host name, which only one worker may have.
        worker_enable_remote_control=False,
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30},
    )
    return app


app = create_app(settings.CELERY_BROKER)


@app.task(name="tacitus.wake")  # type: ignore[untyped-decorator]
def wake_task(batch_id: str) -> None:
    log.debug("Woken for batch %s.", batch_id)
    ALARM.ring()


def wake(batch_id: str) -> None:
    """Send a wake-up. Without a broker, the batch waits for the next poll."""
    try:
        wake_task.apply_async(args=[batch_id], expires=60)
    except (OperationalError, OSError):
        log.warning("The broker does not answer; batch %s waits for the next poll.", batch_id)


def listen() -> None:
    """Receive wake-ups until the process is stopped."""
    worker = app.Worker(
        pool="solo",
        concurrency=1,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
        loglevel="WARNING",
    )
    worker.start()
