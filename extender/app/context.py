"""What every part of the extender uses."""

from dataclasses import dataclass, field
from typing import Self

from extender.core.records.signatures import Fault, Signed
from extender.metrics.extender import ExtenderMetrics
from extender.settings.extender import ExtenderSettings
from extender.writers.signing.signatures import Signatures
from shared.clock import Clock
from shared.health import Health, Heartbeat
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock


@dataclass(frozen=True, kw_only=True)
class Context:
    """The API server, the clock, what is counted, and what tells that the process lives.

    Without keys the signatures are none: nothing is signed, and everything counts.
    """

    client: KubeClient
    clock: Clock
    metrics: ExtenderMetrics
    health: Health
    loop_max_age_seconds: float
    signatures: Signatures = field(default_factory=Signatures)

    @classmethod
    def of(cls, settings: ExtenderSettings, client: KubeClient) -> Self:
        """Build the context of one process."""
        clock = SystemClock()
        health = Health(clock.monotonic)
        age_seconds = settings.health.loop_max_age_seconds
        metrics = ExtenderMetrics()

        def refused(what: Signed, fault: Fault) -> None:
            metrics.signatures_refused.labels(what=what.value, why=fault.value).inc()

        signatures = Signatures(clock.now, refused=refused)
        return cls(
            client=client,
            clock=clock,
            metrics=metrics,
            health=health,
            loop_max_age_seconds=age_seconds,
            signatures=signatures,
        )

    def beat(self, name: str) -> Heartbeat:
        """Return the heartbeat of a new loop."""
        return self.health.heartbeat(name, max_age_seconds=self.loop_max_age_seconds)
