"""gunicorn with our settings: threads, our log, and restarts without lost requests."""

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
from gunicorn.http.body import ChunkedReader, LengthReader
from gunicorn.workers.gthread import ThreadWorker

from queries.http.thread_slots import set_thread_count

ACCEPT_SECONDS = 2.0
MAX_DISCARDED_BYTES = 65_536  # of a body that is not read; gunicorn keeps the connection below that


class WebServer(BaseApplication):  # type: ignore[misc]  # (gunicorn has no types)
    """Serves `listener` until SIGTERM, SIGINT or SIGHUP, then exits with code 0."""

    def __init__(
        self, listener: socket.socket, workers: int, threads: int, when_ready: Callable[[], None]
    ) -> None:
        self._options: dict[str, object] = {
            "bind": f"fd://{listener.detach()}",
            "worker_class": ThreadPoolWorker,
            "workers": workers,
            "threads": threads,
            # Loaded once, before the first worker: a broken application stops the start, workers
            # share memory, and a crashed worker is replaced at once.
            "preload_app": True,
            "timeout": 60,  # for a worker whose main thread hangs; requests may take longer
            "keepalive": 15,
            "limit_request_line": 8190,
            # A client's X_Forwarded_For must not be read as the proxy's X-Forwarded-For. Django
            # reads the proxy's headers, and only with BEHIND_PROXY; gunicorn trusts none.
            "header_map": "drop",
            "forwarder_headers": "",
            "forwarded_allow_ips": "",
            "logger_class": LogBridge,
            "loglevel": settings.LOG_LEVEL.lower(),
            "control_socket_disable": True,
            "when_ready": lambda _master: when_ready(),
            "post_worker_init": _start_worker,
        }
        set_thread_count(threads)  # its processes are forks
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        return get_internal_wsgi_application()

    def run(self) -> None:
        GracefulArbiter(self).run()


class GracefulArbiter(Arbiter):  # type: ignore[misc]
    """Closes the port before it stops the workers.

    Otherwise workers reset connections made during their last responses, and a proxy must not retry
    a POST whose connection was reset.
    """

    def stop(self, *arguments: Any, **options: Any) -> None:
        listeners = [listener.sock for listener in self.LISTENERS]
        deadline = time.monotonic() + ACCEPT_SECONDS
        while select.select(listeners, [], [], 0)[0] and time.monotonic() < deadline:
            time.sleep(0.001)  # until a worker has accepted every connection
        for listener in listeners:
            with suppress(OSError):  # only Linux supports this
                listener.shutdown(socket.SHUT_RD)
        super().stop(*arguments, **options)

    def spawn_worker(self) -> Any:
        """Block signals until the worker has its own handlers; the master's swallow a SIGTERM."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self.SIGNALS)
        try:
            return super().spawn_worker()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self.SIGNALS)

    def handle_hup(self) -> None:
        """Stop when the terminal is closed. gunicorn's reload would not load new code."""
        self.handle_term()


class ThreadPoolWorker(ThreadWorker):  # type: ignore[misc]
    def handle_quit(self, sig: int, frame: object) -> None:
        """Handle Ctrl-C like SIGTERM: gunicorn's own handler can deadlock the thread pool."""
        self.handle_exit(sig, frame)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer `Connection: close` if much of the body was not read. gunicorn would announce
        keep-alive, and close the connection.
        """
        reader, should_close = req.body.reader, req.should_close
        req.should_close = lambda: should_close() or _has_much_left(reader)
        return super().handle_request(req, conn)

    def accept(self, listener: Any) -> None:
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno != EINVAL:  # the master has closed the port
                raise


def _has_much_left(reader: LengthReader | ChunkedReader) -> bool:
    if isinstance(reader, LengthReader):
        return bool(reader.length >= MAX_DISCARDED_BYTES)
    return reader.parser is not None


class LogBridge(Logger):  # type: ignore[misc]
    """Sends gunicorn's messages to our log. Its access log is off; ours redacts API keys."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _start_worker(_worker: object) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, Arbiter.SIGNALS)
    # A computing thread yields after 1 ms instead of 5. Other threads wait that long after each
    # database response: status polls during large batches took 50 ms, and now take 20.
    sys.setswitchinterval(0.001)
