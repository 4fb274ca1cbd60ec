"""The programs of the control plane: found in SHUNTYARD_ASSETS, in the cache, or built."""

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from devcluster.building import build, find_go
from devcluster.errors import AssetsError
from devcluster.versions import DEFAULT_KUBERNETES, Binary, release

VARIABLE: Final = "SHUNTYARD_ASSETS"
_CHECK_SECONDS: Final = 30.0


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
    """Return the programs' files; build those that are neither given nor cached.

    Args:
        names: Of the programs, as in `devcluster.versions`.
        kubernetes: Version without ``v``.
        report: Takes progress lines.
        environ: Holds SHUNTYARD_ASSETS, XDG_CACHE_HOME and PATH.

    Raises:
        AssetsError: A program in SHUNTYARD_ASSETS has another version (the message names the
            file and what was expected), or a build failed.
    """
    binaries = [binary for name, binary in release(kubernetes).items() if name in names]
    found = _given(binaries, environ)
    cache = cache_directory(environ)
    found |= _cached([binary for binary in binaries if binary.name not in found], cache, report)
    missing = [binary for binary in binaries if binary.name not in found]
    if missing:
        found |= _build(missing, cache, report, environ)
    return found


def reported_version(binary: Binary, file: Path) -> str:
    """Return the version that a program reports about itself.

    Raises:
        AssetsError: It cannot be run, or prints nothing that looks like a version.
    """
    try:
        done = subprocess.run(
            [file, "--version"], capture_output=True, text=True, check=False, timeout=_CHECK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AssetsError(
            f"{file} cannot be run ({error}); expected {binary.name} {binary.version}"
        ) from error
    match = binary.pattern.search(done.stdout + done.stderr)
    if match is None:
        raise AssetsError(
            f"{file} --version does not name a version; expected {binary.name} {binary.version}"
        )
    return match[1]


def check(binary: Binary, file: Path) -> None:
    """Make sure that a file is the program, in the version that is expected.

    Raises:
        AssetsError: It is not; the message names the file and what was expected.
    """
    version = reported_version(binary, file)
    if version != binary.version:
        raise AssetsError(f"{file} is version {version}; expected {binary.name} {binary.version}")


def _given(binaries: list[Binary], environ: Mapping[str, str]) -> dict[str, Path]:
    directory = environ.get(VARIABLE)
    if not directory:
        return {}
    if not Path(directory).is_dir():
        raise AssetsError(f"{VARIABLE}={directory} is not a directory")
    present = {binary: Path(directory) / binary.name for binary in binaries}
    present = {binary: file for binary, file in present.items() if file.exists()}
    with ThreadPoolExecutor() as pool:
        list(pool.map(check, present.keys(), present.values()))
    return {binary.name: file for binary, file in present.items()}


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
