"""The Celery app, and the messages that announce work.

A message says only that rows may be due; the task looks for them in the database. So lost, late and
repeated messages are harmless. Beat sends one of each kind every `SWEEP_SECONDS`.
"""

import logging
from urllib.parse import urlsplit

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from celery.exceptions import OperationalError
from celery.signals import beat_init, setup_logging, worker_init
from django.conf import settings
from kombu.transport.virtual import QoS

from queries.engines import POST, TASKS

__all__ = ["PROVING", "app", "beat_init", "send", "setup_logging", "worker_init"]

log = logging.getLogger("tacitus.prover")

PROVING, WEBHOOKS = QUEUES = "tacitus-proving", "tacitus-webhooks"

# Seconds.
SWEEP_SECONDS = 2.0
# A message that has waited for longer is dropped: where workers are always busy, sweeps would
# lengthen the queue without end, and no chain would be polled in time.
MESSAGE_LIFETIME = 3 * SWEEP_SECONDS
QUEUE_LIFETIME = 60  # of messages in a broker whose workers are away; an argument of the queues
MAX_TASK_SECONDS, GRACE_SECONDS = 600, 60

# Check the broker's certificate and host name, which neither library does by default.
TLS_OPTIONS = {
    "amqps": {"server_hostname": None},  # the URL's host
    "rediss": {"ssl_cert_reqs": "required", "ssl_check_hostname": True},
}


QoS.restore_at_shutdown = False  # see `ack_emulation`


class Sweeps(Scheduler):  # type: ignore[misc]  # (celery has no types)
    """Beat's schedule, without a file. Celery's own logs 150 lines for each message that it could
    not send.
    """

    def apply_entry(self, entry: ScheduleEntry, producer: object = None) -> None:
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            log.error("Beat cannot announce work: %s", error.__context__)  # noqa: TRY400


def create_app(broker: str) -> Celery:
    app = Celery("tacitus", broker=broker)
    app.conf.update(
        accept_content=["json"],
        broker_use_ssl=TLS_OPTIONS.get(urlsplit(broker).scheme),
        broker_connection_timeout=2,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "socket_connect_timeout": 2,
            "socket_timeout": 30,
            # Else a worker with a running task ends if it loses Redis: kombu acknowledges messages,
            # and puts them back, by a connection that is closed.
            "ack_emulation": False,
        },
        task_queues={name: {"message_ttl": QUEUE_LIFETIME} for name in QUEUES},
        task_default_queue=PROVING,
        task_default_delivery_mode="transient",
        task_routes={POST: {"queue": WEBHOOKS}},
        task_ignore_result=True,
        result_expires=None,
        # A lost connection is replaced at once; while there is no broker, sending fails soon.
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0},
        task_acks_late=True,
        task_soft_time_limit=MAX_TASK_SECONDS,
        task_time_limit=MAX_TASK_SECONDS + GRACE_SECONDS,
        worker_prefetch_multiplier=1,
        # Else a worker ends if a lost connection, or another worker, still has its name.
        control_queue_exclusive=False,
        control_queue_durable=True,
        beat_schedule={
            name: {
                "task": name,
                "schedule": SWEEP_SECONDS,
                "options": {"expires": MESSAGE_LIFETIME},
            }
            for name in TASKS
        },
        beat_scheduler=Sweeps,
    )
    return app


app = create_app(settings.CELERY_BROKER)


def send(task: str, delay: float = 0) -> None:
    """Have a worker look for due rows after this many seconds. Without a broker, a sweep does."""
    try:
        app.send_task(task, countdown=delay, expires=delay + MESSAGE_LIFETIME)
    except (OperationalError, OSError):
        log.warning("The broker does not answer; due work waits for the next sweep.")
