"""The Debian packages that real nodes need, and installing them, which nobody does unasked."""

import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Final

from devcluster.errors import MachineError

VARIABLE: Final = "SHUNTYARD_INSTALL_PACKAGES"
"""``1`` lets ``up`` and the tests install what is missing."""

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


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment asks for the packages to be installed."""
    return environ.get(VARIABLE) == "1"


def install(names: tuple[str, ...], report: Callable[[str], None]) -> None:
    """Install packages by apt-get, from where this machine's apt gets its packages.

    Raises:
        MachineError: It did not work; the message ends with what apt-get said.
    """
    report(f"installing {', '.join(names)} by apt-get")
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*_INSTALL, *names]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    except FileNotFoundError:
        raise MachineError("there is no apt-get: real nodes need Debian or Ubuntu") from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        raise MachineError(f"{' '.join(command)} failed (is `apt-get update` due?):\n{said}")
