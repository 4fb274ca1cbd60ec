"""The lowest layer of our image: Debian with Python, kept in the cache."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devcluster.real_nodes import debian
from devcluster.real_nodes.commands import run


@dataclass(frozen=True, slots=True)
class DebianLayer:
    """The layer, and the version of its Python, e.g. ``3.11``."""

    layer: Path
    python: str


def debian_layer(cache: Path, report: Callable[[str], None]) -> DebianLayer:
    """Return the layer for this machine's release; the caller holds the cache's lock.

    Raises:
        MachineError: debootstrap or tar failed.
    """
    stem = f"debian-{debian.suite()}-python"
    found = [file for file in cache.glob(f"{stem}*.tar") if file.suffix == ".tar"]
    if found:
        return DebianLayer(found[0], found[0].stem.removeprefix(stem))
    report("making a Debian root with Python by debootstrap (once; most of a minute)")
    begun = time.monotonic()
    root, partial = cache / "root", cache / "debian.partial"
    shutil.rmtree(root, ignore_errors=True)  # of a build that was killed
    try:
        debian.make_root(root)
        python = debian.python_version(root)
        run("tar", "--numeric-owner", "--directory", str(root), "-cf", str(partial), ".")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    layer = partial.rename(cache / f"{stem}{python}.tar")
    report(f"made {layer} in {time.monotonic() - begun:.0f} s")
    return DebianLayer(layer, python)
