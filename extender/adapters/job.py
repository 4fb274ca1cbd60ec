"""``batch/v1`` Job, plain and Indexed."""

from extender.adapters.base import Above, integer
from shared import labels
from shared.model import Pod


class BatchJob:
    """The gang is what the Job runs at one time: min(parallelism, completions)."""

    kind = "job"

    def claims(self, pod: Pod) -> bool:
        """The pod is controlled by a Job of group batch."""
        owner = pod.controller
        return owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/")

    def job_name(self, pod: Pod) -> str:
        """The Job's name."""
        return pod.controller.name if pod.controller else pod.name

    def index(self, pod: Pod) -> int | None:
        """Completion index of an Indexed Job."""
        text = pod.labels.get(labels.JOB_INDEX_LABEL) or pod.annotations.get(labels.JOB_INDEX_LABEL)
        return integer(text)

    def size(self, pod: Pod, above: Above) -> int | None:
        """``min(parallelism, completions)`` once the Job was seen."""
        return above.owner.size if above.owner else None
