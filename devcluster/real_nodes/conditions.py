"""What a machine must be and have for real nodes; what is lacking is said in words."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.real_nodes import control_groups, packages
from devcluster.real_nodes.commands import succeeds

_LOOP: Final = Path("/dev/loop-control")
_NAMESPACES: Final = ("--net", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork")


def why_not(
    environ: Mapping[str, str] = os.environ, report: Callable[[str], None] = print
) -> tuple[str, ...]:
    """Return why there can be no real nodes here; nothing if there can.

    Packages are installed first if `packages.VARIABLE` says so.

    Raises:
        MachineError: They could not be installed.
    """
    if sys.platform != "linux":
        return ("this is not Linux",)
    if os.geteuid() != 0:
        return ("you are not root",)
    lacking = packages.missing()
    if lacking and packages.wanted(environ):
        packages.install(lacking, report)
        lacking = packages.missing()
    return (*_packages(lacking), *_kernel())


def require(report: Callable[[str], None] = print) -> None:
    """Make sure that there can be real nodes here.

    Raises:
        MachineError: There cannot; the message says why.
    """
    reasons = why_not(os.environ, report)
    if reasons:
        raise MachineError(f"no real nodes here: {'; '.join(reasons)}")


def _packages(lacking: tuple[str, ...]) -> tuple[str, ...]:
    if not lacking:
        return ()
    how = f"`{packages.COMMAND}` or {packages.VARIABLE}=1 installs them"
    return (f"Debian packages are missing: {', '.join(lacking)} ({how})",)


def _kernel() -> tuple[str, ...]:
    reasons = []
    if not control_groups.version_1():
        reasons.append("control groups are of version 2 only, which nobody has tried yet")
    if not succeeds("unshare", *_NAMESPACES, "true"):
        reasons.append("the kernel does not let you make namespaces (`unshare`)")
    if not _LOOP.exists():
        reasons.append(f"there are no loop devices ({_LOOP})")
    return tuple(reasons)
