"""Requirements of real nodes on the machine, and installing their Debian packages on request."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from devcluster.errors import MachineError
from devcluster.real_nodes import control_groups
from devcluster.real_nodes.commands import succeeds

VARIABLE: Final = "SHUNTYARD_INSTALL_PACKAGES"
"""``1`` makes ``up`` and the tests install missing packages."""
COMMAND: Final = "python -m devcluster install-real-nodes"
PACKAGES: Final = (
    "busybox-static",
    "containerd",
    "containernetworking-plugins",
    "debootstrap",
    "e2fsprogs",
    "iproute2",
    "mount",
    "nftables",
    "runc",
    "util-linux",
)
_QUERY: Final = ("dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n")
# Nothing is removed for them, and nothing that Debian only recommends comes along.
_INSTALL: Final = ("apt-get", "install", "--yes", "--no-install-recommends", "--no-remove")


def missing() -> tuple[str, ...]:
    """Return the packages that are not installed; all of them where there is no dpkg."""
    try:
        done = subprocess.run([*_QUERY, *PACKAGES], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return PACKAGES
    lines = (line.split() for line in done.stdout.splitlines())
    installed = {name for name, status in lines if status == "installed"}
    return tuple(name for name in PACKAGES if name not in installed)


def requested(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment asks for the packages to be installed."""
    return environ.get(VARIABLE) == "1"


def install(names: tuple[str, ...], report: Callable[[str], None]) -> None:
    """Install packages by apt-get, from where this machine's apt gets its packages.

    Raises:
        MachineError: It failed; the message ends with the output of apt-get.
    """
    report(f"installing {', '.join(names)} by apt-get")
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*_INSTALL, *names]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    except FileNotFoundError:
        raise MachineError("there is no apt-get: real nodes need Debian or Ubuntu") from None
    if done.returncode != 0:
        output = done.stderr.strip() or done.stdout.strip()
        raise MachineError(f"{' '.join(command)} failed (is `apt-get update` due?):\n{output}")


_LOOP: Final = Path("/dev/loop-control")
_NAMESPACES: Final = ("--net", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork")


def why_not(
    environ: Mapping[str, str] = os.environ, report: Callable[[str], None] = print
) -> tuple[str, ...]:
    """Return why there can be no real nodes here; nothing if there can.

    Packages are installed first if `VARIABLE` says so.

    Raises:
        MachineError: They could not be installed.
    """
    if sys.platform != "linux":
        return ("this is not Linux",)
    if os.geteuid() != 0:
        return ("you are not root",)
    lacking = missing()
    if lacking and requested(environ):
        install(lacking, report)
        lacking = missing()
    return (*_packages(lacking), *_kernel())


def require(report: Callable[[str], None] = print) -> None:
    """Make sure that there can be real nodes here.

    Raises:
        MachineError: There cannot; the message has the reasons.
    """
    reasons = why_not(os.environ, report)
    if reasons:
        raise MachineError(f"no real nodes here: {'; '.join(reasons)}")


def _packages(lacking: tuple[str, ...]) -> tuple[str, ...]:
    if not lacking:
        return ()
    how = f"`{COMMAND}` or {VARIABLE}=1 installs them"
    return (f"Debian packages are missing: {', '.join(lacking)} ({how})",)


def _kernel() -> tuple[str, ...]:
    reasons = []
    if not control_groups.version_1():
        reasons.append("control groups are of version 2 only, which is untested")
    if not succeeds("unshare", *_NAMESPACES, "true"):
        reasons.append("the kernel does not let you make namespaces (`unshare`)")
    if not _LOOP.exists():
        reasons.append(f"there are no loop devices ({_LOOP})")
    return tuple(reasons)
