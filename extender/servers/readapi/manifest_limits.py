"""How much the manifest of a what-if may make of us: counted before anything is made.

Few bytes can ask for much: 12 kB of JobSet name a million Jobs. So numbers are added up first, over
all objects of the manifest, and nothing is made of one that goes beyond a limit.
"""

from dataclasses import dataclass
from typing import Final

from shared.errors import InputError
from shared.model import Pod, PodShape

MOST_PODS: Final = 10_000
"""Pods, and Jobs of a JobSet, that one question may suppose: the largest gang that was measured."""
MOST_SHAPES: Final = 100
"""Different pods among them: each is compared with every node, in every placement tried."""
MOST_TRAITS: Final = 1000
"""Labels, annotations, tolerations, node selectors, lines of affinity and their values, host ports
and volumes of one pod template, together. Real templates have some tens."""
MOST_TRAITS_IN_ALL: Final = 500_000
"""The same of all pods: labels are copied for each, and what a pod takes is counted on its node."""


@dataclass
class Tally:
    """What a manifest asks for so far.

    Attributes:
        pods: Of all its objects.
        jobs: The same for Jobs that a JobSet makes.
        traits: See ``MOST_TRAITS_IN_ALL``.
    """

    pods: int = 0
    jobs: int = 0
    traits: int = 0

    def add_pods(self, count: int, field: str = "manifest") -> None:
        """Count pods of one template.

        Raises:
            InputError: They are fewer than none, or too many together with those before.
        """
        if count < 0:
            raise InputError(field, f"{count} pods", "0 pods or more")
        self.pods += count
        _check(self.pods, "pods", field)

    def add_jobs(self, jobs: int, pods_of_each: int, field: str) -> None:
        """Count Jobs with so many pods of one template each.

        Raises:
            InputError: There are fewer than none, or too many together with those before.
        """
        if jobs < 0:
            raise InputError(field, f"replicas {jobs}", "0 or more")
        self.jobs += jobs
        _check(self.jobs, "Jobs", field)
        self.add_pods(jobs * pods_of_each if pods_of_each >= 0 else pods_of_each, field)

    def add_traits(self, pod: Pod, count: int, field: str) -> None:
        """Count what ``count`` pods carry that are like one.

        Raises:
            InputError: One carries too much, or all together do.
        """
        found = traits(pod)
        for name, number in found.items():
            if number > MOST_TRAITS:
                raise InputError(field, f"{number} {name}", f"at most {MOST_TRAITS} of a pod")
        if pod.excess:
            raise InputError(field, pod.excess, "a pod of which all is read")
        of_one = sum(found.values())
        if of_one > MOST_TRAITS:
            what = f"{of_one} {', '.join(found)} together"
            raise InputError(field, what, f"at most {MOST_TRAITS} of a pod")
        self.traits += of_one * count
        if self.traits > MOST_TRAITS_IN_ALL:
            what = f"{self.traits} {', '.join(found)} of all pods together"
            raise InputError("manifest", what, f"at most {MOST_TRAITS_IN_ALL}")


def traits(pod: Pod) -> dict[str, int]:
    """Return how many things a pod carries that cost something for each pod or each node."""
    shape = pod.shape
    return {
        "labels": len(pod.labels),
        "annotations": len(pod.annotations),
        "node selectors": len(shape.node_selector),
        "affinity lines and values": _affinity(shape),
        "tolerations": len(shape.tolerations),
        "host ports": len(shape.host_ports),
        "resources": len(shape.requests),
        "volumes": len(pod.claims),
    }


def check_shapes(shapes: int) -> None:
    """Refuse pods of too many kinds.

    Raises:
        InputError: There are more than ``MOST_SHAPES``.
    """
    if shapes > MOST_SHAPES:
        what = f"pods of {shapes} shapes"
        raise InputError("manifest", what, f"at most {MOST_SHAPES} that ask for different things")


def _affinity(shape: PodShape) -> int:
    terms = shape.affinity or ()
    lines = [line for term in terms for line in (*term.expressions, *term.fields)]
    return len(terms) + len(lines) + sum(len(line.values) for line in lines)


def _check(count: int, what: str, field: str) -> None:
    if count > MOST_PODS:
        raise InputError(field, f"{count} {what}", f"at most {MOST_PODS} in one manifest")
