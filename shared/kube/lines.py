"""Lines out of chunks, without a limit on their length."""

from collections.abc import Iterator


class LineSplitter:
    """Cuts a stream of bytes at newlines; what is left after the last one waits in ``rest``.

    aiohttp's own ``readline`` refuses lines above its buffer size, and a watch line is as long as
    its object. The search for a newline never looks at a byte twice.
    """

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the complete lines, without newline and without empty ones."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            line = bytes(self.rest) + chunk[start:end] if self.rest else chunk[start:end]
            self.rest.clear()
            start = end + 1
            if line:
                yield line
        self.rest += chunk[start:]
