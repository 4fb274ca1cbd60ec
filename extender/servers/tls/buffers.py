"""The buffer of each TLS connection: asyncio's own takes 256 KiB, which a thousand agents have.

asyncio has no parameter for it. Every connection reads the size from its class, in Python 3.11 to
3.13; where a later version does not, connections take what they took before (the test of this
module would fail).
"""

from asyncio.sslproto import SSLProtocol
from typing import Final

BUFFER_BYTES: Final = 32 * 2**10
"""What a connection reads at a time: two records of TLS, of 16 KiB at most."""


def limit() -> None:
    """Give the buffers of connections that are opened from now on ``BUFFER_BYTES``."""
    SSLProtocol.max_size = BUFFER_BYTES
