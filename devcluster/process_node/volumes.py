"""Plans of a pod's volumes (pure), which ``volume_setup`` carries out.

=============================================  =====================================================
volume                                         here
=============================================  =====================================================
emptyDir                                       a directory of the pod; ``medium`` and ``sizeLimit``
                                               are not applied
hostPath                                       the path on this machine; ``type`` is checked
persistentVolumeClaim                          the hostPath or local path of its bound volume
configMap, secret, downwardAPI, projected      files of the pod, refreshed
everything else (csi, nfs, ephemeral, image)   refused: ``VolumeNotSupported``
=============================================  =====================================================
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from devcluster.process_node.errors import RefusedError
from devcluster.process_node.spec import FieldRef, PodObject, ResourceFieldRef, Wire

DEFAULT_MODE: Final = 0o644
DEFAULT_TOKEN_SECONDS: Final = 3600


class Item(Wire, frozen=True):
    """A key of a ConfigMap or Secret and the file it becomes."""

    key: str
    path: str
    mode: int | None = None


class DownwardItem(Wire, frozen=True):
    """A field of the pod and the file it becomes."""

    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    mode: int | None = None


class ObjectFiles(Wire, frozen=True):
    """Files from a ConfigMap or Secret; a secret volume has ``secretName`` instead of ``name``."""

    name: str = ""
    secret_name: str = ""
    items: tuple[Item, ...] | None = None
    optional: bool | None = None
    default_mode: int | None = None


class DownwardFiles(Wire, frozen=True):
    """Files from fields of the pod."""

    items: tuple[DownwardItem, ...] | None = None
    default_mode: int | None = None


class TokenFile(Wire, frozen=True):
    """A token of the pod's ServiceAccount as a file."""

    path: str
    audience: str | None = None
    expiration_seconds: int | None = None


class Projection(Wire, frozen=True):
    """One source of a projected volume."""

    config_map: ObjectFiles | None = None
    secret: ObjectFiles | None = None
    downward_api: DownwardFiles | None = msgspec.field(default=None, name="downwardAPI")
    service_account_token: TokenFile | None = None


class Projected(Wire, frozen=True):
    """A projected volume."""

    sources: tuple[Mapping[str, Any], ...] | None = None
    default_mode: int | None = None


class HostPath(Wire, frozen=True):
    """A path of this machine."""

    path: str
    type: str | None = None


class Claim(Wire, frozen=True):
    """A PersistentVolumeClaim by name."""

    claim_name: str
    read_only: bool | None = None


@dataclass(frozen=True, slots=True)
class EmptyDirectory:
    """A fresh directory that lives as long as the pod."""


@dataclass(frozen=True, slots=True)
class Files:
    """A directory of files from API objects and the pod itself."""

    sources: tuple[Projection, ...]
    mode: int


Plan = EmptyDirectory | HostPath | Claim | Files


def plan(pod: PodObject) -> dict[str, Plan]:
    """Return the plan of each volume of a pod, by name.

    Raises:
        RefusedError: A volume is of a kind that a process node does not have; names the volume.
    """
    plans = {}
    for volume in pod.spec.volumes or ():
        try:
            plans[volume["name"]] = _plan_volume(volume)
        except msgspec.ValidationError as error:
            raise _unsupported(volume["name"], f"unreadable: {error}") from error
    return plans


def _plan_volume(volume: Mapping[str, Any]) -> Plan:
    kinds = [key for key, value in volume.items() if key != "name" and value is not None]
    kind = kinds[0] if kinds else "emptyDir"
    match kind:
        case "emptyDir":
            return EmptyDirectory()
        case "hostPath":
            return msgspec.convert(volume[kind], HostPath)
        case "persistentVolumeClaim":
            return msgspec.convert(volume[kind], Claim)
        case "configMap" | "secret" | "downwardAPI":
            mode = volume[kind].get("defaultMode") or DEFAULT_MODE
            return Files((msgspec.convert({kind: volume[kind]}, Projection),), mode)
        case "projected":
            return _plan_projected(volume["name"], msgspec.convert(volume[kind], Projected))
        case _:
            raise _unsupported(volume["name"], kind)


def _plan_projected(name: str, projected: Projected) -> Files:
    for source in projected.sources or ():
        for kind in source:
            if kind not in {"configMap", "secret", "downwardAPI", "serviceAccountToken"}:
                raise _unsupported(name, f"projected {kind}")
    sources = msgspec.convert(projected.sources or (), tuple[Projection, ...])
    return Files(sources, projected.default_mode or DEFAULT_MODE)


def _unsupported(name: str, kind: str) -> RefusedError:
    return RefusedError(
        "VolumeNotSupported",
        f'volume "{name}" is of kind {kind}; a process node has emptyDir, hostPath, claims bound '
        "to hostPath or local volumes, configMap, secret, downwardAPI and projected",
    )


def object_names(plans: Mapping[str, Plan]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the ConfigMaps and Secrets that volumes are made of."""
    sources = [source for one in plans.values() if isinstance(one, Files) for source in one.sources]
    config_maps = {source.config_map.name for source in sources if source.config_map}
    secrets = {
        source.secret.name or source.secret.secret_name for source in sources if source.secret
    }
    return frozenset(config_maps), frozenset(secrets)
