"""A pod without a controller that no group label names: a job of one."""

from typing import Any, ClassVar

from typing_extensions import override

from extender.core.kinds.base import JobKind, Leaving, Obstacle, Owners, Unmovable
from extender.core.kinds.manifest import Created, Manifest, Part, Template
from shared import labels
from shared.model import Mover, Pod


class BarePod(JobKind):
    """The only kind whose gang size is 1 without being stated."""

    kind = "pod"
    manifests: ClassVar = (("Pod", ""),)

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the pod has no controller."""
        return pod.controller is None

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the pod itself."""
        return pod.name

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return 1."""
        return 1

    def mover(self, leaving: Leaving) -> Mover | Unmovable:
        """Return that the pod is made anew.

        The new pod has another name, so that only a label can keep the name of its job.
        """
        if len(leaving.pods) > 1:
            return Unmovable(Obstacle.OWNER, "a gang of pods without an owner")
        name = leaving.job_name
        if name == leaving.pods[0].name and len(name) > labels.LONGEST_VALUE:
            return Unmovable(Obstacle.OWNER, f"its name is too long for label {labels.JOB}")
        return Mover.RECREATE

    def suppose(self, manifest: Manifest) -> Created:
        """Return the pod."""
        template = Template(manifest.spec_as(dict[str, Any]), manifest.meta)
        return manifest.created([Part(manifest.name, 1, template)], [])
