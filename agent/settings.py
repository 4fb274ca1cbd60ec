"""The settings of the agent: one YAML file, a section a topic (docs/reference/agent-settings.md).

Read once in ``main``; parts get the values they need, never this object.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from typing_extensions import override

from agent.sampling.finding import DEFAULT_CGROUP_ROOT, Source
from agent.sampling.node import DEFAULT_PROCFS
from agent.tailing.chunk import Limits
from shared.convergence.parameters import (
    PRESETS,
    ConvergenceParameters,
)
from shared.settings import HealthSection, LoggingSection, Part, Section, takes
from shared.wire import MOST_EVENTS

NODE_VARIABLE: Final = "NODE_NAME"
"""Set from ``spec.nodeName`` by the DaemonSet."""


class AgentSection(Section):
    """The node of this agent."""

    node: str | None = Field(
        default=None,
        min_length=1,
        max_length=253,
        description="Name of the node, which must be that of the agent's own pod; no value: the "
        f"environment variable `{NODE_VARIABLE}`.",
    )


class ExtenderSection(Section):
    """Addresses of the extender's replicas, and how both sides authenticate."""

    urls: tuple[str, ...] = Field(
        default=(),
        description="All replicas one by one, `https://HOST:PORT`; in the environment separated "
        "by commas. Empty: `service` is looked up.",
    )
    service: str = Field(
        default="shuntyard-agents.shuntyard-system.svc",
        min_length=1,
        description="Host name that resolves to every replica: a headless Service.",
    )
    port: int = Field(default=10263, ge=1, le=65535, description="Port of the replicas there.")
    resolve_seconds: float = Field(
        default=60.0, ge=1, le=3600, description="How often `service` is looked up."
    )
    server_name: str | None = Field(
        default=None,
        min_length=1,
        description="Name that the replicas' certificate must have; no value: the host's.",
    )
    authority: Path = Field(
        default=Path("/etc/shuntyard-ca/ca.crt"),
        description="Certificates of those who may sign the replicas' certificate, PEM; read "
        "again when it changes.",
    )
    token: Path = Field(
        default=Path("/var/run/secrets/shuntyard/token"),
        description="Projected service account token with the extender's audience; read again "
        "when it changes.",
    )
    timeout_seconds: float = Field(
        default=10.0, ge=0.1, le=300, description="How long a replica may take to answer."
    )

    @field_validator("urls", mode="before")
    @classmethod
    def _may_be_a_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("urls")
    @classmethod
    def _are_https(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme != "https" or not parts.hostname or parts.path.strip("/"):
                raise ValueError(
                    f"expected https://HOST:PORT, found {url!r}: tokens are sent over TLS only"
                )
        return tuple(url.rstrip("/") for url in urls)


class ReportSection(Section):
    """When and what is reported to the replicas."""

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=60, description="Time between two heartbeats to a replica."
    )
    jitter_ratio: float = Field(
        default=0.1, ge=0, le=0.5, description="By how much of it a wait is longer or shorter."
    )
    settle_seconds: float = Field(
        default=0.2,
        ge=0,
        le=5,
        description="What must not wait for the next heartbeat (an acknowledged checkpoint, a run "
        "that has converged, the end of training) waits so long for company.",
    )
    full_every_seconds: float = Field(
        default=300.0,
        ge=1,
        le=86400,
        description="How often a heartbeat has everything, not only what changed.",
    )
    events: int = Field(
        default=MOST_EVENTS,
        ge=1,
        le=MOST_EVENTS,
        description="Events kept for a replica that does not answer; the oldest are dropped.",
    )
    gzip_above_bytes: int = Field(
        default=1024, ge=0, le=2**31, description="Larger heartbeats are compressed."
    )
    backoff_seconds: float = Field(
        default=1.0, ge=0.01, le=60, description="First wait after a failure; it doubles."
    )
    most_backoff_seconds: float = Field(
        default=60.0,
        ge=0.01,
        le=600,
        description="Where that doubling ends; not below `backoff_seconds`.",
    )

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.most_backoff_seconds < self.backoff_seconds:
            raise ValueError(
                f"most_backoff_seconds {self.most_backoff_seconds:g} must not be below "
                f"backoff_seconds {self.backoff_seconds:g}"
            )
        return self


class DiscoverySection(Section):
    """Requests to the extender for the pods of the node."""

    interval_seconds: float = Field(
        default=3.0, ge=0.05, le=60, description="How often; a fifth more or less."
    )


