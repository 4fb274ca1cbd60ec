"""The layer with the agent's dependencies: the wheels of its lock, kept in the cache."""

import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.real_nodes.commands import run

_LOCK: Final = Path(__file__).parents[2] / "requirements/agent.txt"
_SECONDS: Final = 600.0


def wheel_layer(cache: Path, python: str, report: Callable[[str], None]) -> Path:
    """Return the layer for a version of Python; the caller holds the cache's lock.

    Raises:
        MachineError: This is not a checkout, or pip or tar failed.
    """
    try:
        lock = _LOCK.read_bytes()
    except FileNotFoundError as error:
        raise MachineError(f"{error.filename} is missing; real nodes need a checkout") from None
    key = hashlib.sha256(repr((lock, python)).encode()).hexdigest()[:12]
    layer = cache / f"wheels-{key}.tar"
    if not layer.exists():
        report(f"installing the agent's dependencies for Python {python} into an image (once)")
        _make(layer, python)
    return layer


def _make(layer: Path, python: str) -> None:
    root, partial = layer.with_name("wheels"), layer.with_suffix(".partial")
    shutil.rmtree(root, ignore_errors=True)  # of a build that was killed
    target = root / f"usr/local/lib/python{python}/dist-packages"
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:")
    place = ("--target", str(target), "--python-version", python)
    locked = ("--require-hashes", "--requirement", str(_LOCK))
    pip = (sys.executable, "-m", "pip", "install")
    try:
        run(*pip, *options, *place, *locked, seconds=_SECONDS)
        if python == f"{sys.version_info.major}.{sys.version_info.minor}":
            run(sys.executable, "-m", "compileall", "-q", str(target), seconds=_SECONDS)
        owner = ("--numeric-owner", "--owner=0", "--group=0")
        run("tar", *owner, "--directory", str(root), "-cf", str(partial), ".", seconds=_SECONDS)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    partial.rename(layer)
