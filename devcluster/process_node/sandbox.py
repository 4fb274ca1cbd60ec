"""A container's view of the machine: one of three modes, and the input of its entry program.

================  ==================================================================================
mode              what a container gets
================  ==================================================================================
privileged        a mount and UTS namespace: volumes at their real paths, its own host name and
                  ``/etc/hosts``; needs CAP_SYS_ADMIN
user-namespace    the same inside a user namespace; needs no privilege, where the kernel allows it
rewrite           no namespace: mount paths in command, args, env and workingDir become host paths;
                  names of headless Services are in the file that SHUNTYARD_HOSTS_FILE names and
                  are not resolved; ``readOnly`` and the host name have no effect
================  ==================================================================================

In every mode the machine's own files are visible and writable, as far as its user may.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from devcluster.process_node.errors import RefusedError

# Programs use this path by default; rewriting texts cannot redirect them.
_SYSTEM_PLACES: Final = tuple(
    PurePosixPath(f"/{name}")
    for name in ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "sbin", "sys", "usr")
)
# ServiceAccount admission mounts it into every pod; most never read it: no reason to refuse.
TOKEN_PLACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
TOKEN_VARIABLE: Final = "SHUNTYARD_SERVICEACCOUNT_DIRECTORY"  # noqa: S105 - a variable's name


def rewrite(text: str, places: Mapping[str, str]) -> str:
    """Return ``text`` with each whole occurrence of a mount path replaced by its host path.

    ``/data`` matches in ``/data``, ``--dir=/data/x``, ``a:/data`` and ``file:///data``, not in
    ``/database``, ``/mnt/data`` or ``./data``. The longest mount path wins.
    """
    if not places:
        return text
    paths = "|".join(re.escape(path) for path in sorted(places, key=len, reverse=True))
    pattern = rf"(?:(?<=://)|(?<![\w./-]))(?:{paths})(?=/|[^\w.-]|\.?$)"
    return re.sub(pattern, lambda match: places[match.group(0)], text)


def refuse_unworkable(container: str, places: Iterable[str], texts: Sequence[str]) -> None:
    """Check that a container can work when only its texts are rewritten.

    Raises:
        RefusedError: A mount path is ``/`` or below a directory of the system, or no command,
            argument or variable mentions it, so that the program would not find the volume.
    """
    for place in places:
        if place == TOKEN_PLACE:
            continue
        path = PurePosixPath(place)
        if place == "/" or any(path.is_relative_to(system) for system in _SYSTEM_PLACES):
            problem = "lies in a directory of the system"
        elif all(rewrite(text, {place: ""}) == text for text in texts):
            problem = "is mentioned by no command, argument or variable"
        else:
            continue
        raise RefusedError(
            "MountNotSupported",
            f"container {container}: mountPath {place} {problem}; without mount namespaces a "
            "process node can only rewrite paths in command, args and env",
        )


PRIVILEGED: Final = "privileged"
USER_NAMESPACE: Final = "user-namespace"
REWRITE: Final = "rewrite"
ENTRY: Final = Path(__file__).with_name("sandbox_entry.py")
_PROBE_SECONDS: Final = 20.0
_STDERR: Final = 2
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mount:
    """A host path at a path of the container."""

    path: str
    source: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """What ``sandbox_entry`` reads; ``argv`` and ``environment`` are the container's."""

    mode: str
    argv: list[str]
    environment: dict[str, str]
    working_directory: str
    hostname: str
    new_root: str
    mounts: list[Mount] = field(default_factory=list)
    cgroup_files: list[str] = field(default_factory=list)
    parent: int = field(default_factory=os.getpid)


def entry_command(spec: EntrySpec, file: Path, channel: int) -> list[str]:
    """Write the spec for the entry program; return how to start it. ``channel``: see the entry."""
    Path(spec.new_root).mkdir(parents=True, exist_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)  # it holds the container's variables, secrets among them
    file.write_bytes(msgspec.json.encode(spec))
    return [sys.executable, "-I", "-S", str(ENTRY), str(file), str(channel)]


def detect(directory: Path) -> str:
    """Return the best mode that works here, found by running ``true`` with a mount in each.

    Blocks for some tens of milliseconds: call it before the event loop runs.
    """
    for mode in (PRIVILEGED, USER_NAMESPACE):
        problem = probe(mode, directory)
        if problem is None:
            return mode
        logger.info("sandbox mode %s does not work here: %s", mode, problem)
    return REWRITE


def probe(mode: str, directory: Path) -> str | None:
    """Return why a mode does not work here; None if it does."""
    own = directory / "probe"
    source = own / "volume"
    source.mkdir(parents=True, exist_ok=True)
    spec = EntrySpec(
        mode=mode,
        argv=["/bin/sh", "-c", "test -d /shuntyard-probe/mounted"],
        environment={},
        working_directory="/",
        hostname="probe",
        new_root=str(own / "root"),
        mounts=[Mount("/shuntyard-probe/mounted", str(source), read_only=True)],
    )
    command = entry_command(spec, own / "entry.json", _STDERR)
    ended = subprocess.run(
        command, check=False, capture_output=True, timeout=_PROBE_SECONDS, text=True
    )
    shutil.rmtree(own)
    return None if ended.returncode == 0 else (ended.stderr.strip() or f"exit {ended.returncode}")
