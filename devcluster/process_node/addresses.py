"""Loopback addresses for nodes and pods: a block ``127.B.0.0/16`` of our own on this machine.

All of 127/8 belongs to the loopback interface, so an address needs no set-up. Two clusters on one
machine must not share addresses, as their pods use the same ports: a block is taken by holding an
abstract Unix socket that is named after it, which the kernel gives back when the process ends.
"""

import contextlib
import socket
import zlib
from pathlib import Path
from typing import Final

from devcluster.process_node.errors import AddressError

_FIRST_BLOCK: Final = 16  # leaves 127.0 to 127.15 to other uses of loopback addresses
_BLOCKS: Final = 256 - _FIRST_BLOCK
_HOSTS: Final = range(1, 255)


class Block:
    """A block of addresses, ours until ``close``.

    Args:
        directory: The cluster's directory; it prefers the same block each time.

    Raises:
        AddressError: Every block is taken.
    """

    def __init__(self, directory: Path) -> None:
        preferred = zlib.crc32(str(directory).encode())
        for offset in range(_BLOCKS):
            number = _FIRST_BLOCK + (preferred + offset) % _BLOCKS
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            with contextlib.suppress(OSError):
                lock.bind(f"\0shuntyard-127.{number}")
                self.number = number
                self._lock = lock
                return
            lock.close()
        raise AddressError("all address blocks 127.16 to 127.255 are taken on this machine")

    def close(self) -> None:
        """Release the block."""
        self._lock.close()


class NodeAddresses:
    """The addresses of one node's pods: ``127.B.N.2`` and up; the node itself has ``127.B.N.1``.

    An address is reused as late as possible, so that a name that was resolved just before a pod
    ended does not lead to another pod.
    """

    def __init__(self, block: int, node_index: int) -> None:
        self._prefix = f"127.{block}.{node_index}"
        self.host_ip = f"{self._prefix}.1"
        self._free = list(_HOSTS)[1:]

    def take(self) -> str:
        """Return an address that no pod has.

        Raises:
            AddressError: All are taken.
        """
        if not self._free:
            raise AddressError(f"no pod address is left in {self._prefix}.0/24")
        return f"{self._prefix}.{self._free.pop(0)}"

    def give_back(self, address: str) -> None:
        """Make an address free again."""
        self._free.append(int(address.rsplit(".", 1)[1]))
