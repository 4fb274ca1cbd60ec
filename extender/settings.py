"""The settings of the extender: one YAML file, a section a topic (docs/reference/settings.md).

Read once in ``main``; parts get the values they need, never this object.
"""

from itertools import combinations
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from extender.policy_settings import PolicySettings
from shared import labels
from shared.kube.resources import OPTIONAL
from shared.sections import HealthSection, LoggingSection
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


def _listed(found: object) -> object:
    """Take a text, as the environment has it, for the items that its commas separate."""
    return [part.strip() for part in found.split(",")] if isinstance(found, str) else found


class AgentsSection(Section):
    """The listener for node agents. It is open only with a certificate: agents send tokens."""

    listen_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address; agents of other nodes must reach it.",
    )
    listen_port: int = Field(default=10263, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: the listener "
        "is not opened, and nothing is known of training progress.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    audience: str = Field(
        default="shuntyard-extender",
        min_length=1,
        description="Audience of the agents' projected service account tokens.",
    )
    accounts: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=("system:serviceaccount:shuntyard-agents:shuntyard-agent",),
        min_length=1,
        description="User names that agents may have; in the environment separated by commas.",
    )
    token_cache_seconds: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="How long a token that the API server accepted is not asked about again. A "
        "deleted agent's token is good for so long.",
    )
    most_body_bytes: int = Field(
        default=4 * 2**20,
        ge=2**16,
        le=2**28,
        description="Largest heartbeat, unpacked; a full one takes about 1.5 KB a pod.",
    )

    @model_validator(mode="after")
    def _has_both_or_none(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key: expected both or none of them")
        return self


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


class KindsSection(Section):
    """Job kinds and pod groups of other projects; each is read where it is installed."""

    read: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=tuple(kind.resource for kind in OPTIONAL),
        description="Which ones, as `kubectl get crd` names them; in the environment separated by "
        "commas. Without a kind, gang sizes of its pods must be stated.",
    )

    @model_validator(mode="after")
    def _has_known_kinds(self) -> Self:
        known = {kind.resource for kind in OPTIONAL}
        if unknown := [name for name in self.read if name not in known]:
            raise ValueError(f"read: {unknown[0]!r}, expected one of {', '.join(sorted(known))}")
        return self


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


class ExtenderHealthSection(HealthSection):
    """When the extender counts as dead, and how it ends."""

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
    agents: AgentsSection = AgentsSection()
    lease: LeaseSection = LeaseSection()
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
