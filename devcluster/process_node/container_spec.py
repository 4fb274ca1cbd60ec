"""The command, variables and mounts of one container."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.process_node import sandbox
from devcluster.process_node.environment import Surroundings, command_line, environment, expand
from devcluster.process_node.errors import ConfigError
from devcluster.process_node.sandbox import REWRITE, EntrySpec, Mount
from devcluster.process_node.spec import Container, PodObject, VolumeMount
from devcluster.process_node.volume_setup import VolumeSetup

HOSTS_PATH: Final = "/etc/hosts"
HOSTS_VARIABLE: Final = "SHUNTYARD_HOSTS_FILE"


@dataclass(frozen=True, slots=True)
class PodPlace:
    """The directories of a pod on this machine."""

    directory: Path
    mode: str

    @property
    def hosts_file(self) -> Path:
        """Its hosts file."""
        return self.directory / "hosts"

    @property
    def home(self) -> Path:
        """Home and default working directory of its containers."""
        return self.directory / "home"


def build(
    pod: PodObject,
    container: Container,
    volumes: VolumeSetup,
    around: Surroundings,
    place: PodPlace,
    cgroup_files: list[str],
) -> EntrySpec:
    """Return what the entry program needs to become this container.

    Raises:
        ConfigError: A variable or mount cannot be made (yet).
        RefusedError: The paths of this pod cannot be rewritten.
    """
    values = environment(pod, container, volumes.sources, around)
    words = command_line(container, values)
    mounts = [_mount(one, volumes, values) for one in container.volume_mounts or ()]
    working_directory = container.working_dir or str(place.home)
    if place.mode == REWRITE:
        places = {mount.path: mount.source for mount in mounts}
        own = {one.name: values[one.name] for one in container.env or () if one.name in values}
        texts = [*words, *own.values(), working_directory]
        sandbox.refuse_unworkable(container.name, places, texts)
        values = {key: sandbox.rewrite(value, places) for key, value in values.items()}
        words = [sandbox.rewrite(word, places) for word in words]
        working_directory = sandbox.rewrite(working_directory, places)
        values[HOSTS_VARIABLE] = str(place.hosts_file)
        if sandbox.TOKEN_PLACE in places:
            values[sandbox.TOKEN_VARIABLE] = places[sandbox.TOKEN_PLACE]
        mounts = []
    else:
        mounts.append(Mount(HOSTS_PATH, str(place.hosts_file)))
    return EntrySpec(
        mode=place.mode,
        argv=words,
        environment=values,
        working_directory=working_directory,
        hostname=pod.hostname,
        new_root=str(place.directory / "root" / container.name),
        mounts=mounts,
        cgroup_files=cgroup_files,
    )


def _mount(one: VolumeMount, volumes: VolumeSetup, values: dict[str, str]) -> Mount:
    volume = volumes.places[one.name]
    below = expand(one.sub_path_expr, values) if one.sub_path_expr else one.sub_path or ""
    source = (volume / below).resolve() if below else volume
    if below and not source.is_relative_to(volume.resolve()):
        raise ConfigError(f'subPath {below!r} leaves volume "{one.name}"')
    read_only = bool(one.read_only) or volumes.read_only(one.name)
    if not source.exists():
        if read_only:
            raise ConfigError(f'subPath {below!r} does not exist in volume "{one.name}"')
        source.mkdir(parents=True)
    return Mount(one.mount_path.rstrip("/") or "/", str(source), read_only)
