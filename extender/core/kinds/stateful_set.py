"""``apps/v1`` StatefulSet; as a gang it needs ``podManagementPolicy: Parallel``."""

from collections.abc import Sequence
from typing import ClassVar, Final

from typing_extensions import override

from extender.core.kinds.base import (
    ControlledBy,
    Leaving,
    Obstacle,
    Owners,
    Unmovable,
    integer,
    last_index_first,
    rank,
)
from extender.core.kinds.manifest import Created, Manifest, Part, Replicas, reference
from extender.core.kinds.parking_facts import ENDS_NEVER, ParkingFacts
from shared import labels
from shared.model import Mover, Pod

_INDEX: Final = f"label {labels.STATEFULSET_INDEX_LABEL}"


class StatefulSet(ControlledBy):
    """The gang is all replicas."""

    kind = "statefulset"
    controller_kind = "StatefulSet"
    controller_group = "apps"
    always_read = True
    endless = True
    any_worker = False
    manifests: ClassVar = (("StatefulSet", "apps"),)
    parking = (
        ParkingFacts(
            kind="StatefulSet",
            group="apps",
            field="spec.replicas",
            others="a HorizontalPodAutoscaler: not parked then (`Autoscaled`)",
            ended=ENDS_NEVER,
            volumes="kept; with `whenScaled: Delete` it is not parked (`VolumesDeleted`)",
            returns="the recorded number of replicas, each with its volumes",
            reruns=True,
        ),
    )

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the ordinal, from the label or the end of the name."""
        label = rank(_INDEX, pod.labels.get(labels.STATEFULSET_INDEX_LABEL))
        return label if label is not None else integer(pod.name.rpartition("-")[2])

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers, the highest ordinal first."""
        return last_index_first(workers, self.index)

    @override
    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        """Return that a pod is evicted; a gang cannot be."""
        if len(leaving.pods) > 1:
            return Unmovable(Obstacle.OWNER, f"a gang of a {self.controller_kind}")
        return Mover.EVICT

    def suppose(self, manifest: Manifest) -> Created:
        """Return all replicas."""
        spec, owner = manifest.spec_as(Replicas), manifest.owner()
        part = Part(
            manifest.name, spec.replicas, spec.template, reference(owner),
            index=labels.STATEFULSET_INDEX_LABEL,
        )  # fmt: skip
        return manifest.created([part], [owner])
