"""Creates the volumes of a pod on disk, and keeps their files up to date."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from devcluster.process_node import volume_files, volumes
from devcluster.process_node.api import NodeApi
from devcluster.process_node.environment import Sources, Surroundings, references
from devcluster.process_node.errors import ConfigError, RefusedError
from devcluster.process_node.spec import PodObject
from devcluster.process_node.volumes import Claim, EmptyDirectory, Files, HostPath, Plan, TokenFile
from shared.clock import Clock
from shared.kube import stamps

REFRESH_SECONDS: Final = 60.0
TOKEN_LIFE_RATIO: Final = 0.8  # the kubelet renews a token at 80 % of its life
_TYPE_TESTS: Final = {
    "Directory": Path.is_dir,
    "File": Path.is_file,
    "Socket": Path.is_socket,
    "CharDevice": Path.is_char_device,
    "BlockDevice": Path.is_block_device,
}


class VolumeSetup:
    """The volumes of one pod.

    Args:
        pod: The pod.
        directory: Where its own volumes live.
        api: Where objects, claims and tokens come from.
        around: What downward files may name.
        clock: For the life of tokens.

    Attributes:
        places: Host path of each volume, by name; empty before ``make``.
        sources: The ConfigMaps and Secrets that the pod names, as fetched last.
    """

    def __init__(
        self,
        pod: PodObject,
        directory: Path,
        api: NodeApi,
        around: Surroundings,
        clock: Clock,
    ) -> None:
        self.pod = pod
        self.places: dict[str, Path] = {}
        self.sources = Sources()
        self._plans: dict[str, Plan] = {}
        self._directory = directory
        self._api = api
        self._around = around
        self._clock = clock
        self._tokens: dict[TokenFile, tuple[str, float]] = {}

    async def make(self) -> None:
        """Fetch the sources and create every volume; may be called again after an error.

        Raises:
            ConfigError: Something is missing (yet); names the volume or object.
            RefusedError: A volume is of a kind that a process node does not have.
        """
        self._plans = volumes.plan(self.pod)
        await self._fetch()
        for name, plan in self._plans.items():
            try:
                self.places[name] = await self._make_one(name, plan)
            except (ConfigError, OSError) as error:
                message = f'MountVolume.SetUp failed for volume "{name}": {error}'
                raise ConfigError(message) from error

    async def refresh(self) -> None:
        """Fetch again, and rewrite the files that have changed.

        Raises:
            ConfigError: Something is missing now; the files stay as they were.
        """
        await self._fetch()
        for name, plan in self._plans.items():
            if isinstance(plan, Files):
                await self._write_files(name, plan)

    def read_only(self, name: str) -> bool:
        """Return True if a volume is read-only, whatever its mounts."""
        plan = self._plans[name]
        return isinstance(plan, Files) or (isinstance(plan, Claim) and bool(plan.read_only))

    async def _fetch(self) -> None:
        namespace = self.pod.metadata.namespace
        config_maps, secrets = (
            mine | theirs
            for mine, theirs in zip(
                references(self.pod), volumes.object_names(self._plans), strict=True
            )
        )
        self.sources = Sources(
            {name: await self._api.config_map(namespace, name) for name in sorted(config_maps)},
            {name: await self._api.secret(namespace, name) for name in sorted(secrets)},
        )

    async def _make_one(self, name: str, plan: Plan) -> Path:
        match plan:
            case EmptyDirectory():
                place = self._directory / name
                place.mkdir(parents=True, exist_ok=True)
                place.chmod(0o777)
                return place
            case HostPath():
                return host_path(plan)
            case Claim():
                volume = await self._api.claimed_volume(
                    self.pod.metadata.namespace, plan.claim_name
                )
                return host_path(_persistent(plan.claim_name, volume))
            case Files():
                return await self._write_files(name, plan)

    async def _write_files(self, name: str, plan: Files) -> Path:
        requested = (source.service_account_token for source in plan.sources)
        tokens = {file: await self._token(file) for file in requested if file}
        files = volume_files.files(self.pod, plan, self.sources, self._around, tokens)
        place = self._directory / name
        volume_files.write(place, files)
        return place

    async def _token(self, file: TokenFile) -> str:
        token, due_at = self._tokens.get(file, ("", 0.0))
        now = self._clock.now()
        if now >= due_at:
            token, expires = await self._api.token(self.pod, file)
            due_at = now + TOKEN_LIFE_RATIO * (stamps.parse(expires) - now)
            self._tokens[file] = (token, due_at)
        return token


def host_path(plan: HostPath) -> Path:
    """Return the path of a hostPath volume after checking, or creating, it by its type.

    Raises:
        ConfigError: It is not of its type.
    """
    path, kind = Path(plan.path), plan.type or ""
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch()
    test = _TYPE_TESTS.get(kind.removesuffix("OrCreate"), Path.exists)
    if not test(path):
        raise ConfigError(f"hostPath {plan.path} is not a {kind or 'path of this machine'}")
    return path


def _persistent(claim: str, volume: Mapping[str, Any]) -> HostPath:
    for kind in ("hostPath", "local"):
        if volume.get(kind):
            return HostPath(path=volume[kind]["path"], type=volume[kind].get("type"))
    raise RefusedError(
        "VolumeNotSupported",
        f'claim "{claim}" is bound to a PersistentVolume that is neither hostPath nor local',
    )
