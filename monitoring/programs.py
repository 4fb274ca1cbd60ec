"""Prometheus and promtool: from PATH, from SHUNTYARD_ASSETS, or unpacked from Debian's package.

The package is downloaded by apt-get into the cache and unpacked there: nothing is installed, and
no right of root is needed. With package lists of our own, so that it works on a machine that never
ran ``apt-get update``.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from monitoring.errors import ProgramError

PACKAGE: Final = "prometheus"
PROGRAMS: Final = ("prometheus", "promtool")
ASSETS: Final = "SHUNTYARD_ASSETS"
COMMAND: Final = "python -m monitoring programs"
_SECONDS: Final = 300.0


def found(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return a program that is here; None if it is not."""
    given = Path(environ.get(ASSETS) or os.devnull) / name
    if given.is_file():
        return given
    on_path = shutil.which(name, path=environ.get("PATH"))
    if on_path is not None:
        return Path(on_path)
    unpacked = _home(environ) / "usr/bin" / name
    return unpacked if unpacked.is_file() else None


def need(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return a program that is here.

    Raises:
        ProgramError: It is not; the message names the command that gets it.
    """
    program = found(name, environ)
    if program is None:
        raise ProgramError(f"{name} is not here; `{COMMAND}` gets it from Debian")
    return program


def get(report: Callable[[str], None], environ: Mapping[str, str] = os.environ) -> None:
    """Make sure that both programs are here.

    Raises:
        ProgramError: They are not, and this machine's apt does not have them.
    """
    if all(found(name, environ) for name in PROGRAMS):
        return
    report(f"getting the Debian package {PACKAGE}, which has {' and '.join(PROGRAMS)}")
    home = _home(environ)
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f"{home.name}.") as workplace:
        root = Path(workplace) / "root"
        _run(["dpkg-deb", "--extract", str(_download(Path(workplace))), str(root)])
        shutil.rmtree(home, ignore_errors=True)
        root.rename(home)


def _download(workplace: Path) -> Path:
    (workplace / "lists/partial").mkdir(parents=True)
    (workplace / "cache/archives/partial").mkdir(parents=True)
    options = [
        *("-o", f"Dir::State::Lists={workplace / 'lists'}"),
        *("-o", f"Dir::Cache={workplace / 'cache'}"),
        *("-o", "APT::Sandbox::User=root", "-q"),
    ]
    _run(["apt-get", *options, "update"])
    _run(["apt-get", *options, "download", PACKAGE], workplace)
    return next(workplace.glob("*.deb"))


def _run(command: list[str], folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"{PACKAGE} cannot be had here: {error}") from error
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(command[:1])} failed:\n{done.stderr.strip()}")


def _home(environ: Mapping[str, str]) -> Path:
    cache = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "shuntyard" / PACKAGE
