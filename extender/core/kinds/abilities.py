"""What a job kind may be able to do beside claiming pods: optional interfaces, one ability each."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from extender.core.kinds.base import Owners
from extender.core.kinds.manifest import Created, Manifest
from shared.model import OwnProgress, Pod, PodKey


@runtime_checkable
class WithRoles(Protocol):
    """The kind distinguishes its pods by role."""

    def role(self, pod: Pod) -> str:
        """Return the role of the pod in lower case; empty if it has none."""
        ...


@runtime_checkable
class Sized(Protocol):
    """The gang size can be read without our annotation."""

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return how many pods make the gang; None if no observed object states it.

        Raises:
            InputError: What is stated is no number of pods.
        """
        ...


@runtime_checkable
class SizedByPod(Sized, Protocol):
    """Each pod states the gang size, so that pods can contradict each other."""

    @property
    def size_field(self) -> str:
        """The part of the pod that states the size, for messages."""
        ...


@runtime_checkable
class Resizable(Protocol):
    """The owners of the kind state how many workers they want, and that number may change."""

    @property
    def any_worker(self) -> bool:
        """Whether the worker that goes first can be named; else the owner alone decides."""
        ...

    def removal_order(self, workers: Sequence[Pod]) -> tuple[Pod, ...]:
        """Return the workers in the order in which the owner removes them when it shrinks."""
        ...


@runtime_checkable
class Nominating(Protocol):
    """Beside ``Resizable``: the owner chooses by an annotation of its pods.

    Without the annotation the owner may remove other pods than those chosen: pods that are equal in
    all that comes before. So no pod leaves before all that leave are nominated.
    """

    def nominations(
        self, leaving: Sequence[Pod], staying: Sequence[Pod]
    ) -> Mapping[PodKey, Mapping[str, str]]:
        """Return the annotations still missing so that those leave and these stay; by pod."""
        ...


@runtime_checkable
class Progressing(Protocol):
    """The status of an owner of the kind states how far the training is."""

    @property
    def progress_field(self) -> str:
        """The part of the owner that states when it was written, for messages."""
        ...

    def progress(self, pod: Pod, above: Owners) -> OwnProgress | None:
        """Return what it states of the training that the pod is a part of; None if nothing."""
        ...


@runtime_checkable
class Supposable(Protocol):
    """The pods of a manifest are known without running its operator: it can be tried in a what-if.

    Names, labels and owners are those that the controllers write, so that the kind reads such a pod
    like a real one.
    """

    @property
    def manifests(self) -> tuple[tuple[str, str], ...]:
        """Kind and API group of the manifests."""
        ...

    def suppose(self, manifest: Manifest) -> Created:
        """Return the pods and owners that the manifest would become.

        Raises:
            InputError: It cannot be read, or there are too many.
        """
        ...
