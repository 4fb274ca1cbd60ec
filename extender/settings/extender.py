"""Settings of the extender: one YAML file, a section for each topic.

See docs/reference/settings.md. Read once in ``main``; parts are given the values they need, never
this object.
"""

from itertools import combinations
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from extender.settings.certificates import CertificatesSection
from extender.settings.lease import EndpointSection, LeaseSection, PeersSection
from extender.settings.listeners import AgentsSection, ApiSection, SchedulerSection, Texts
from extender.settings.policy import PolicySettings
from shared.kube.resources import OPTIONAL
from shared.settings import HealthSection, LoggingSection, Section


class KubernetesSection(Section):
    """The connection to the API server."""

    kubeconfig: Path | None = Field(
        default=None,
        description="kubeconfig file; no value: `KUBECONFIG`, else the pod's service account, "
        "else `~/.kube/config`.",
    )


class SigningSection(Section):
    """Signatures of reservations, records on owners, and Migrations (docs/our-keys.md)."""

    secret: str | None = Field(
        default=None,
        min_length=1,
        description="Secret with the keys; it must exist, and the first replica fills it. No "
        "value: nothing is signed, and every user who may edit a pod may reserve a node for it.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Secret."
    )
    wait_seconds: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description="How long the start waits for the keys from the API server.",
    )


class KindsSection(Section):
    """Job kinds and pod groups of other projects that are read, where they are installed."""

    read: Texts = Field(
        default=tuple(kind.resource for kind in OPTIONAL),
        description="Their names as in `kubectl get crd`; in the environment separated by commas. "
        "Without a kind, the gang sizes of its pods must be stated.",
    )

    @model_validator(mode="after")
    def _has_known_kinds(self) -> Self:
        readable = {kind.resource for kind in OPTIONAL}
        if unknown := [name for name in self.read if name not in readable]:
            raise ValueError(f"read: {unknown[0]!r}, expected one of {', '.join(sorted(readable))}")
        return self


class DecisionLogSection(Section):
    """The log of every decision and its inputs."""

    directory: Path | None = Field(
        default=Path("/var/tmp/shuntyard/decisions"),  # noqa: S108 - bounded, and it should outlive a restart
        description="Directory of the log, for one extender only; `null`: no log is written.",
    )
    segment_bytes: int = Field(
        default=64 * 2**20,
        ge=2**16,
        le=2**34,
        description="Size of the records in a file; then a new file is begun. Each file begins "
        "with the whole state, which does not count here.",
    )
    segments: int = Field(
        default=8,
        ge=2,
        le=10_000,
        description="Most files. All files with their states take at most this times "
        "`segment_bytes`; the oldest is deleted first. A state that takes more than half of that "
        "is not written.",
    )
    buffer_bytes: int = Field(
        default=32 * 2**20,
        ge=2**16,
        le=2**32,
        description="Records that may wait in memory for a slow disk; further ones are dropped, "
        "and a new file is begun when the disk has caught up.",
    )


class ExtenderHealthSection(HealthSection):
    """When the extender counts as dead, and how it stops."""

    drain_seconds: float = Field(
        default=5.0,
        ge=0.001,
        le=300,
        description="How long open requests may continue after SIGTERM; keep it below the pod's "
        "`terminationGracePeriodSeconds`.",
    )


class ExtenderSettings(PolicySettings):
    """All settings of the extender."""

    kubernetes: KubernetesSection = KubernetesSection()
    scheduler: SchedulerSection = SchedulerSection()
    api: ApiSection = ApiSection()
    agents: AgentsSection = AgentsSection()
    certificates: CertificatesSection = CertificatesSection()
    signing: SigningSection = SigningSection()
    lease: LeaseSection = LeaseSection()
    peers: PeersSection = PeersSection()
    endpoint: EndpointSection = EndpointSection()
    kinds: KindsSection = KindsSection()
    decision_log: DecisionLogSection = DecisionLogSection()
    logging: LoggingSection = LoggingSection()
    health: ExtenderHealthSection = ExtenderHealthSection()

    @model_validator(mode="after")
    def _has_a_port_for_each_listener(self) -> Self:
        ports = {
            name: getattr(self, name).listen_port
            for name in ("scheduler", "api", "agents")
            if name != "agents" or self.agents.certificate is not None
        }
        for first, second in combinations(ports, 2):
            if ports[first] and ports[first] == ports[second]:
                raise ValueError(
                    f"{first}.listen_port and {second}.listen_port are both {ports[first]}, "
                    "expected a port for each"
                )
        return self
