"""Prometheus and promtool: from PATH, from SHUNTYARD_ASSETS, or unpacked from Debian's package.

apt-get downloads the package into the cache, where it is unpacked: nothing is installed, and root
is not needed. Package lists are kept there too, so that it works without ``apt-get update``.
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


def find(name: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of a program; None if it is missing."""
    given = Path(environ.get(ASSETS) or os.devnull) / name
    if given.is_file():
        return given
    on_path = shutil.which(name, path=environ.get("PATH"))
    if on_path is not None:
        return Path(on_path)
    unpacked = _home(environ) / "usr/bin" / name
    return unpacked if unpacked.is_file() else None


def need(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of a program.

    Raises:
        ProgramError: It is missing; the message names the command that gets it.
    """
    program = find(name, environ)
    if program is None:
        raise ProgramError(f"{name} is missing; `{COMMAND}` gets it from Debian")
    return program


def get(report: Callable[[str], None], environ: Mapping[str, str] = os.environ) -> None:
    """Get both programs unless they are there.

    Raises:
        ProgramError: One is missing, and apt cannot get it.
    """
    if all(find(name, environ) for name in PROGRAMS):
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
        raise ProgramError(f"{PACKAGE} cannot be installed: {error}") from error
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(command[:1])} failed:\n{done.stderr.strip()}")


def _home(environ: Mapping[str, str]) -> Path:
    cache = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "shuntyard" / PACKAGE