class PathsSection(Section):
    """Paths in the container."""

    volume: Path = Field(
        default=Path("/var/lib/shuntyard/volume"),
        description="The shared volume: a job has `NAMESPACE/JOB` of it for its own.",
    )
    pod_logs: Path = Field(default=Path("/var/log/pods"), description="The kubelet's pod logs.")
    checkpoint_gid: int | None = Field(
        default=None,
        ge=0,
        le=2**32 - 2,
        description="Group that a checkpoint request shall belong to; no value: as the directory "
        "or the agent's own group has it.",
    )


@takes(Part(Limits))
class FollowingSection(Section):
    """How files are followed: by polling, because only that sees writes of other hosts."""

    interval_seconds: float = Field(
        default=5.0, ge=0.05, le=60, description="How often a pod's metrics are read."
    )
    checkpoint_seconds: float = Field(
        default=5.0, ge=0.05, le=60, description="How often its checkpoint directory is looked at."
    )
    asked_seconds: float = Field(
        default=1.0, ge=0.05, le=60, description="The same while a checkpoint is asked for."
    )
    find_seconds: float = Field(
        default=10.0,
        ge=0.05,
        le=600,
        description="How often files are looked for that were not there, or have become more.",
    )
    hang_seconds: float = Field(
        default=10.0,
        ge=0.1,
        le=600,
        description="When files have not answered for so long, the reports say so.",
    )
    files: int = Field(default=16, ge=1, le=64, description="Files followed for one pod at most.")
    open_files: int = Field(
        default=256, ge=1, le=65536, description="Files held open at one time, of all pods."
    )


class SamplingSection(Section):
    """How the use of CPU, memory and GPUs is read (docs/sampling.md)."""

    source: Source = Field(
        default=Source.AUTO,
        description="What pods are read from; `auto`: control groups where there are any, else "
        "processes.",
    )
    interval_seconds: float = Field(
        default=10.0, ge=0.05, le=600, description="Time between two samples."
    )
    cgroup_root: Path = Field(
        default=DEFAULT_CGROUP_ROOT, description="Where the host's control groups are mounted."
    )
    procfs: Path = Field(default=DEFAULT_PROCFS, description="Where the host's `/proc` is.")
    cores: float | None = Field(
        default=None,
        ge=0.001,
        le=65536,
        description="Cores of a node that is a part of this machine; no value: all there are.",
    )


class Preset(StrEnum):
    """Names of ``shared.convergence``'s presets."""

    RECOMMENDED = "recommended"
    PRINTED = "printed"


_PRESETS: Final[Mapping[Preset, ConvergenceParameters]] = {p: PRESETS[p.value] for p in Preset}


@takes(
    Part(
        ConvergenceParameters,
        preset="preset",
        optional=[field.name for field in fields(ConvergenceParameters)],
    )
)
class ConvergenceSection(Section):
    """When a training run counts as converged (docs/policies/convergence.md)."""

    preset: Preset = Field(
        default=Preset.RECOMMENDED,
        description="`recommended`: what the simulation of SpeCon recommends; `printed`: as the "
        "paper prints it.",
    )

    @override
    def preset_values(self) -> ConvergenceParameters:
        """Return the preset that ``preset`` names."""
        return _PRESETS[self.preset]


class ApiSection(Section):
    """The listener for probes and Prometheus: `/livez`, `/readyz`, `/metrics`."""

    listen_host: str = Field(default="127.0.0.1", min_length=1, description="Address.")
    listen_port: int = Field(default=10264, ge=0, le=65535, description="Port; 0 takes a free one.")
    most_connections: int = Field(
        default=128,
        ge=1,
        le=1_000_000,
        description="Connections that may be open; a kubelet and a Prometheus or two call. One "
        "more, and the one that has asked for nothing for the longest time is ended.",
    )


class AgentSettings(Section):
    """All settings of the agent."""

    agent: AgentSection = AgentSection()
    extender: ExtenderSection = ExtenderSection()
    report: ReportSection = ReportSection()
    discovery: DiscoverySection = DiscoverySection()
    paths: PathsSection = PathsSection()
    following: FollowingSection = FollowingSection()
    sampling: SamplingSection = SamplingSection()
    convergence: ConvergenceSection = ConvergenceSection()
    api: ApiSection = ApiSection()
    logging: LoggingSection = LoggingSection()
    health: HealthSection = HealthSection()
