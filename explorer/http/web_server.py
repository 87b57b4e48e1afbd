"""gunicorn with our settings: threads, our own log, and restarts that lose no request."""

import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from errno import EINVAL
from typing import Any
from wsgiref.types import WSGIApplication

from django.conf import settings
from django.core.servers.basehttp import get_internal_wsgi_application
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from queries.http.thread_slots import set_thread_count

ACCEPTED_WITHIN = 2.0  # seconds


class WebServer(BaseApplication):  # type: ignore[misc]  # (gunicorn has no types)
    """Serves `listener` until SIGTERM, SIGINT or SIGHUP, then exits with code 0."""

    def __init__(
        self, listener: socket.socket, workers: int, threads: int, when_ready: Callable[[], None]
    ) -> None:
        self._options: dict[str, object] = {
            "bind": f"fd://{listener.detach()}",
            "worker_class": Worker,
            "workers": workers,
            "threads": threads,
            # Loaded once, before the first worker: a broken application stops the start, workers
            # share memory, and a worker that died is replaced at once.
            "preload_app": True,
            "timeout": 60,  # for a worker whose main thread hangs; requests may take longer
            "graceful_timeout": 30,  # for requests that run at SIGTERM
            "keepalive": 15,
            "limit_request_line": 8190,
            "limit_request_fields": 100,
            "limit_request_field_size": 8190,
            # A client's X_Forwarded_For must not pass for the proxy's X-Forwarded-For. Django reads
            # the proxy's headers, and only with BEHIND_PROXY, so gunicorn trusts none.
            "header_map": "drop",
            "forwarder_headers": "",
            "forwarded_allow_ips": "",
            "logger_class": Log,
            "loglevel": settings.LOG_LEVEL.lower(),
            "control_socket_disable": True,
            "when_ready": lambda _master: when_ready(),
            "post_worker_init": _begin_worker,
        }
        set_thread_count(threads)  # its processes are forks
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        return get_internal_wsgi_application()

    def run(self) -> None:
        Master(self).run()


class Master(Arbiter):  # type: ignore[misc]
    """Closes the port before it stops the workers.

    gunicorn's workers leave it open until their last request is answered, and then reset the
    connections that came meanwhile. A proxy must not repeat a POST that was reset, but it can
    repeat one that was refused.
    """

    def stop(self, graceful: bool = True) -> None:  # noqa: FBT001, FBT002
        listeners = [each.sock for each in self.LISTENERS]
        until = time.monotonic() + ACCEPTED_WITHIN
        while select.select(listeners, [], [], 0)[0] and time.monotonic() < until:
            time.sleep(0.001)  # until a worker has accepted every connection
        for each in listeners:
            with suppress(OSError):  # other systems than Linux refuse this
                each.shutdown(socket.SHUT_RD)
        super().stop(graceful)

    def spawn_worker(self) -> Any:
        """Signals wait until the worker has its own handlers. It starts with the master's, which
        would swallow SIGTERM, so that it would be killed only after the grace period.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, self.SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self.SIGNALS)

    def handle_hup(self) -> None:
        """A closed terminal ends the server. A reload would not load new code."""
        self.handle_term()


class Worker(ThreadWorker):  # type: ignore[misc]
    def handle_quit(self, sig: int, frame: object) -> None:
        """Ctrl-C ends it as SIGTERM does. gunicorn would shut the pool of threads down here, and
        wait for ever if the signal interrupts another use of the pool.
        """
        self.handle_exit(sig, frame)

    def accept(self, listener: Any) -> None:
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno != EINVAL:  # the master has closed the port
                raise


class Log(Logger):  # type: ignore[misc]
    """gunicorn's messages become lines of our log. There is no access log beside our own, which
    removes API keys.
    """

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _begin_worker(_worker: object) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, Arbiter.SIGNALS)
    # A thread that computes yields after 1 ms instead of 5. Other threads wait that long after each
    # answer of the database: polls beside large batches took 50 ms, and now take 20.
    sys.setswitchinterval(0.001)
