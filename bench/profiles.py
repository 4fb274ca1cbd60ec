"""``python -m bench profile FILE``: where the extender spent its time, by component.

``FILE`` is written by ``python -m bench gang --profile``. A function counts for the component of
its file; functions of the standard library count separately. cProfile overstates short functions:
read shares, not times.
"""

import argparse
import contextlib
import pstats
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

from bench import results
from devcluster.cluster import Cluster

WAITING: Final = "waiting for events"
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    WAITING: ("'poll' of 'select.epoll'",),
    "sockets: read and write calls": ("_socket.socket",),
    "TLS": ("sslproto.py", "_ssl", "ssl.py"),
    "HTTP client and server (aiohttp, yarl, multidict)": ("aiohttp/", "yarl/", "multidict/"),
    "JSON decoding and encoding (msgspec)": ("msgspec",),
    "reading API objects": ("shared/kube/parse", "shared/kube/shapes", "shared/kube/amounts",
                            "shared/kube/cpus", "shared/kube/stamps", "shared/quantity",
                            "shared/kube/watching", "shared/kube/reflector"),
    "API client and writes": ("shared/kube/",),
    "store": ("extender/store/",),
    "decisions (core)": ("extender/core/",),
    "HTTP handlers": ("extender/servers/",),
    "controllers and writers": ("extender/controllers/", "extender/writers/", "extender/app/"),
    "metrics": ("prometheus_client/", "extender/metrics"),
    "event loop (asyncio)": ("asyncio/", "selectors.py", "contextvars", "_asyncio"),
}  # fmt: skip
OTHER: Final = "other"
STARTING: Final = (
    "importlib", "builtins.compile", "marshal", "__build_class__", "pydantic", "enum.py",
    "dataclasses.py", "typing.py", "builtins.exec", "_path_stat", "inspect.py", "posix.stat",
    "io.open_code", "re/_", "_imp.", "load_cert", "set_default_verify", "do_handshake",
)  # fmt: skip
"""Functions of the start, which are left out."""


@dataclass(frozen=True)
class Row:
    """One component: its share of the time in which the extender was busy."""

    part: str
    share: float
    seconds: float
    calls: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("file", type=Path, help="a profile")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def run(options: argparse.Namespace) -> int:
    """Print the parts, return the exit code."""
    rows = list(shares(pstats.Stats(str(options.file))))
    for row in rows:
        print(f"{100 * row.share:5.1f} %  {row.part}")
    if options.json:
        results.write(options.json, [asdict(row) for row in rows])
    return 0


def shares(stats: pstats.Stats) -> Iterator[Row]:
    """Yield the components, the largest first, without the start and without waiting."""
    seconds: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    functions = cast("Any", stats).stats
    for (file, _, name), (_, count, own, _, _) in functions.items():
        part = part_of(f"{file}:{name}")
        if part is not None and part != WAITING:
            seconds[part] += own
            calls[part] += count
    total = sum(seconds.values()) or 1.0
    for part, own in seconds.most_common():
        yield Row(part, round(own / total, 4), round(own, 3), calls[part])


def part_of(function: str) -> str | None:
    """Return the component of a function (``file:name``); None for functions of the start."""
    for part, marks in PARTS.items():
        if any(mark in function for mark in marks):
            return part
    return None if any(mark in function for mark in STARTING) else OTHER


READY_SECONDS: Final = 30.0


@contextlib.contextmanager
def profile_of(cluster: Cluster, file: Path | None) -> Iterator[None]:
    """Run the cluster's extender under cProfile meanwhile; None: without a profile.

    Raises:
        TimeoutError: The extender did not become ready.
    """
    if file is None:
        yield
        return
    url = f"{cluster.extender_url}/readyz"
    python, *rest = cluster.state().components["extender"].argv
    cluster.stop("extender")
    arguments = [python, "-m", "cProfile", "-o", str(file.resolve()), *rest]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)  # noqa: S603 - our own program
    try:
        _wait_until_ready(url)
        yield
    finally:
        process.terminate()
        process.wait()
        print(f"profile: python -m pstats {file}")


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # refused, an error status, or no answer in time
            urllib.request.urlopen(url, timeout=1)  # noqa: S310 - our own loopback address
            return
        time.sleep(0.05)
    raise TimeoutError(f"{url} did not answer 200 within {READY_SECONDS:g} s")
