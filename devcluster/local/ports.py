"""Free ports on the loopback address."""

import contextlib
import secrets
import socket
from pathlib import Path
from typing import Final

from devcluster.errors import DevclusterError

LOOPBACK: Final = "127.0.0.1"
_FIRST: Final = 10_000
_LAST_DEFAULT: Final = 32_767
_RANGE_FILE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES: Final = 1000


def free_ports(count: int) -> tuple[int, ...]:
    """Return unused ports below the range of outgoing connections.

    A port inside that range could be taken by an outgoing connection while a component restarts.

    Raises:
        DevclusterError: No free port was found.
    """
    last = _last()
    ports: list[int] = []
    with contextlib.ExitStack() as stack:
        for _ in range(_TRIES):
            port = _FIRST + secrets.randbelow(last - _FIRST + 1)
            with contextlib.suppress(OSError):
                holder = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                holder.bind((LOOPBACK, port))
                ports.append(port)
            if len(ports) == count:
                return tuple(ports)
    raise DevclusterError(f"no {count} free ports between {_FIRST} and {last} on {LOOPBACK}")


def _last() -> int:
    try:
        low = int(_RANGE_FILE.read_text().split()[0])
    except FileNotFoundError:
        return _LAST_DEFAULT
    return low - 1 if low > _FIRST + _TRIES else _LAST_DEFAULT
