"""The extender under cProfile, for one measurement."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from devcluster.cluster import Cluster


@contextlib.contextmanager
def profile_of(cluster: Cluster, file: Path | None) -> Iterator[None]:
    """Run the cluster's extender under cProfile meanwhile; None measures without."""
    if file is None:
        yield
        return
    python, *rest = cluster.argv("extender")
    target = str(file.resolve())
    cluster.relaunch("extender", (python, "-m", "cProfile", "-o", target, *rest))
    try:
        yield
    finally:
        cluster.stop("extender")
        print(f"profile: python -m pstats {file}")
