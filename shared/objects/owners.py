"""Objects that create pods or declare their group: a part of ``shared.model``."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from shared.objects.identity import Uid
from shared.objects.label_selectors import LabelSelector

BUILT_IN_GROUPS: Final = frozenset({"batch", "apps"})
"""API groups of Kubernetes itself; a kind outside them is identified with its group."""


class OwnerReference(Struct, frozen=True):
    """The controller reference of an object."""

    api_version: str
    kind: str
    name: str
    uid: Uid


class JobState(Struct, frozen=True, kw_only=True):
    """Further state of a ``batch/v1`` Job.

    Attributes:
        suspended: ``spec.suspend``.
        active: Pods that its controller counts as pending or running.
        failures_left: Failures it survives, of all its pods or of each index; the one is counted
            in ``status.failed``, the other on the pods (``labels.INDEX_FAILURES``).
        per_index: Its limit is for each index (``backoffLimitPerIndex``).
        fails_with_pod: Its pod failure policy may end it, or an index, when a pod is evicted.
        managed: Another controller than the built-in one drives it, or starts and stops it.
    """

    suspended: bool = False
    active: int = 0
    failures_left: int = 0
    per_index: bool = False
    fails_with_pod: bool = False
    managed: bool = False


class WorkerCount(Struct, frozen=True, kw_only=True):
    """A number in an owner's spec: its wanted pods of one role.

    Attributes:
        role: ``worker``, …; empty where the kind has no roles.
        count: The number.
        fields: JSON pointers into the object that are set to the number, all together.
        totals: JSON pointers that are set to the number plus so many: pods of all roles.
        guards: Pointer and text of what must still stand there when they are: an entry of a list
            is identified by its name.
        least: The owner's own limit; 0 where no worker at all pauses it and harms nothing.
        most: The same; None: none.
        elastic: The limits are the user's word that the number may change, as our annotation is.
        leaving: JSON pointer that gets the names of the pods that leave, ``leaving_key`` and a
            list, in the same write; empty where the owner takes no names.
        leaving_key: See there.
    """

    role: str = ""
    count: int
    fields: tuple[str, ...]
    totals: tuple[tuple[str, int], ...] = ()
    guards: tuple[tuple[str, str], ...] = ()
    least: int = 1
    most: int | None = None
    elastic: bool = False
    leaving: str = ""
    leaving_key: str = ""

    def values(self, to: int) -> tuple[tuple[str, int], ...]:
        """Return the value at each pointer when the number is ``to``."""
        others = ((field, to + more) for field, more in self.totals)
        return (*((field, to) for field in self.fields), *others)


class Pause(Struct, frozen=True, kw_only=True):
    """The numbers of pods of an owner that cannot be suspended: it is paused if all are 0.

    Attributes:
        numbers: JSON pointer and the number that stands there.
        guards: As in ``WorkerCount``.
        deletes_volumes: Its controller deletes the volumes of pods that it scales away.
    """

    numbers: tuple[tuple[str, int], ...]
    guards: tuple[tuple[str, str], ...] = ()
    deletes_volumes: bool = False


class OwnProgress(Struct, frozen=True, kw_only=True):
    """Progress of a training, in the status of its own object.

    Attributes:
        percent: How much of it is done, 0 to 100.
        remaining_seconds: Estimated time to its end, from ``written_at`` on.
        written_at: Seconds since the epoch, on the training's clock.
        problem: Why nothing of it can be used; empty if it can.
    """

    percent: float | None = None
    remaining_seconds: float | None = None
    written_at: float = 0.0
    problem: str = ""


class Owner(Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """An object that creates pods; ``size`` is how many it wants at one time, None if unsaid.

    Attributes:
        annotations: Those that are kept (``shared.kube.kept_keys``).
        annotated_by_others: It has annotations that are not kept; a write must leave them alone.
        excess: What of its labels or annotations is too much to be kept; empty if nothing is.
        job: There for a ``batch/v1`` Job alone.
        counts: Numbers of pods that may be changed while it runs; empty where none may.
        suspend_field: JSON pointer to the truth value that suspends it; empty where there is none.
        suspended: That value.
        pause: How it is paused without a suspension; None where it may not be, or can be suspended.
        groups: Jobs side by side that it makes: the groups of a LeaderWorkerSet.
        progress: How far its training is; None if it does not say.
        template: What its pod templates state under a key of ``labels.OF_OWNER``; of two templates
            that of the workers, else the first.
        selector: Which pods can be its own; None: it does not say.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: Uid
    resource_version: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    annotated_by_others: bool = False
    excess: str = ""
    size: int | None = None
    controller: OwnerReference | None = None
    created_at: float = 0.0
    job: JobState | None = None
    counts: tuple[WorkerCount, ...] = ()
    suspend_field: str = ""
    suspended: bool = False
    pause: Pause | None = None
    groups: int = 1
    progress: OwnProgress | None = None
    template: Mapping[str, str] = {}
    selector: LabelSelector | None = None

    @property
    def can_pause(self) -> bool:
        """Whether it can be without pods and get them back: suspended, or with numbers of 0."""
        return bool(self.suspend_field) or self.pause is not None

    @property
    def paused(self) -> bool:
        """Whether it is suspended, or wants no pods."""
        if self.pause is None:
            return self.suspended
        return all(number == 0 for _, number in self.pause.numbers)

    def selects(self, pod_labels: Mapping[str, str]) -> bool:
        """Return True if a pod with these labels can be its own."""
        return self.selector is None or self.selector.matches(pod_labels)

    def stated(self, key: str) -> str | None:
        """Return what it states under a key: in its pod template, else in its own annotations."""
        text = self.template.get(key)
        return self.annotations.get(key) if text is None else text

    @property
    def collection(self) -> str:
        """Where it was listed: ``Job``, ``StatefulSet``, else ``<kind>.<API group>``."""
        group = self.api_version.partition("/")[0]
        return self.kind if group in BUILT_IN_GROUPS else f"{self.kind}.{group}"

    @property
    def key(self) -> str:
        """``collection/namespace/name``."""
        return f"{self.collection}/{self.namespace}/{self.name}"


class PodGroup(Struct, frozen=True, kw_only=True, tag=True):
    """A group of pods that a user or an operator declared for another scheduler.

    Attributes:
        api_group: ``scheduling.volcano.sh`` (Volcano), ``scheduling.x-k8s.io`` (scheduler-plugins)
            or ``scheduling.k8s.io`` (in-tree gang).
        excess: What of its annotations is too much to be kept; empty if nothing is.
        min_member: How many pods make the gang; None if it says nothing.
        controller: Who made it; None for one that a user made.
    """

    api_group: str
    namespace: str
    name: str
    uid: Uid
    resource_version: str = ""
    annotations: Mapping[str, str] = {}
    excess: str = ""
    min_member: int | None = None
    controller: OwnerReference | None = None
    created_at: float = 0.0

    @property
    def collection(self) -> str:
        """Where it was listed."""
        return f"PodGroup.{self.api_group}"

    @property
    def key(self) -> str:
        """``collection/namespace/name``."""
        return f"{self.collection}/{self.namespace}/{self.name}"
