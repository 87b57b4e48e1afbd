"""Large frames for calls that do much work below them: requests, prover threads, tasks, commands.

CPython stores frames in chunks of 16 KiB, and frees a chunk with its first frame. If the calls of a
loop cross the end of a chunk, each of them maps and unmaps memory. Depending on the depth of the
call stack, a page or a prover's pass over 1,000 accounts took up to twice as long.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_large_frame(function: Callable[P, R]) -> Callable[P, R]:
    """Call the function from a frame of 128 KiB, which gets a chunk of 256 KiB, in which the frames
    of the rest fit.
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=2**14)
    return wraps(function)(call)
