"""Vectors over TCP: frames of a step number and float64 values. Rendezvous with retry."""

import socket
import struct
import time

import numpy as np
from model import Vector

_HEADER = struct.Struct("!qq")
SILENCE_SECONDS = 120.0
"""A peer that is silent for so long is gone."""


def send(connection: socket.socket, step: int, vector: Vector) -> None:
    """Send one frame."""
    connection.sendall(_HEADER.pack(step, vector.size) + vector.astype(">f8").tobytes())


def receive(connection: socket.socket) -> tuple[int, Vector]:
    """Return the next frame.

    Raises:
        ConnectionError: The peer hung up.
    """
    step, size = _HEADER.unpack(_exactly(connection, _HEADER.size))
    return step, np.frombuffer(_exactly(connection, 8 * size), dtype=">f8").astype(np.float64)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("the peer hung up")
        parts += part
    return bytes(parts)


def listen(address: str, port: int) -> socket.socket:
    """Listen on our own address only: several pods may share one machine."""
    return socket.create_server((address, port), reuse_port=False)


def connect(host: str, port: int, patience_seconds: float) -> socket.socket:
    """Connect to a peer that may not listen yet, and whose name may not resolve yet.

    Raises:
        TimeoutError: It did not come in time.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=5.0)
        except OSError as error:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{host}:{port} did not come: {error}") from error
            time.sleep(0.25)
        else:
            connection.settimeout(SILENCE_SECONDS)
            return connection
