"""The files of configMap, secret, downwardAPI and projected volumes (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from devcluster.process_node.environment import Data, Sources, Surroundings
from devcluster.process_node.errors import ConfigError
from devcluster.process_node.fields import field_value, resource_value
from devcluster.process_node.spec import PodObject
from devcluster.process_node.volumes import DownwardFiles, Files, ObjectFiles, Projection, TokenFile


@dataclass(frozen=True, slots=True)
class File:
    """One file of a volume."""

    content: bytes
    mode: int


def files(
    pod: PodObject,
    plan: Files,
    sources: Sources,
    around: Surroundings,
    tokens: Mapping[TokenFile, str],
) -> dict[str, File]:
    """Return the files of a volume by their path in it; later sources win.

    Raises:
        ConfigError: An object or key that is not optional is missing, or a path leaves the volume.
    """
    found: dict[str, File] = {}
    for source in plan.sources:
        found |= _files_of(pod, source, plan.mode, sources, around)
        if source.service_account_token is not None:
            token = source.service_account_token
            found[token.path] = File(tokens[token].encode(), 0o600 if plan.mode == 0 else plan.mode)
    for path in found:
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise ConfigError(f"path {path!r} leaves its volume")
    return found


def _files_of(
    pod: PodObject, source: Projection, mode: int, sources: Sources, around: Surroundings
) -> dict[str, File]:
    found: dict[str, File] = {}
    if source.config_map is not None:
        store = sources.config_maps
        found |= _object_files("configmap", source.config_map.name, source.config_map, store, mode)
    if source.secret is not None:
        name = source.secret.name or source.secret.secret_name
        found |= _object_files("secret", name, source.secret, sources.secrets, mode)
    if source.downward_api is not None:
        found |= _downward_files(pod, source.downward_api, around, mode)
    return found


def _object_files(
    kind: str, name: str, wanted: ObjectFiles, store: Mapping[str, Data | None], mode: int
) -> dict[str, File]:
    data = store.get(name)
    if data is None:
        if wanted.optional:
            return {}
        raise ConfigError(f'{kind} "{name}" not found')
    if wanted.items is None:
        return {key: File(value, mode) for key, value in data.items()}
    missing = [item.key for item in wanted.items if item.key not in data]
    if missing and not wanted.optional:
        raise ConfigError(f'{kind} "{name}" has no key "{missing[0]}"')
    return {
        item.path: File(data[item.key], mode if item.mode is None else item.mode)
        for item in wanted.items
        if item.key in data
    }


def _downward_files(
    pod: PodObject, wanted: DownwardFiles, around: Surroundings, mode: int
) -> dict[str, File]:
    found = {}
    for item in wanted.items or ():
        if item.field_ref is not None:
            text = field_value(pod, item.field_ref.field_path, around.addresses)
        elif item.resource_field_ref is not None:
            text = resource_value(pod, "", item.resource_field_ref, around.allocatable)
        else:
            raise ConfigError(f"downwardAPI file {item.path!r} has no source")
        found[item.path] = File(text.encode(), mode if item.mode is None else item.mode)
    return found
