"""The files of configMap, secret, downwardAPI and projected volumes (pure)."""

import itertools
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from devcluster.process_node.environment import (
    Data,
    Sources,
    Surroundings,
    field_value,
    resource_value,
)
from devcluster.process_node.errors import ConfigError
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
    kind: str, name: str, files: ObjectFiles, store: Mapping[str, Data | None], mode: int
) -> dict[str, File]:
    data = store.get(name)
    if data is None:
        if files.optional:
            return {}
        raise ConfigError(f'{kind} "{name}" not found')
    if files.items is None:
        return {key: File(value, mode) for key, value in data.items()}
    missing = [item.key for item in files.items if item.key not in data]
    if missing and not files.optional:
        raise ConfigError(f'{kind} "{name}" has no key "{missing[0]}"')
    return {
        item.path: File(data[item.key], mode if item.mode is None else item.mode)
        for item in files.items
        if item.key in data
    }


def _downward_files(
    pod: PodObject, files: DownwardFiles, around: Surroundings, mode: int
) -> dict[str, File]:
    found = {}
    for item in files.items or ():
        if item.field_ref is not None:
            text = field_value(pod, item.field_ref.field_path, around.addresses)
        elif item.resource_field_ref is not None:
            text = resource_value(pod, "", item.resource_field_ref, around.allocatable)
        else:
            raise ConfigError(f"downwardAPI file {item.path!r} has no source")
        found[item.path] = File(text.encode(), mode if item.mode is None else item.mode)
    return found


_DATA: Final = "..data"


def write(directory: Path, files: Mapping[str, File]) -> bool:
    """Make ``directory`` hold exactly ``files``; True if something changed."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / _DATA
    if data.is_symlink() and _holds(data, files):
        return False
    version = _next_version(directory)
    for name, file in files.items():
        path = version / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    before = data.resolve() if data.is_symlink() else None
    fresh = directory / "..data_tmp"
    fresh.symlink_to(version.name)
    fresh.replace(data)
    _link_names(directory, {PurePosixPath(name).parts[0] for name in files})
    if before is not None:
        shutil.rmtree(before)
    return True


def _next_version(directory: Path) -> Path:
    for number in itertools.count(1):
        version = directory / f"..version_{number}"
        if not version.exists():
            version.mkdir(mode=0o755)
            return version
    raise AssertionError("counting does not end")


def _holds(data: Path, files: Mapping[str, File]) -> bool:
    present = {str(path.relative_to(data)): path for path in data.rglob("*") if path.is_file()}
    return present.keys() == files.keys() and all(
        path.read_bytes() == files[name].content for name, path in present.items()
    )


def _link_names(directory: Path, names: set[str]) -> None:
    for path in directory.iterdir():
        if not path.name.startswith("..") and path.name not in names:
            path.unlink()
    for name in names:
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(Path(_DATA) / name)
