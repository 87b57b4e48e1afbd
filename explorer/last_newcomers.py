"""How a server stops to listen without hanging up on anybody.

A connection that the system has taken for a listener, and whose request nobody has read yet, is
reset when the listener closes. So first the system is told to drop whatever comes for it, as if it
were lost on the way; then what has come by then is waited for. Who is dropped knocks again after a
second, as each system does by itself, and finds the next server, or nobody.
"""

import ctypes
import logging
import socket
import struct
import sys
import time

log = logging.getLogger("tacitus.serve")

# Linux's own numbers, which Python's socket module has no names for.
SO_ATTACH_FILTER = 26
RETURN = 0x06  # of the packet filter's language: what follows is how many bytes are let through
WAITING_TO_BE_ACCEPTED = slice(24, 28)  # of TCP_INFO of a listener

READ_WITHIN = 0.1  # seconds: who has just been accepted has sent the request by then
ACCEPTED_WITHIN = 2.0


def let_nobody_in(listener: socket.socket) -> None:
    """And return when all who were in by then are in a worker's hands."""
    if sys.platform != "linux":
        return
    try:
        _drop_all(listener)
    except OSError as fault:  # a sandbox that knows no filters
        log.warning("Newcomers cannot be kept out while the server ends: %s", fault)
        return
    until = time.monotonic() + ACCEPTED_WITHIN
    while _waiting(listener) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(READ_WITHIN)


def _drop_all(listener: socket.socket) -> None:
    program = ctypes.create_string_buffer(struct.pack("=HBBI", RETURN, 0, 0, 0))
    one_instruction = struct.pack("@HP", 1, ctypes.addressof(program))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, one_instruction)


def _waiting(listener: socket.socket) -> int:
    """Connections that no worker has accepted yet."""
    told = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return int.from_bytes(told[WAITING_TO_BE_ACCEPTED], sys.byteorder)
