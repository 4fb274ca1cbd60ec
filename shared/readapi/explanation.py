"""Why a job waits and what would make it run: the parts of ``/v1/explain`` and ``/v1/what-if``.

Amounts are integers in base units: ``cpu`` in milli-CPU, memory in bytes. Times are seconds since
the epoch. The planner has tried every change that is offered: the job runs after all its steps, if
nothing else changes meanwhile.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct


class StepKind(StrEnum):
    """What a step of a change does."""

    SET_ANNOTATION = "set-annotation"
    """Annotation ``field`` of the job's pods (or of an owner that has it) becomes ``to``;
    empty: it goes."""
    SET_LABEL = "set-label"
    """Label ``field`` of the job's pods becomes ``to``; empty: it goes."""
    REMOVE_GATE = "remove-gate"
    """Scheduling gate ``field`` goes from ``amount`` pods of the job."""
    ADD_PODS = "add-pods"
    """``amount`` more pods of the job are made."""
    WAIT = "wait"
    """Nothing is to be done: ``field`` of ``subject`` comes by itself, at ``at`` where known."""
    LOWER_MIN_AVAILABLE = "lower-min-available"
    """The gang size goes from ``from`` to ``to``: annotation ``field``."""
    LOWER_REQUEST = "lower-request"
    """No pod of the role asks for more than ``to`` of resource ``field``."""
    CHANGE_SELECTOR = "change-selector"
    """``nodeSelector`` of the pods: label ``field`` from ``from`` to ``to``; empty: it goes."""
    DROP_AFFINITY = "drop-affinity"
    """The required node affinity of the pods goes."""
    ADD_TOLERATION = "add-toleration"
    """The pods tolerate the taint ``field``, ``key=value:Effect``."""
    CHANGE_PORT = "change-port"
    """Host port ``from`` of the pods becomes ``to``."""
    DROP_TOPOLOGY = "drop-topology"
    """The required topology of the job goes: annotation ``field``."""
    RAISE_QUOTA = "raise-quota"
    """Annotation ``field`` of the namespace ``subject`` (or of its quotas) becomes ``to``."""
    SET_SCHEDULER = "set-scheduler"
    """``schedulerName`` of the pods becomes ``to``."""
    UNCORDON = "uncordon"
    """The node is made schedulable again."""
    REMOVE_TAINT = "remove-taint"
    """Taint ``field`` goes from the node."""
    FREE = "free"
    """``amount`` of resource ``field`` comes free on the node."""
    ADD_NODES = "add-nodes"
    """``amount`` nodes like ``subject`` join, empty; with ``to`` of resource ``field`` if set."""


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a change.

    Attributes:
        kind: See ``StepKind``, which says what the other fields mean.
        subject: ``namespace/kind/name`` of a job, ``namespace/name`` of a pod, or the name of a
            node or namespace.
        role: The pods of this role; all of the job where it is empty.
        field: What of the subject: an annotation, a resource, a label, a taint.
        before: The present value (key ``from``).
        after: The new value (key ``to``); empty: none.
        amount: How many or how much.
        at: When it comes by itself, seconds since the epoch; None if unknown.
        cause: Of a job that is parked: why, as in its record; empty otherwise.
        pod_seconds: What that is expected to cost the job: for how long its pods do not train,
            summed over them; None if not counted.
    """

    kind: StepKind
    subject: str
    role: str = ""
    field: str = ""
    before: str = msgspec.field(name="from", default="")
    after: str = msgspec.field(name="to", default="")
    amount: int | None = None
    at: float | None = None
    cause: str = ""
    pod_seconds: float | None = None


class Change(Struct, frozen=True, kw_only=True):
    """Something that alone makes the job run.

    Attributes:
        kind: The kind of its last step: what is changed after what has to be mended first.
        says: The same in words.
        steps: All of them are needed.
    """

    kind: StepKind
    says: str
    steps: tuple[Step, ...]


class NodeGroup(Struct, frozen=True, kw_only=True):
    """Nodes with the same result for the same pods.

    Attributes:
        causes: Tokens of what keeps the pods away: ``cordoned``, ``selector``, ``affinity``,
            ``taint``, ``port`` or the name of a resource; empty where pods fit.
        says: The same in words.
        nodes: Their names.
        fits: How many of the pods these nodes hold together.
        short: By resource, how much the node that lacks least lacks for one pod.
    """

    causes: tuple[str, ...] = ()
    says: str
    nodes: tuple[str, ...]
    fits: int = 0
    short: Mapping[str, int] = {}


class Tried(Struct, frozen=True, kw_only=True):
    """Pods of one role and shape, and the result of each node for them.

    Attributes:
        role: Their role; empty where the kind has none.
        pods: How many are to be placed.
        fits: How many of them would fit without the others.
        requests: What each asks for.
        nodes: The nodes, grouped by result; those that hold most pods first.
    """

    role: str = ""
    pods: int
    fits: int
    requests: Mapping[str, int]
    nodes: tuple[NodeGroup, ...] = ()


class Ahead(Struct, frozen=True, kw_only=True):
    """A job before this one in the queue.

    Attributes:
        job: ``namespace/kind/name``.
        reason: Why it waits.
        v: Its priority V.
    """

    position: int
    job: str
    reason: str
    v: float


class Place(Struct, frozen=True, kw_only=True):
    """Where a pod of the hypothetical job would go; ``node`` empty: kube-scheduler decides."""

    pod: str
    role: str
    node: str


class Checked(Struct, frozen=True, kw_only=True):
    """Whether the API server has checked a manifest, by a dry run with the rights of its user.

    Set by the command: the extender has no right to make requests for other users.

    Attributes:
        by_api_server: Whether it has checked every object, and a pod of every template.
        reason: Why it has not; empty if it has. Then defaults are those that are known without it.
        pods_by_api_server: Whether it has checked the pods at least. If not, LimitRanges, quotas
            and admission policies are not in the answer.
    """

    by_api_server: bool
    reason: str = ""
    pods_by_api_server: bool = False


class Bill(Struct, frozen=True, kw_only=True):
    """Price of a job on the nodes (docs/policies/pricing.md).

    In units of the price of an idle resource: a pod that requests all of the largest node's CPU,
    and nothing else, costs 1 on an idle cluster.

    Attributes:
        idle: The same pods on an idle cluster.
        now: The pods that would get a node now, at its present prices; None if none would, and
            then ``idle`` is that of all its pods.
    """

    idle: float
    now: float | None = None


class Shift(Struct, frozen=True, kw_only=True):
    """A waiting job whose estimate changes with the hypothetical job.

    Where no start is known, with that job and without, it is listed if its position is later.

    Attributes:
        job: ``namespace/kind/name``.
        position_without: Its place in the queue without that job; None if it has none.
        position_with: The same with it.
        start_without: When it is expected to start, seconds since the epoch; None if unknown.
        start_with: The same with that job.
        later_seconds: By how much later it starts; below 0: earlier. None if a start is unknown.
        estimate_without: What that estimate rests on, or why there is none.
        estimate_with: The same with that job.
    """

    job: str
    position_without: int | None
    position_with: int | None
    start_without: float | None = None
    start_with: float | None = None
    later_seconds: float | None = None
    estimate_without: str = ""
    estimate_with: str = ""
