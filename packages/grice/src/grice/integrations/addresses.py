"""Does a cluster answer at an address? Engines try one that is wrong for minutes, or for ever."""

from __future__ import annotations

import socket
from contextlib import suppress
from urllib.parse import urlsplit

from grice.errors import InputError, os_reason

PATIENCE = 10
"""Seconds that a cluster may take to answer."""
FIRST = 9
"""Bytes that are read of an answer: the head of a frame of HTTP/2, which gRPC stands on."""


def check_listens(address: str) -> None:
    """Refuse an address at which nobody listens: Ray and Spark try it again for minutes.

    Of several places, as Spark has them for masters that stand by, it is enough that one listens.

    Raises:
        InputError: If none does.
    """
    problems = []
    for text in address.rpartition("//")[2].split(","):
        if (place := _place(text)) is None:
            return
        try:
            socket.create_connection(place, PATIENCE).close()
        except OSError as error:
            problems.append(os_reason(error))
        else:
            return
    raise InputError(
        f"{address}: nobody listens here: {problems[0]}; start the cluster, or leave out "
        "--address for workers on this machine"
    )


def first_answer(address: str, greeting: bytes = b"") -> bytes | None:
    """Return the first bytes that a place answers to a greeting.

    Args:
        address: With one host and port.
        greeting: What is sent first; nothing where the other side begins.

    Returns:
        Nine bytes, fewer where it says no more in time or hangs up; None where an address has no
        host or no port.
    """
    if (place := _place(address.rpartition("//")[2])) is None:
        return None
    answer = b""
    with suppress(OSError), socket.create_connection(place, PATIENCE) as connection:
        connection.sendall(greeting)
        while len(answer) < FIRST and (more := connection.recv(FIRST - len(answer))):
            answer += more
    return answer


def _place(text: str) -> tuple[str, int] | None:
    """Return host and port; None where there are none, which the engine knows."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return None if host is None or port is None else (host, port)
