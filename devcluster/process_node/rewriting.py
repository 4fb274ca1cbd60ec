"""Mount paths in texts replaced by host paths, for machines without mount namespaces (pure)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from devcluster.process_node.errors import RefusedError

# Programs look here without being told; nobody can redirect them by rewriting texts.
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
    """Make sure that a container can work when only its texts are rewritten.

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
