"""Limits of what the manifest of a what-if may create: counted before anything is created.

Few bytes can cause much work: 12 kB of JobSet name a million Jobs. So numbers are added up first,
over all objects of the manifest, and nothing is created of one that exceeds a limit.
"""

from dataclasses import dataclass
from typing import Final

from shared.errors import InputError
from shared.model import Pod, PodShape

MOST_PODS: Final = 10_000
"""Pods, and Jobs of a JobSet, of one what-if: as many as the largest gang that was measured."""
MOST_SHAPES: Final = 100
"""Different pods among them: each is compared with every node in every attempted placement."""
MOST_TRAITS: Final = 1000
"""Labels, annotations, tolerations, node selectors, affinity expressions and their values, host
ports and volumes of one pod template, together. Real templates have some tens."""
MOST_TRAITS_IN_ALL: Final = 500_000
"""The same for all pods together: labels are copied for each, amounts are added up by node."""


@dataclass
class Tally:
    """Sums over the objects of a manifest that were read so far.

    Attributes:
        pods: Pods of all its objects.
        jobs: Jobs that its JobSets create.
        traits: See ``MOST_TRAITS_IN_ALL``.
    """

    pods: int = 0
    jobs: int = 0
    traits: int = 0

    def add_pods(self, count: int, field: str = "manifest") -> None:
        """Count pods of one template.

        Raises:
            InputError: The count is negative, or too large together with those before.
        """
        if count < 0:
            raise InputError(field, f"{count} pods", "0 pods or more")
        self.pods += count
        _check(self.pods, "pods", field)

    def add_jobs(self, jobs: int, pods_of_each: int, field: str) -> None:
        """Count Jobs with so many pods of one template each.

        Raises:
            InputError: The count is negative, or too large together with those before.
        """
        if jobs < 0:
            raise InputError(field, f"replicas {jobs}", "0 or more")
        self.jobs += jobs
        _check(self.jobs, "Jobs", field)
        self.add_pods(jobs * pods_of_each if pods_of_each >= 0 else pods_of_each, field)

    def add_traits(self, pod: Pod, count: int, field: str) -> None:
        """Count the traits of ``count`` pods that are like ``pod``.

        Raises:
            InputError: One pod has too many, or all together have.
        """
        counts = traits(pod)
        for name, number in counts.items():
            if number > MOST_TRAITS:
                raise InputError(field, f"{number} {name}", f"at most {MOST_TRAITS} of a pod")
        if pod.excess:
            raise InputError(field, pod.excess, "a pod that is read as a whole")
        of_one = sum(counts.values())
        if of_one > MOST_TRAITS:
            total = f"{of_one} {', '.join(counts)} together"
            raise InputError(field, total, f"at most {MOST_TRAITS} of a pod")
        self.traits += of_one * count
        if self.traits > MOST_TRAITS_IN_ALL:
            total = f"{self.traits} {', '.join(counts)} of all pods together"
            raise InputError("manifest", total, f"at most {MOST_TRAITS_IN_ALL}")


def traits(pod: Pod) -> dict[str, int]:
    """Count what a pod has that costs work for each pod or each node."""
    shape = pod.shape
    return {
        "labels": len(pod.labels),
        "annotations": len(pod.annotations),
        "node selectors": len(shape.node_selector),
        "affinity expressions and values": _affinity(shape),
        "tolerations": len(shape.tolerations),
        "host ports": len(shape.host_ports),
        "resources": len(shape.requests),
        "volumes": len(pod.claims),
    }


def check_shapes(shapes: int) -> None:
    """Refuse too many different pods.

    Raises:
        InputError: There are more than ``MOST_SHAPES``.
    """
    if shapes > MOST_SHAPES:
        found = f"pods of {shapes} shapes"
        raise InputError("manifest", found, f"at most {MOST_SHAPES} that request different things")


def _affinity(shape: PodShape) -> int:
    terms = shape.affinity or ()
    expressions = [item for term in terms for item in (*term.expressions, *term.fields)]
    return len(terms) + len(expressions) + sum(len(item.values) for item in expressions)


def _check(count: int, things: str, field: str) -> None:
    if count > MOST_PODS:
        raise InputError(field, f"{count} {things}", f"at most {MOST_PODS} in one manifest")
