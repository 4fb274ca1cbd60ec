"""Container output as a container runtime writes it: ``TIMESTAMP stream F text``.

Source:
    The CRI logging format; containerd cuts lines at 16 KiB, all parts but the last are ``P``.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, Literal

LINE_BYTES: Final = 16 * 1024
Stream = Literal["stdout", "stderr"]


def pod_logs(node_directory: Path) -> Path:
    """Return the directory that serves as ``/var/log/pods`` of a node."""
    return node_directory / "logs" / "pods"


def log_path(node_directory: Path, pod: tuple[str, str, str], container: str, restart: int) -> Path:
    """Return the log file of one run of a container; ``pod``: namespace, name and uid."""
    return pod_logs(node_directory) / "_".join(pod) / container / f"{restart}.log"


def stamp(moment: float) -> str:
    """Return a moment (seconds since the epoch) in the log's form: RFC 3339 with nine digits."""
    whole = datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{int(moment % 1 * 1e9):09d}Z"


class LineCutter:
    """Cuts one stream into tagged lines; keeps what has no line end yet (pure)."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._rest = b""

    def feed(self, data: bytes, moment: float) -> bytes:
        """Return the log lines that ``data`` completes, stamped with ``moment``."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        written = [self._line(line, moment) for line in lines]
        while len(self._rest) > LINE_BYTES:
            written.append(self._part(b"P", self._rest[:LINE_BYTES], moment))
            self._rest = self._rest[LINE_BYTES:]
        return b"".join(written)

    def close(self, moment: float) -> bytes:
        """Return the rest after the last line end as a line."""
        rest, self._rest = self._rest, b""
        return self._line(rest, moment) if rest else b""

    def _line(self, line: bytes, moment: float) -> bytes:
        cuts = range(0, max(len(line), 1), LINE_BYTES)
        parts = [line[start : start + LINE_BYTES] for start in cuts]
        tags = [b"P"] * (len(parts) - 1) + [b"F"]
        return b"".join(
            self._part(tag, part, moment) for tag, part in zip(tags, parts, strict=True)
        )

    def _part(self, tag: bytes, text: bytes, moment: float) -> bytes:
        return b"%b %b %b %b\n" % (stamp(moment).encode(), self._stream.encode(), tag, text)


class LogFile:
    """One log file, written line by line so that a reader sees a line as soon as it is complete."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab", buffering=0)

    def write(self, lines: bytes) -> None:
        """Append complete log lines."""
        if lines:
            self._file.write(lines)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
