"""Building one program from its wrapper module, with progress."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from devcluster.errors import AssetsError, tail
from devcluster.versions import Binary

MODULES: Final = Path(__file__).parent / "modules"
PROGRESS_SECONDS: Final = 10.0
"""How often a running build says that it is still running."""


def build(
    binary: Binary, go: Path, target: Path, report: Callable[[str], None], place: str
) -> None:
    """Build ``binary`` into the file ``target``.

    Args:
        binary: What to build.
        go: The Go program.
        target: Where the result goes; its folder exists. The build's output is beside it.
        report: Takes progress lines.
        place: Which of how many this is, e.g. ``2 of 5``.

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
    """Return what makes the result the same on every machine: no cgo, no paths, no workspace."""
    fixed = {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-trimpath -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    return {key: value for key, value in os.environ.items() if key != "GOROOT"} | fixed
