"""The kinds of manifests whose pods can be told without their operator, one function each.

Names, labels, owners and sizes are those that the controllers write, so that the adapters read such
a pod like a real one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from extender.servers.readapi.manifest_limits import Tally
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.kube import job_state, kinds, parse
from shared.kube.errors import OddObjectError
from shared.model import Owner, OwnerReference, Uid

UNDERSTOOD: Final = (
    "Pod, List, Job of batch, StatefulSet, JobSet, "
    "PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob, JAXJob"
)
_REPLICAS: Final = "ReplicaSpecs"
_EXCERPT: Final = 60

T = TypeVar("T")


class Head(Struct, rename="camel"):
    """What an object is; ``items`` are those of a ``List``."""

    kind: str
    api_version: str
    items: list[Raw] | None = None

    @property
    def group(self) -> str:
        """API group; empty for the core's."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


class Meta(Struct, rename="camel"):
    """``metadata``."""

    name: str = ""
    generate_name: str = ""
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(Struct):
    """A pod's template."""

    spec: dict[str, Any]
    metadata: Meta = msgspec.field(default_factory=Meta)


class _Replicas(Struct):
    template: Template
    replicas: int = 1


class _JobSpec(job_state.JobSpec, rename="camel", kw_only=True):
    template: Template
    completion_mode: str | None = None


class _JobTemplate(Struct):
    spec: _JobSpec


class _ReplicatedJob(Struct):
    name: str
    template: _JobTemplate
    replicas: int = 1


class _JobSetSpec(Struct, rename="camel"):
    replicated_jobs: list[_ReplicatedJob]


class Manifest(Struct):
    """Any object; its ``spec`` is read by kind."""

    metadata: Meta
    spec: Raw


@dataclass(frozen=True)
class Part:
    """Pods of one template.

    Attributes:
        name: Of the pods, with their number behind it if they have a controller.
        count: How many.
        controller: Of the pods; None if nobody is.
        labels: That the controller adds to all of them.
        index: Label with the number of each; empty where the controller writes none.
    """

    name: str
    count: int
    template: Template
    controller: OwnerReference | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    index: str = ""


class Found(NamedTuple):
    """What a manifest stands for."""

    parts: list[Part]
    owners: list[Owner]


@dataclass(frozen=True)
class Object:
    """A manifest whose kind is understood; ``document`` is all of it, named and placed.

    ``tally`` counts what it asks for, together with the objects before it.
    """

    head: Head
    spec: Raw
    name: str
    meta: Meta
    document: dict[str, Any]
    tally: Tally

    def spec_as(self, kind: type[T]) -> T:
        """Return its spec.

        Raises:
            InputError: It cannot be read so.
        """
        return decode(kind, self.spec, f"{self.head.kind} {self.name}", "$.spec")

    def found(self, parts: list[Part], owners: list[Owner]) -> Found:
        """Return what it stands for, its pods counted.

        Raises:
            InputError: They are too many.
        """
        for part in parts:
            self.tally.add_pods(part.count, f"{self.head.kind} {self.name}")
        return Found(parts, owners)


def _of_pod(one: Object) -> Found:
    template = Template(one.spec_as(dict[str, Any]), one.meta)
    return one.found([Part(one.name, 1, template)], [])


def _of_job(one: Object) -> Found:
    spec, owner = one.spec_as(_JobSpec), _owner(one, parse.decode_job)
    part = _job_part(one.name, spec, _reference(owner), {})
    return one.found([part], [owner])


def _job_part(
    name: str, spec: _JobSpec, controller: OwnerReference, more: Mapping[str, str]
) -> Part:
    indexed = spec.completion_mode == "Indexed"
    marks = {labels.JOB_NAME_LABEL: name, **more}
    index = labels.JOB_INDEX_LABEL if indexed else ""
    return Part(name, job_state.size(spec), spec.template, controller, marks, index)


def _of_stateful_set(one: Object) -> Found:
    spec, owner = one.spec_as(_Replicas), _owner(one, parse.decode_stateful_set)
    index = labels.STATEFULSET_INDEX_LABEL
    part = Part(one.name, spec.replicas, spec.template, _reference(owner), index=index)
    return one.found([part], [owner])


