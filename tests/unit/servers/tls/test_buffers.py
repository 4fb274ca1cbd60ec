"""The buffer of a TLS connection is as small as it is set."""

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol

import pytest

from extender.servers.tls import buffers


async def test_a_connection_has_a_buffer_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    before = SSLProtocol.max_size
    monkeypatch.setattr(SSLProtocol, "max_size", before)  # as it was, at the end of the test
    buffers.limit()
    loop, tls = asyncio.get_running_loop(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    connection = SSLProtocol(
        loop, asyncio.Protocol(), tls, loop.create_future(), server_hostname="a"
    )
    assert len(connection.get_buffer(-1)) == buffers.BUFFER_BYTES < before
    connection.connection_lost(None)
