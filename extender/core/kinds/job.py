"""``batch/v1`` Job, plain and Indexed."""

from collections.abc import Sequence
from typing import Final

from extender.core.kinds.base import NO_MARKS, Owners, last_index_first, rank
from shared import labels
from shared.model import Pod

_INDEX: Final = f"label {labels.JOB_INDEX_LABEL}"


class BatchJob:
    """The gang is what the Job runs at one time: min(parallelism, completions)."""

    kind = "job"
    marks = NO_MARKS
    any_worker = False

    def claims(self, pod: Pod) -> bool:
        """The pod is controlled by a Job of group batch."""
        owner = pod.controller
        return owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/")

    def job_name(self, pod: Pod) -> str:
        """The Job's name."""
        return pod.controller.name if pod.controller else pod.name

    def index(self, pod: Pod, above: Owners) -> int | None:
        """Completion index of an Indexed Job."""
        text = pod.labels.get(labels.JOB_INDEX_LABEL) or pod.annotations.get(labels.JOB_INDEX_LABEL)
        return rank(_INDEX, text)

    def size(self, pod: Pod, above: Owners) -> int | None:
        """``min(parallelism, completions)`` once the Job was seen."""
        return above.owner.size if above.owner else None

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Of an Indexed Job the highest index goes first."""
        return last_index_first(workers, self.index)
