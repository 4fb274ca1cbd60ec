"""Volcano's own Job (vcjob).

Source:
    github.com/volcano-sh/volcano ``pkg/controllers/job/job_controller_util.go`` (createJobPod).
"""

from collections.abc import Sequence

from typing_extensions import override

from extender.core.kinds.base import (
    ControlledBy,
    Owners,
    integer,
    last_index_first,
    rank,
    size_of_kind,
)
from extender.core.kinds.parking_facts import NOT_COUNTED, ParkingFacts
from shared import foreign_labels
from shared.model import Pod


class VolcanoJob(ControlledBy):
    """Its PodGroup is called ``<name>-<uid>``; the job has the name that the user gave."""

    kind = "vcjob"
    controller_kind = "Job"
    controller_group = "batch.volcano.sh"
    any_worker = False
    parking = (
        ParkingFacts(
            kind="Job",
            group="batch.volcano.sh",
            field="spec.tasks[].replicas, minAvailable; spec.minAvailable",
            others="a HorizontalPodAutoscaler: not parked then (`Autoscaled`)",
            failures=f"{NOT_COUNTED} in `maxRetry`",
            ended="deleted too, and would run again: not parked (`RunsAgain`)",
            returns="the recorded numbers of all tasks; not with `partitionPolicy`",
            reruns=True,
        ),
    )

    @override
    def index(self, pod: Pod, above: Owners) -> int | None:
        """Return the index within the task; older versions write it only into the pod's name."""
        key = foreign_labels.VOLCANO_TASK_INDEX
        stated = rank(f"annotation {key}", pod.annotations.get(key))
        return stated if stated is not None else integer(pod.name.rpartition("-")[2])

    def role(self, pod: Pod) -> str:
        """Return the name of the task."""
        return pod.annotations.get(foreign_labels.VOLCANO_TASK, "").lower()

    @override
    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return ``minMember`` of its PodGroup, else what the Job states."""
        group = above.group
        return (group.min_member if group else None) or size_of_kind(above, "Job")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers, the highest index of the task first."""
        return last_index_first(workers, self.index)
