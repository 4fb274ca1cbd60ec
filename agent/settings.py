"""The settings of the agent: one YAML file, a section a topic (docs/reference/agent-settings.md).

Read once, by ``agent.starting``; what runs gets them as ``agent.parameters``.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from importlib import metadata
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from typing_extensions import override

from agent import parameters as plain
from agent.parameters import AgentParameters
from agent.tailing.chunk import Limits
from shared.convergence.parameters import PRESETS, ConvergenceParameters
from shared.settings import HealthSection, LoggingSection, Part, Section, takes

VERSION: Final = metadata.version("shuntyard")


@takes(Part(plain.Identity))
class AgentSection(Section):
    """The node of this agent."""


@takes(Part(plain.Extender))
class ExtenderSection(Section):
    """Addresses of the extender's replicas, and how both sides authenticate."""

    @field_validator("urls", mode="before", check_fields=False)
    @classmethod
    def _may_be_a_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("urls", check_fields=False)
    @classmethod
    def _are_https(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme != "https" or not parts.hostname or parts.path.strip("/"):
                raise ValueError(
                    f"expected https://HOST:PORT, found {url!r}: tokens are sent over TLS only"
                )
        return tuple(url.rstrip("/") for url in urls)


@takes(Part(plain.Report))
class ReportSection(Section):
    """When and what is reported to the replicas."""


@takes(Part(plain.Discovery))
class DiscoverySection(Section):
    """Requests to the extender for the pods of the node."""


@takes(Part(plain.Paths))
class PathsSection(Section):
    """Paths in the container."""


@takes(Part(Limits), Part(plain.Following))
class FollowingSection(Section):
    """How files are followed: by polling, because only that sees writes of other hosts."""


@takes(Part(plain.Sampling))
class SamplingSection(Section):
    """How the use of CPU, memory and GPUs is read (docs/sampling.md)."""


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


@takes(Part(plain.Api))
class ApiSection(Section):
    """The listener for probes and Prometheus: `/livez`, `/readyz`, `/metrics`."""


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

    def parameters(self) -> AgentParameters:
        """Return them as plain values."""
        return AgentParameters(
            identity=self.agent.applied_to(plain.Identity()),
            extender=self.extender.applied_to(plain.Extender()),
            report=self.report.applied_to(plain.Report()),
            discovery=self.discovery.applied_to(plain.Discovery()),
            paths=self.paths.applied_to(plain.Paths()),
            following=self.following.applied_to(plain.Following()),
            limits=self.following.applied_to(Limits()),
            sampling=self.sampling.applied_to(plain.Sampling()),
            convergence=self.convergence.applied_to(ConvergenceParameters()),
            api=self.api.applied_to(plain.Api()),
            log_level=self.logging.level,
            log_format=self.logging.format,
            loop_max_age_seconds=self.health.loop_max_age_seconds,
            version=VERSION,
        )
