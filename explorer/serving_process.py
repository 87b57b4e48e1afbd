"""What each process of the web server does before it serves: it settles when it ends."""

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from django.core.servers.basehttp import get_internal_wsgi_application
from granian.server.mp import MPServer

from explorer.logs import log_what_python_says

log = logging.getLogger("tacitus.serve")


class WebServer(MPServer):
    """Granian's server, which SIGHUP ends as SIGTERM does.

    A terminal that is closed sends it. Granian would reload its workers and go on unseen.
    """

    def signal_handler_reload(self, *_: object, **__: object) -> None:
        self.signal_handler_interrupt()  # type: ignore[no-untyped-call]


def application(_target: str) -> Callable[..., Any]:
    """Granian's loader of the application, called in every worker.

    A terminal's Ctrl-C goes to every process of the group. The server passes it on to its
    workers, and one that is told to end twice may never do so; so each leaves the group.
    """
    os.setpgid(0, 0)
    log_what_python_says()
    # Until Granian listens for it, the server's own handler stands here and would swallow it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        return get_internal_wsgi_application()
    except Exception:
        # Its process would write this to stderr itself, and not as a log line.
        log.exception("The application cannot be loaded.")
        sys.exit(1)


def _end_with_the_server() -> None:
    """A server that is killed tells nobody, and its workers would keep the port."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os.kill(os.getpid(), signal.SIGTERM)
