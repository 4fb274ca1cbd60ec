"""A small Debian root directory, made from this machine's apt sources, and its image layer."""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.real_nodes.commands import run

PACKAGES: Final = ("python3", "ca-certificates")
_RELEASE_FILE: Final = Path("/etc/os-release")
_SECONDS: Final = 1200.0
_UNUSED: Final = (
    "usr/share/doc",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
)
# debootstrap mounts /proc in the root and would leave it there if it were killed.
ALONE: Final = (
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("--propagation", "private", "--"),
)


def suite(text: str | None = None) -> str:
    """Return the code name of this machine's release, e.g. ``bookworm``.

    Args:
        text: As of ``/etc/os-release``; None: that file.

    Raises:
        MachineError: It has none.
    """
    lines = (text or _RELEASE_FILE.read_text()).splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    name = values.get("VERSION_CODENAME", "").strip('"')
    if not name:
        raise MachineError(f"{_RELEASE_FILE} has no VERSION_CODENAME: which Debian is this?")
    return name


def mirror(release: str) -> str:
    """Return where apt gets the main packages of a release from.

    Raises:
        MachineError: apt has no source for it.
    """
    targets = ("Created-By: Packages", "Component: main", "Identifier: Packages")
    lines = run("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", *targets)
    found = [line.split(" ", 1) for line in lines.splitlines()]
    for name, address in found:
        if name == release:
            return address
    raise MachineError(f"apt has no source for {release}; it has {[name for name, _ in found]}")


def make_root(root: Path, packages: Sequence[str] = PACKAGES) -> None:
    """Make a root directory with Python in it; takes most of a minute.

    Args:
        root: The directory; it must not exist yet.
        packages: Beside the essential packages.

    Raises:
        MachineError: debootstrap failed.
    """
    release = suite()
    options = ("--variant=minbase", f"--include={','.join(packages)}")
    place = (release, str(root), mirror(release))
    run(*ALONE, "debootstrap", *options, *place, seconds=_SECONDS)
    for name in _UNUSED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir()


def python_version(root: Path) -> str:
    """Return the version of the root's Python, e.g. ``3.11``."""
    return (root / "usr/bin/python3").readlink().name.removeprefix("python")


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
    stem = f"debian-{suite()}-python"
    found = [file for file in cache.glob(f"{stem}*.tar") if file.suffix == ".tar"]
    if found:
        return DebianLayer(found[0], found[0].stem.removeprefix(stem))
    report("making a Debian root with Python by debootstrap (once; most of a minute)")
    begun = time.monotonic()
    root, partial = cache / "root", cache / "debian.partial"
    shutil.rmtree(root, ignore_errors=True)  # of a build that was killed
    try:
        make_root(root)
        python = python_version(root)
        run("tar", "--numeric-owner", "--directory", str(root), "-cf", str(partial), ".")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    layer = partial.rename(cache / f"{stem}{python}.tar")
    report(f"made {layer} in {time.monotonic() - begun:.0f} s")
    return DebianLayer(layer, python)
