"""Names of the control groups that belong to a pod (pure).

==============================================================  ====================================
name of the pod's directory                                     who names it so
==============================================================  ====================================
``pod<uid>``                                                    kubelet, driver cgroupfs; the
                                                                devcluster's process nodes
``[<root>-]kubepods[-<qos>]-pod<uid, _ for ->.slice``           kubelet, driver systemd; ``<root>``
                                                                is ``kubelet`` in kind
==============================================================  ====================================

``<qos>`` is ``burstable`` or ``besteffort``, and missing for Guaranteed pods. What lies below
(``cri-containerd-<id>.scope``, ``crio-<id>.scope``, ``<id>``) are the pod's containers, whatever
the runtime calls them. A static pod's uid has 32 hexadecimal digits and no ``-``.

Source:
    kubernetes 1.36 ``pkg/kubelet/cm/cgroup_manager_linux.go`` (``ToSystemd``, ``escapeSystemd``)
    and ``pod_container_manager_linux.go`` (``GetPodContainerName``).
"""

import re
from typing import Final

_UID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CERTAIN: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_SLICE: Final = ".slice"
_POD: Final = re.compile(
    r"pod(?P<plain>[A-Za-z0-9-]+)"
    r"|(?:.+-)?kubepods(?:-burstable|-besteffort)?-pod(?P<escaped>[A-Za-z0-9_]+)\.slice"
)


def usable(uid: str) -> bool:
    """Say whether this can be a pod's uid; anything else never becomes a part of a path."""
    return _UID.fullmatch(uid) is not None


def uid_of(directory: str) -> str | None:
    """Return the uid in the name of a pod's directory; None if it is not one.

    A uid out of a ``.slice`` has its ``-`` back: no uid has ``_``.
    """
    found = _POD.fullmatch(directory)
    if found is None:
        return None
    uid = found["plain"] or found["escaped"].replace("_", "-")
    return uid if usable(uid) else None


def certain(uid: str) -> bool:
    """Say whether it is a uid as Kubernetes makes them; ``pods`` is hardly the pod of uid ``s``."""
    return _CERTAIN.fullmatch(uid) is not None


def below(parent: str, uid: str) -> str:
    """Return what the kubelet calls a pod's directory below a parent of that name."""
    if parent.endswith(_SLICE):
        return f"{parent.removesuffix(_SLICE)}-pod{uid.replace('-', '_')}{_SLICE}"
    return f"pod{uid}"
