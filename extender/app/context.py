"""The services of the process, and what is built from the settings before its parts."""

from dataclasses import dataclass, field
from typing import Self

from extender.core.records.signatures import Fault, Signed
from extender.metrics.extender import ExtenderMetrics
from extender.settings.extender import ExtenderSettings, SigningSection
from extender.writers.decision_log.segments import SegmentFiles
from extender.writers.signing.signatures import Signatures
from extender.writers.signing.signing_keys import SigningKeys
from shared.clock import Clock
from shared.health import Health, Heartbeat
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.system_clock import SystemClock


@dataclass(frozen=True, kw_only=True)
class Context:
    """The API client, clock, metrics and health of one process, and its signatures.

    Without keys nothing is signed, and every record is valid.
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

        def refused(record: Signed, fault: Fault) -> None:
            metrics.signatures_refused.labels(what=record.value, why=fault.value).inc()

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


def segments(settings: ExtenderSettings) -> SegmentFiles | None:
    """Return the files of the decision log; None if no log is kept."""
    section = settings.decision_log
    if section.directory is None:
        return None
    return SegmentFiles(
        section.directory, section.segment_bytes, section.segments, section.buffer_bytes
    )


def signing_keys(section: SigningSection, secret: str, context: Context) -> SigningKeys:
    """Return the reader of the keys that sign our records."""
    path = paths.namespaced(paths.SECRETS, section.namespace, secret)
    return SigningKeys(context.client, path, context.signatures, context.clock)