def _of_job_set(one: Object) -> Found:
    """Every replica is a Job of its own, Indexed unless it says otherwise.

    All of them are counted first: a few bytes name any number of replicas.
    """
    spec = one.spec_as(_JobSetSpec)
    for part in spec.replicated_jobs:
        field = f"JobSet {one.name}: replicatedJobs[{part.name}]"
        one.tally.add_jobs(part.replicas, job_state.size(part.template.spec), field)
    owner = _owner(one, _kind_of(one).decode)
    jobs = [(rep, i) for rep in spec.replicated_jobs for i in range(rep.replicas)]
    found = Found([], [owner])
    for replicated, number in jobs:
        name = f"{one.name}-{replicated.name}-{number}"
        of_job = replicated.template.spec
        mode = of_job.completion_mode or "Indexed"
        job = replace(
            owner, api_version="batch/v1", kind="Job", name=name,
            uid=Uid(uid("Job", name, owner.namespace)), size=job_state.size(of_job),
            controller=_reference(owner),
        )  # fmt: skip
        marks = {
            foreign_labels.JOBSET_NAME: one.name,
            foreign_labels.JOBSET_PART: replicated.name,
            foreign_labels.JOBSET_PART_JOBS: str(replicated.replicas),
            foreign_labels.JOBSET_JOBS: str(len(jobs)),
            foreign_labels.JOBSET_JOB_INDEX: str(number),
        }
        mended = replace(of_job, completion_mode=mode)
        found.parts.append(_job_part(name, mended, _reference(job), marks))
        found.owners.append(job)
    return found


def _of_kubeflow(one: Object) -> Found:
    """One template a role; the labels are those of training-operator."""
    owner, spec = _owner(one, _kind_of(one).decode), one.spec_as(dict[str, Raw])
    maps = [key for key in spec if key.endswith(_REPLICAS)]
    if not maps:
        raise InputError(f"{one.head.kind} {one.name}: spec", "", f"with a field *{_REPLICAS}")
    where = f"{one.head.kind} {one.name}"
    roles = decode(dict[str, _Replicas], spec[maps[0]], where, f"$.spec.{maps[0]}")
    parts = [
        Part(
            f"{one.name}-{role.lower()}",
            replicas.replicas,
            replicas.template,
            _reference(owner),
            {
                labels.TRAINING_JOB_NAME: one.name,
                labels.TRAINING_REPLICA_TYPE: role.lower(),
            },
            labels.TRAINING_REPLICA_INDEX,
        )
        for role, replicas in roles.items()
    ]
    return one.found(parts, [owner])


_KINDS: Final = {(one.kind, one.group): one for one in kinds.OWNERS}
READERS: Final[Mapping[tuple[str, str], Callable[[Object], Found]]] = {
    ("Pod", ""): _of_pod,
    ("Job", "batch"): _of_job,
    ("StatefulSet", "apps"): _of_stateful_set,
    ("JobSet", "jobset.x-k8s.io"): _of_job_set,
    **{key: _of_kubeflow for key in _KINDS if key[1] == "kubeflow.org"},
}
"""By kind and API group."""


def _kind_of(one: Object) -> kinds.OwnerKind:
    return _KINDS[one.head.kind, one.head.group]


def _owner(one: Object, decode: Callable[[bytes], Owner]) -> Owner:
    """Return it as it would be observed."""
    return readable(decode, one.document, f"{one.head.kind} {one.name}")


def _reference(owner: Owner) -> OwnerReference:
    return OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)


def uid(*parts: str) -> str:
    """Return a uid that no object of a cluster has."""
    return "/".join(("what-if", *parts))


def readable(decode: Callable[[bytes], T], document: Mapping[str, Any], what: str) -> T:
    """Return an object as the API server's would be read; ``what`` names it in errors.

    Raises:
        InputError: It cannot be read.
    """
    data = msgspec.json.encode(document)
    try:
        return decode(data)
    except OddObjectError as error:
        cause = error.__cause__
        if isinstance(cause, InputError):  # it says what stood where, and what should
            raise InputError(f"{what}: {cause.field}", cause.value, cause.expected) from error
        raise InputError(what, _excerpt(data), f"readable: {error.problem}") from error


def decode(kind: type[T], data: bytes | Raw, what: str, at: str = "$") -> T:
    """Return JSON as a type; ``what`` names it in errors, ``at`` is the path of the data.

    Raises:
        InputError: It is something else; the text has the path of the field.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except ValueError as error:  # no such JSON, or no UTF-8
        text = str(error).replace("`$", f"`{at}")
        said = text if "`$" in text or at == "$" else f"{text} - at `{at}`"
        raise InputError(what, _excerpt(bytes(data)), f"readable: {said}") from error


def _excerpt(data: bytes) -> str:
    return data[:_EXCERPT].decode(errors="replace")
