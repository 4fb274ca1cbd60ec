"""The images of real nodes, made here, without a registry.

============================  =================================================================
image                         content
============================  =================================================================
``localhost/pause:1``         busybox, waiting: what holds a pod's namespaces
``localhost/busybox:1``       Debian's busybox-static
``localhost/shuntyard:1``     Debian with Python, the agent's dependencies as wheels, and this
                              checkout's agent, trainer library and examples as they were at ``up``
============================  =================================================================

The Debian layer and the wheels are kept in the cache of the built programs; the rest takes a
second.
"""

import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.local.state import alone
from devcluster.programs.assets import cache_directory
from devcluster.real_nodes import oci_archive
from devcluster.real_nodes.commands import run
from devcluster.real_nodes.debian import debian_layer

_COPY: Final = "COPY "
_OF_A_STAGE: Final = "--from="
_LENGTH: Final = 16


def key(root: Path, dockerfile: Path, base: str) -> str:
    """Return a hash of the files that a Dockerfile copies, itself, and its base.

    Args:
        root: The directory that it copies from.
        dockerfile: Its path.
        base: Id of the base image.
    """
    digest = hashlib.sha256(f"{base}\n".encode())
    for file in (dockerfile, *_copied(root, dockerfile.read_text())):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:_LENGTH]


def _copied(root: Path, dockerfile: str) -> Iterator[Path]:
    """Yield the files in the order of the Dockerfile's lines."""
    for line in dockerfile.splitlines():
        if line.startswith(_COPY) and _OF_A_STAGE not in line:
            for name in line.split()[1:-1]:
                yield from _files(root / name)


def _files(place: Path) -> Iterator[Path]:
    """Yield a file, or those of a directory without Python's caches (.dockerignore)."""
    if not place.is_dir():
        yield place
        return
    for file in sorted(place.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


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


PAUSE: Final = "localhost/pause:1"
BUSYBOX: Final = "localhost/busybox:1"
SHUNTYARD: Final = "localhost/shuntyard:1"
CODE: Final = "/opt/shuntyard"
"""Where the checkout's packages are in `SHUNTYARD`; on its PYTHONPATH."""
_ROOT: Final = Path(__file__).parents[2]
_PACKAGES: Final = ("agent", "shared", "examples", "trainer/shuntyard_trainer")
_PROJECTS: Final = ("pyproject.toml", "trainer/pyproject.toml")
_BUSYBOX_FILE: Final = Path("/bin/busybox")
_WAITING: Final = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait; done"
_AGENT: Final = b'#!/bin/sh\nexec python3 -m agent "$@"\n'
_EXECUTABLE: Final = 0o755
_READABLE: Final = 0o644


def ensure_layers(
    report: Callable[[str], None], environ: Mapping[str, str] = os.environ
) -> tuple[Path, ...]:
    """Return the lower layers of `SHUNTYARD`, made and cached if missing.

    Raises:
        MachineError: debootstrap or pip failed.
    """
    cache = cache_directory(environ) / "real-nodes"
    cache.mkdir(parents=True, exist_ok=True)
    with alone(cache / "build.lock"):
        debian = debian_layer(cache, report)
        return debian.layer, wheel_layer(cache, debian.python, report)


def write_images(directory: Path, report: Callable[[str], None]) -> tuple[Path, ...]:
    """Write all images into a directory and return their files.

    Raises:
        MachineError: One could not be made.
    """
    layers = ensure_layers(report)
    directory.mkdir(parents=True, exist_ok=True)
    busybox = _busybox_layer(directory / "busybox.layer")
    code = _code_layer(directory / "code.layer")
    python = {"PYTHONPATH": CODE, "PYTHONUNBUFFERED": "1"}
    return (
        oci_archive.write(
            directory / "pause.tar", PAUSE, [busybox], command=["/bin/sh", "-c", _WAITING]
        ),
        oci_archive.write(directory / "busybox.tar", BUSYBOX, [busybox], command=["/bin/sh"]),
        oci_archive.write(
            directory / "shuntyard.tar",
            SHUNTYARD,
            [*layers, code],
            command=["python3"],
            environ=python,
        ),
    )


def _busybox_layer(layer: Path) -> Path:
    done = subprocess.run([_BUSYBOX_FILE, "--list"], capture_output=True, text=True, check=True)
    with tarfile.open(layer, "w") as tar:
        for name in ("bin", "etc", "tmp"):
            _add_directory(tar, name, 0o1777 if name == "tmp" else _EXECUTABLE)
        tar.add(_BUSYBOX_FILE.resolve(), "bin/busybox")
        for name in done.stdout.split():
            if name != "busybox":
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
    return layer


def _code_layer(layer: Path) -> Path:
    with tarfile.open(layer, "w") as tar:
        for package in _PACKAGES:
            source = _ROOT / package
            if not source.is_dir():
                raise MachineError(f"{source} is missing; real nodes need a whole checkout")
            tar.add(source, f"{CODE[1:]}/{source.name}", filter=_as_roots)
        for project in _PROJECTS:
            name, text = metadata((_ROOT / project).read_text())
            _add_file(tar, f"{CODE[1:]}/{name}.dist-info/METADATA", text.encode(), _READABLE)
        _add_file(tar, "usr/local/bin/shuntyard-agent", _AGENT, _EXECUTABLE)
    return layer


def metadata(pyproject: str) -> tuple[str, str]:
    """Return stem and text of a distribution's metadata: name and version."""
    project = tomllib.loads(pyproject)["project"]
    name, version = project["name"], project["version"]
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return f"{name.replace('-', '_')}-{version}", text


def _as_roots(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if info.name.endswith("__pycache__"):
        return None
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode |= stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
    return info


def _add_file(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(content)
    tar.addfile(info, io.BytesIO(content))


def _add_directory(tar: tarfile.TarFile, name: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, mode
    tar.addfile(info)
