"""What every part of the extender stands on."""

from dataclasses import dataclass
from typing import Self

from extender.metrics.extender import ExtenderMetrics
from extender.settings.extender import ExtenderSettings
from shared.clock import Clock
from shared.health import Health, Heartbeat
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock


@dataclass(frozen=True)
class Ground:
    """The API server, the clock, what is counted, and what tells that the process lives."""

    client: KubeClient
    clock: Clock
    metrics: ExtenderMetrics
    health: Health
    loop_max_age_seconds: float

    @classmethod
    def of(cls, settings: ExtenderSettings, client: KubeClient) -> Self:
        """Return the ground of one process."""
        clock = SystemClock()
        health = Health(clock.monotonic)
        age_seconds = settings.health.loop_max_age_seconds
        return cls(client, clock, ExtenderMetrics(), health, age_seconds)

    def beat(self, name: str) -> Heartbeat:
        """Return the heartbeat of a new loop."""
        return self.health.heartbeat(name, max_age_seconds=self.loop_max_age_seconds)
