"""Celery as an alarm clock: a message that something came wakes the workers that hear it.

The work itself is in the database. So a message that is lost or comes twice is harmless, and
workers look every few seconds all the same.
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

LOOKS_EVERY = 5.0  # seconds


class _Alarm(Alarm):
    def stop(self) -> None:
        super().stop()
        # For a signal that comes before Celery's own handlers are there.
        state.should_stop = os.EX_OK


ALARM: Alarm = _Alarm()  # of the prover that this process is

# What neither library asks of a broker's certificate by itself: that it is one, and of that name.
CERTIFICATE_CHECKED = {
    "amqps": {"server_hostname": None},  # the address's
    "rediss": {"ssl_cert_reqs": "required", "ssl_check_hostname": True},
}


def app_with(broker: str) -> Celery:
    made = Celery("tacitus", broker=broker)
    made.conf.update(
        broker_use_ssl=CERTIFICATE_CHECKED.get(urlsplit(broker).scheme),
        task_default_queue="tacitus",
        task_ignore_result=True,
        task_publish_retry=False,
        broker_connection_timeout=2,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # meanwhile provers work, as often as they look
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        # Its queue has the name of the machine, and one worker alone may have it.
        worker_enable_remote_control=False,
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 30},
    )
    return made


app = app_with(settings.CELERY_BROKER)


@app.task(name="tacitus.wake")  # type: ignore[untyped-decorator]
def woken(batch_id: str) -> None:
    log.debug("Woken for batch %s.", batch_id)
    ALARM.ring()


def wake(batch_id: str) -> None:
    """Without a broker the batch waits for the next poll; no request is refused."""
    try:
        woken.apply_async(args=[batch_id], expires=60)
    except (OperationalError, OSError):
        log.warning("The broker does not answer; provers find batch %s when they look.", batch_id)


def listen() -> None:
    """Until the process is stopped."""
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
