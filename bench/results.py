"""Files of results: the rows of one command, with machine and versions."""

import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from devcluster.programs.versions import DEFAULT_KUBERNETES, release
from shared.system_clock import SystemClock

Row = Mapping[str, Any]
_CPU_FILE: Final = Path("/proc/cpuinfo")
_BUSY_LOAD: Final = 0.5
"""Load average per core before a run above which the file notes a busy machine."""
_LOAD_BEFORE: Final = os.getloadavg()[0]


def write(
    file: Path, rows: Sequence[Row], *, kubernetes: str = DEFAULT_KUBERNETES, **more: object
) -> None:
    """Write the rows as JSON, with the fields of ``more`` beside them.

    Args:
        file: Where to.
        rows: What was measured.
        kubernetes: The version that took part.
        more: Further fields.
    """
    content = {
        "command": _command(),
        "machine": machine(),
        "versions": versions(kubernetes),
        "at": SystemClock().now(),
        "busy": (os.cpu_count() or 1) * _BUSY_LOAD < _LOAD_BEFORE,
        **more,
        "rows": list(rows),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def machine() -> dict[str, Any]:
    """Return the properties of the machine that the numbers depend on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.release()}",
    }


def versions(kubernetes: str) -> dict[str, str]:
    """Return the versions of the programs involved, with this version of Kubernetes."""
    programs = release(kubernetes)
    return {
        "kubernetes": kubernetes,
        "etcd": programs["etcd"].version,
        "coscheduling": f"0.34.7 on Kubernetes {programs['coscheduling'].version}",
        "python": platform.python_version(),
    }


def _command() -> str:
    return shlex.join(["python", "-m", "bench", *sys.argv[1:]])


def _cpu() -> str:
    lines = _CPU_FILE.read_text().splitlines() if _CPU_FILE.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
