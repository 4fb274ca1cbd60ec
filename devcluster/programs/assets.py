"""The programs of the control plane: given, cached, found on the machine, or built."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devcluster.errors import AssetsError
from devcluster.programs import ready_programs
from devcluster.programs.building import build, find_go
from devcluster.programs.ready_programs import check
from devcluster.programs.versions import DEFAULT_KUBERNETES, Binary, release


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return ``$XDG_CACHE_HOME/shuntyard`` (default ``~/.cache/shuntyard``)."""
    home = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "shuntyard"


def ensure(
    names: frozenset[str],
    *,
    kubernetes: str = DEFAULT_KUBERNETES,
    report: Callable[[str], None] = print,
    environ: Mapping[str, str] = os.environ,
) -> Mapping[str, Path]:
    """Return the programs' files; build those that are nowhere.

    They are taken from SHUNTYARD_ASSETS, from the cache, from envtest's folder or PATH, in this
    order. What is taken from elsewhere than the cache is reported.

    Args:
        names: Of the programs, as in `devcluster.programs.versions`.
        kubernetes: Version without ``v``.
        report: Takes progress lines.
        environ: Holds SHUNTYARD_ASSETS, KUBEBUILDER_ASSETS, HOME, XDG_CACHE_HOME,
            XDG_DATA_HOME and PATH.

    Raises:
        AssetsError: A program in SHUNTYARD_ASSETS has another version (the message names the
            file and what was expected), or a build failed.
    """
    binaries = [binary for name, binary in release(kubernetes).items() if name in names]
    cache = cache_directory(environ)
    found = ready_programs.given(binaries, environ, report)
    found |= _cached(_without(binaries, found), cache, report)
    found |= ready_programs.installed(_without(binaries, found), environ, report)
    missing = _without(binaries, found)
    if missing:
        found |= _build(missing, cache, report, environ)
    return found


def is_cached(name: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if a program of the default versions was built before."""
    return _place(release(DEFAULT_KUBERNETES)[name], cache_directory(environ)).exists()


def _without(binaries: list[Binary], found: Mapping[str, Path]) -> list[Binary]:
    return [binary for binary in binaries if binary.name not in found]


def _cached(binaries: list[Binary], cache: Path, report: Callable[[str], None]) -> dict[str, Path]:
    def good(binary: Binary) -> bool:
        file = _place(binary, cache)
        if not file.exists():
            return False
        try:
            check(binary, file)
        except AssetsError as error:
            report(f"{error}; it will be built again")
            return False
        return True

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(good, binaries))
    return {
        binary.name: _place(binary, cache)
        for binary, usable in zip(binaries, results, strict=True)
        if usable
    }


def _place(binary: Binary, cache: Path) -> Path:
    return cache / binary.folder / binary.name


def _build(
    missing: list[Binary],
    cache: Path,
    report: Callable[[str], None],
    environ: Mapping[str, str],
) -> dict[str, Path]:
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache / "build.lock", report):
        # The previous holder of the lock may have built what is missing here.
        found = _cached(missing, cache, report)
        todo = [binary for binary in missing if binary.name not in found]
        if not todo:
            return found
        go = find_go(cache, report, environ)
        with _workplace(cache) as workplace:
            for number, binary in enumerate(todo, start=1):
                target = workplace / binary.name
                build(binary, go, target, report, f"{number} of {len(todo)}")
                check(binary, target)
                place = _place(binary, cache)
                place.parent.mkdir(exist_ok=True)
                target.replace(place)
                found[binary.name] = place
        return found


@contextlib.contextmanager
def _workplace(cache: Path) -> Iterator[Path]:
    """Yield a folder on the cache's file system, so that a rename from it is atomic."""
    workplace = cache / "building"
    shutil.rmtree(workplace, ignore_errors=True)  # leftovers of a killed build; we hold the lock
    workplace.mkdir()
    yield workplace
    shutil.rmtree(workplace)


@contextlib.contextmanager
def _alone(lock: Path, report: Callable[[str], None]) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another build is running; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
