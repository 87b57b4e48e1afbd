"""What each process of the web server does before it serves: it settles how it asks Django, and
when it ends.
"""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time

from django.conf import settings
from django.core.servers.basehttp import get_internal_wsgi_application
from granian._granian import ListenerSpec
from granian.server.mp import MPServer

from explorer.form_bounds import is_refused_unread
from explorer.gate import PIECE_SECONDS, Gate
from explorer.last_newcomers import let_nobody_in
from explorer.logs import log_what_python_says

log = logging.getLogger("tacitus.serve")

# Python's own is five times as long, and whoever waits for the disk or the database waits for it
# after each answer, while another thread reads the largest batch: a submission then took several
# times as long as beside clients who read pages.
SWITCH_SECONDS = 0.001  # that a thread computes for while others want to
ENDINGS = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
END_WITHIN = 30  # seconds, for requests that run when the end is ordered


class WebServer(MPServer):
    """Granian's server, whose workers share a listener, and which SIGHUP ends as SIGTERM does.

    A terminal that is closed sends it. Granian would reload its workers and go on unseen. Of
    listeners it would make one a worker, and on each close those reset whom nobody has accepted.
    """

    def _init_shared_socket(self) -> None:
        """As it does by itself where the system is not Linux."""
        holder = ListenerSpec(self.bind_addr, self.bind_port, self.backlog).build()
        self._listener = socket.socket(fileno=holder.get_fd())
        self._listener.set_inheritable(True)
        if sys.platform == "linux":
            # Whom it accepts has it too. What was handed over to be sent nobody else gives up.
            unread = int(1_000 * PIECE_SECONDS)
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread)
        self._shd, self._sso = holder, self._listener  # type: ignore[assignment]

    def shutdown(self, exit_code: int = 0) -> None:
        let_nobody_in(self._listener)
        super().shutdown(exit_code)  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *_: object, **__: object) -> None:
        self.signal_handler_interrupt()  # type: ignore[no-untyped-call]


def settle_each_fork() -> None:
    """Signals wait while a worker is made: it begins with the server's own handlers.

    Under these it would swallow the server's order to end, and be killed only 30 seconds later.
    """
    os.register_at_fork(
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS),
        after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS),
        after_in_child=_begin_a_worker,
    )


def _begin_a_worker() -> None:
    """A terminal's Ctrl-C goes to every process of the group, and so does its end.

    The server passes them on to its workers, and one that is told to end twice may never do so;
    so each leaves the group, and until Granian listens only the server's SIGTERM ends it.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)


def application(_target: str, *, threads: int) -> Gate:
    """Granian's loader of the application, called in every worker."""
    _begin_a_worker()
    log_what_python_says()
    sys.setswitchinterval(SWITCH_SECONDS)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        django = get_internal_wsgi_application()
    except Exception:
        # Its process would write this to stderr itself, and not as a log line.
        log.exception("The application cannot be loaded.")
        sys.exit(1)
    return Gate(
        django,
        threads=threads,
        longest=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        refused_unread=is_refused_unread,
    )


def _end_with_the_server() -> None:
    """A server that is killed tells nobody, and its workers would keep the port."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(END_WITHIN)
        os._exit(1)
