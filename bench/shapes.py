"""The pods of one run: so many jobs of so many pods each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from shared import labels


@dataclass(frozen=True)
class Shape:
    """``jobs`` gangs of ``pods`` pods."""

    jobs: int
    pods: int

    @classmethod
    def parse(cls, text: str) -> "Shape":
        """Read ``JOBSxPODS``.

        Raises:
            ValueError: The text has another form.
        """
        jobs, _, pods = text.partition("x")
        return cls(int(jobs), int(pods))

    @override
    def __str__(self) -> str:
        return f"{self.jobs}x{self.pods}"

    def manifests(self, *, queued: bool) -> Iterator[dict[str, Any]]:
        """Yield the pods, 1 CPU and 1 GiB each: gated gangs of ours, or plain pods."""
        for job in range(self.jobs):
            for index in range(self.pods):
                yield _pod(f"job-{job}", index, self.pods, queued=queued)


def _pod(job: str, index: int, size: int, *, queued: bool) -> dict[str, Any]:
    ours = {
        "schedulerName": labels.SCHEDULER_NAME,
        "schedulingGates": [{"name": labels.GATE}],
    }
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{job}-{index}",
            "labels": {labels.JOB: job},
            "annotations": {labels.MIN_AVAILABLE: str(size)},
        },
        "spec": {"containers": [container], **(ours if queued else {})},
    }
