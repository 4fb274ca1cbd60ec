"""The settings of the extender: one YAML file, a section a topic (docs/reference/settings.md).

Read once in ``main``; parts get the values they need, never this object.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from extender.policy_settings import PolicySettings
from shared import labels
from shared.logs import Format, Level
from shared.settings import Section


class KubernetesSection(Section):
    """How the API server is reached."""

    kubeconfig: Path | None = Field(
        default=None,
        description="kubeconfig file; no value: `KUBECONFIG`, else the pod's service account, "
        "else `~/.kube/config`.",
    )


class SchedulerSection(Section):
    """The listener that kube-scheduler calls, and whose extender this is."""

    scheduler_name: str = Field(
        default=labels.SCHEDULER_NAME,
        min_length=1,
        description="`spec.schedulerName` of the pods that are ours; the profile's name in "
        "kube-scheduler's configuration.",
    )
    listen_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address for kube-scheduler. There is no authentication: keep it on loopback.",
    )
    listen_port: int = Field(default=10261, ge=0, le=65535, description="Port; 0 takes a free one.")
    identity: str | None = Field(
        default=None,
        min_length=1,
        description="The part before the last `_` of kube-scheduler's identity in the Lease; no "
        "value: this host's name.",
    )


class ApiSection(Section):
    """The listener for people and probes: read API, `/livez`, `/readyz`, `/metrics`."""

    listen_host: str = Field(default="127.0.0.1", min_length=1, description="Address.")
    listen_port: int = Field(default=10262, ge=0, le=65535, description="Port; 0 takes a free one.")


class LeaseSection(Section):
    """The Lease of kube-scheduler's leader election: who holds it decides who acts."""

    namespace: str = Field(
        default="kube-system",
        min_length=1,
        description="`leaderElection.resourceNamespace` of kube-scheduler's configuration.",
    )
    name: str = Field(
        default=labels.SCHEDULER_NAME,
        min_length=1,
        description="`leaderElection.resourceName` of kube-scheduler's configuration.",
    )


class DecisionLogSection(Section):
    """The record of everything the decisions were made from."""

    directory: Path | None = Field(
        default=Path("/var/tmp/shuntyard/decisions"),  # noqa: S108 - bounded, and it should outlive a restart
        description="Where it is written, by one extender alone; `null`: it is not.",
    )
    segment_bytes: int = Field(
        default=64 * 2**20, ge=2**16, le=2**34, description="Size at which a new file is begun."
    )
    segments: int = Field(
        default=8, ge=2, le=10_000, description="Files that are kept; the oldest goes first."
    )


class LoggingSection(Section):
    """The log on standard error."""

    level: Level = Field(
        default=Level.INFO,
        description="`info`: what changed; `warning`: trouble that mends itself; `error`: a "
        "person must look; `debug`: every request.",
    )
    format: Format = Field(
        default=Format.JSON, description="`json`: one object a line; `text`: for people."
    )


class HealthSection(Section):
    """When the extender counts as dead, and how it ends."""

    loop_max_age_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="A loop that gave no sign of life for longer makes `/livez` fail.",
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0.001,
        le=300,
        description="How long open requests may go on after SIGTERM; keep it below the pod's "
        "`terminationGracePeriodSeconds`.",
    )


class ExtenderSettings(PolicySettings):
    """All settings of the extender."""

    kubernetes: KubernetesSection = KubernetesSection()
    scheduler: SchedulerSection = SchedulerSection()
    api: ApiSection = ApiSection()
    lease: LeaseSection = LeaseSection()
    decision_log: DecisionLogSection = DecisionLogSection()
    logging: LoggingSection = LoggingSection()
    health: HealthSection = HealthSection()

    @model_validator(mode="after")
    def _has_two_listeners(self) -> Self:
        first, second = self.scheduler, self.api
        if first.listen_port and first.listen_port == second.listen_port:
            raise ValueError(
                f"scheduler.listen_port and api.listen_port are both {first.listen_port}, "
                "expected two ports"
            )
        return self
