"""A host name of their own for some components: a UTS namespace, which needs root."""

import shutil
import subprocess
from dataclasses import replace
from functools import cache
from typing import Final

from devcluster.errors import DevclusterError
from devcluster.state import Component

_TRY_SECONDS: Final = 10.0
_NAMED: Final = 'hostname "$0" && exec "$@"'


@cache
def missing() -> str:
    """Return why a process cannot have a host name of its own here; empty if it can."""
    programs = [shutil.which(name) for name in ("unshare", "hostname", "sh")]
    if not all(programs):
        return "unshare, hostname and sh are needed for a host name of its own"
    argv = [*_wrapped("probe"), shutil.which("true") or "true"]
    done = subprocess.run(argv, capture_output=True, timeout=_TRY_SECONDS, check=False)
    return "" if done.returncode == 0 else f"a host name of its own needs root: {done.stderr!r}"


def on_host(component: Component, name: str) -> Component:
    """Return the component as it runs under that host name; it stays one process.

    Raises:
        DevclusterError: This machine does not let us.
    """
    if reason := missing():
        raise DevclusterError(reason)
    return replace(component, argv=(*_wrapped(name), *component.argv))


def _wrapped(name: str) -> tuple[str, ...]:
    return (shutil.which("unshare") or "unshare", "--uts", "--", "/bin/sh", "-c", _NAMED, name)
