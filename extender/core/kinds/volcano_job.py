"""Volcano's own Job (vcjob).

Source:
    github.com/volcano-sh/volcano ``pkg/controllers/job/job_controller_util.go`` (createJobPod).
"""

from collections.abc import Sequence

from extender.core.kinds.base import NO_MARKS, Owners, integer, last_index_first, rank, size_of_kind
from shared import foreign_labels
from shared.model import Pod


class VolcanoJob:
    """Its PodGroup is called ``<name>-<uid>``; the job has the name that the user gave."""

    kind = "vcjob"
    marks = NO_MARKS
    any_worker = False

    def claims(self, pod: Pod) -> bool:
        """The pod is controlled by a Job of group batch.volcano.sh."""
        owner = pod.controller
        return (
            owner is not None
            and owner.kind == "Job"
            and owner.api_version.startswith("batch.volcano.sh/")
        )

    def job_name(self, pod: Pod) -> str:
        """The Job's name."""
        return pod.controller.name if pod.controller else pod.name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Index within the task; older versions write it only into the pod's name."""
        key = foreign_labels.VOLCANO_TASK_INDEX
        stated = rank(f"annotation {key}", pod.annotations.get(key))
        return stated if stated is not None else integer(pod.name.rpartition("-")[2])

    def role(self, pod: Pod) -> str:
        """Name of the task."""
        return pod.annotations.get(foreign_labels.VOLCANO_TASK, "").lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``minMember`` of its PodGroup, else what the Job says."""
        group = above.group
        return (group.min_member if group else None) or size_of_kind(above, "Job")

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """The highest index of the task goes first."""
        return last_index_first(workers, self.index)
