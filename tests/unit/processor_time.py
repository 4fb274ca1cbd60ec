"""What the kernel says that a process has used of the processors."""

from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Seconds that its first thread has run, to the nanosecond; ``psutil`` counts in ticks."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
