"""The `siwe` package: with what it is built on it takes nearly as long to load as everything else,
and of the commands only `serve` signs anyone in. So it is loaded when it is first asked for.
"""

import threading
import warnings
from functools import cache
from typing import Any

_loading = threading.Lock()  # threads share what `catch_warnings` changes


@cache
def siwe() -> Any:
    """What it is built on warns, when it is first imported, of what it does itself; nobody who runs
    the service can change that, so it is not said to them.
    """
    with _loading, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import siwe as package  # noqa: PLC0415  (see above)
    return package
