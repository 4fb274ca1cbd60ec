"""PersistentVolumes that are directories of this machine, and so the same on all real nodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Manifest = Mapping[str, Any]


def shared(namespace: str, claim: str, directory: Path) -> tuple[Manifest, Manifest]:
    """Return a volume for a directory that is there, and the claim that gets it.

    A volume has one claim, so a directory has a volume for each: ``<namespace>-<claim>``.
    """
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "1Gi"}  # nobody holds anybody to it
    place = {"hostPath": {"path": str(directory), "type": "Directory"}}
    name = f"{namespace}-{claim}"
    reference = {"namespace": namespace, "name": claim}
    return (
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {**common, **place, "capacity": size, "claimRef": reference},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": reference,
            "spec": {**common, "resources": {"requests": size}, "volumeName": name},
        },
    )
