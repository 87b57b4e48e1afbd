"""What each process of the web server does before it serves: it settles when it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from django.core.servers.basehttp import get_internal_wsgi_application


def application(_target: str) -> Callable[..., Any]:
    """Granian's loader of the application, called in every worker.

    A terminal's Ctrl-C goes to every process of the group. The server passes it on to its
    workers, and one that is told to end twice may never do so; so each leaves the group.
    """
    os.setpgid(0, 0)
    # Until Granian listens for it, the server's own handler stands here and would swallow it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    return get_internal_wsgi_application()


def _end_with_the_server() -> None:
    """A server that is killed tells nobody, and its workers would keep the port."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os.kill(os.getpid(), signal.SIGTERM)
