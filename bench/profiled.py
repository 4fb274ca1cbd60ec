"""The extender under cProfile, for one measurement."""

import contextlib
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.error import URLError

from devcluster.cluster import Cluster

READY_SECONDS: Final = 30.0


@contextlib.contextmanager
def profile_of(cluster: Cluster, file: Path | None) -> Iterator[None]:
    """Run the cluster's extender under cProfile meanwhile; None measures without.

    Raises:
        TimeoutError: It did not become ready.
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
        with contextlib.suppress(URLError, ConnectionError):
            urllib.request.urlopen(url, timeout=1)  # noqa: S310 - our own loopback address
            return
        time.sleep(0.05)
    raise TimeoutError(f"{url} did not answer 200 within {READY_SECONDS:g} s")
