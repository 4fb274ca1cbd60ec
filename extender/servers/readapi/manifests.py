"""Parse a job's manifest into the pods that its controller would create.

A ``List`` may hold the Pods of one job; other objects in it (Services, ConfigMaps) are left out,
with a note. The kinds are those that ``extender.core.kinds`` can suppose.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.kinds.manifest import Head, Manifest, Meta, Part, Template, decode, excerpt, uid
from extender.core.queue.hypothetical import HypotheticalJob
from extender.servers.readapi.manifest_limits import Tally, check_shapes
from shared.errors import InputError
from shared.kube import kinds, parse, pod_defaults, wire
from shared.kube.errors import OddObjectError
from shared.model import Owner, Pod, PodShape, Uid

T = TypeVar("T")

_GENERATED: Final = "xxxxx"
"""Stands for the characters that the API server appends to a ``generateName``."""

MOST_NAMESPACES: Final = 16
"""Namespaces of the objects of one manifest: each needs a review whether the caller sees it."""

MOST_NOTES: Final = 20
"""Kinds of objects that notes name as left out."""


class _Named(msgspec.Struct):
    """An object of which only the metadata is read."""

    metadata: Meta


class _Specified(msgspec.Struct):
    """Any object; its ``spec`` is read by kind."""

    metadata: Meta
    spec: Raw


_OWNERS: Final[Mapping[tuple[str, str], Callable[[bytes], Owner]]] = {
    ("Job", "batch"): parse.decode_job,
    ("StatefulSet", "apps"): parse.decode_stateful_set,
    **{(kind.kind, kind.group): kind.decode for kind in kinds.OWNERS},
}
"""Decoders of owners, by kind and API group."""


def read(body: bytes, namespace: str, scheduler: str) -> HypotheticalJob:
    """Return the job of a manifest.

    Args:
        body: JSON: an object, or a ``List`` of objects.
        namespace: Namespace of objects that state none.
        scheduler: Name of our scheduler.

    Raises:
        InputError: It cannot be read, holds no kind that is understood, or too many pods; names the
            field.
    """
    try:
        return _read(body, namespace, scheduler)
    except RecursionError as error:
        raise _too_deep() from error


class Namespaces(NamedTuple):
    """Namespaces of a manifest.

    Attributes:
        stated: Namespaces of the objects that create pods.
        created: Namespaces that the manifest itself creates.
    """

    stated: frozenset[str]
    created: frozenset[str]


def namespaces(body: bytes, namespace: str) -> Namespaces:
    """Return the namespaces of a manifest's objects, as ``read`` would place them.

    Raises:
        InputError: It cannot be read, or its objects are in more namespaces than a job can be.
    """
    stated, created = set(), set()
    try:
        for document in _documents(body):
            head = decode(Head, document, "manifest")
            if registry.supposable(head.kind, head.group) is not None:
                stated.add(decode(_Specified, document, head.kind).metadata.namespace or namespace)
            elif (head.kind, head.group) == ("Namespace", ""):
                created.add(decode(_Named, document, head.kind).metadata.name)
    except RecursionError as error:
        raise _too_deep() from error
    if len(stated) > MOST_NAMESPACES:
        raise InputError("manifest", f"{len(stated)} namespaces", "the pods of one job")
    return Namespaces(frozenset(stated), frozenset(created))


def _too_deep() -> InputError:
    return InputError("manifest", "", "nested less deeply")


def _read(body: bytes, namespace: str, scheduler: str) -> HypotheticalJob:
    pods: list[Pod] = []
    owners: list[Owner] = []
    left_out: list[str] = []
    implied: set[str] = set()
    tally, shapes = Tally(), set[PodShape]()
    for document in _documents(body):
        head = decode(Head, document, "manifest")
        kind = registry.supposable(head.kind, head.group)
        if kind is None:
            left_out.append(f"{head.kind} of {head.api_version}")
            continue
        place, manifest = _manifest(head, document, namespace, tally)
        supposed = kind.suppose(manifest)
        patterns = _patterns(supposed.parts, manifest.title, place, tally)
        shapes.update(pattern.shape for pattern in patterns)
        check_shapes(len(shapes))
        for part, pattern in zip(supposed.parts, patterns, strict=True):
            pods.extend(_pods(part, pattern))
        implied.update(_implied(supposed.parts))
        owners.extend(supposed.owners)
    named = list(dict.fromkeys(left_out))[:MOST_NOTES]
    if not pods:
        raise InputError("kind", ", ".join(named), f"one that is understood: {understood()}")
    notes = [f"not part of a job: {name}" for name in named]
    if implied:
        notes.append(f"requests that are not stated are the limits: {', '.join(sorted(implied))}")
    return HypotheticalJob(
        tuple(pods), tuple(owners), (*notes, *_other_schedulers(pods, scheduler))
    )


def _documents(body: bytes) -> Iterator[bytes]:
    """Yield the objects of a manifest; a list may hold no lists."""
    head = decode(Head, body, "manifest")
    if head.kind != "List":
        yield body
        return
    for item in head.items or ():
        yield bytes(item)


def understood() -> str:
    """Return the kinds of manifests that are understood, for messages."""
    names = ["Job of batch" if kind == "Job" else kind for kind, _ in registry.understood()]
    return ", ".join((names[0], "List", *names[1:]))


def _manifest(head: Head, document: bytes, namespace: str, tally: Tally) -> tuple[str, Manifest]:
    """Return the namespace of a manifest, and the manifest as its kind reads it."""
    raw = decode(_Specified, document, head.kind)
    meta = raw.metadata
    name = meta.name or (meta.generate_name and f"{meta.generate_name}{_GENERATED}")
    if not name:
        raise InputError(f"{head.kind}: metadata.name", "", "the name of a job")
    whole = decode(dict[str, Any], document, head.kind)
    place = {"name": name, "namespace": meta.namespace or namespace}
    whole["metadata"] = {
        **whole["metadata"],
        **place,
        "uid": uid(head.kind, *place.values()),
    }

    def owner() -> Owner:
        read = _OWNERS[head.kind, head.group]
        return _decoded(read, whole, f"{head.kind} {name}")

    return place["namespace"], Manifest(
        head=head, spec=raw.spec, name=name, meta=meta, tally=tally, owner=owner
    )


def _patterns(parts: list[Part], title: str, namespace: str, tally: Tally) -> list[Pod]:
    """Return the pod of each part's template, without a name; every template is read once.

    Raises:
        InputError: A template cannot be read, or has too many traits for so many pods.
    """
    field = f"{title}: pod template"
    by_template: dict[int, Pod] = {}
    for part in parts:
        key = id(part.template)
        if key not in by_template:
            by_template[key] = _pattern(part.template, namespace, field)
        tally.add_traits(by_template[key], part.count, field)
    return [by_template[id(part.template)] for part in parts]


def _pattern(template: Template, namespace: str, field: str) -> Pod:
    meta = template.metadata
    body = {
        "metadata": {
            "name": "",
            "namespace": namespace,
            "labels": meta.labels or {},
            "annotations": meta.annotations or {},
        },
        "spec": _as_texts(template.spec),
    }
    return _decoded(parse.decode_pod, body, field)


def _decoded(decode: Callable[[bytes], T], document: Mapping[str, Any], field: str) -> T:
    """Decode an object as one of the API server; ``field`` names it in errors.

    Raises:
        InputError: It cannot be read.
    """
    data = msgspec.json.encode(document)
    try:
        return decode(data)
    except OddObjectError as error:
        cause = error.__cause__
        if isinstance(cause, InputError):  # it names the inner field
            raise InputError(f"{field}: {cause.field}", cause.value, cause.expected) from error
        raise InputError(field, excerpt(data), f"readable: {error.problem}") from error


def _pods(part: Part, pattern: Pod) -> Iterator[Pod]:
    """Yield the pods of a part, which differ by name and index."""
    marks = {**pattern.labels, **part.labels}
    for number in range(part.count):
        name = f"{part.name}-{number}" if part.controller else part.name
        yield replace(
            pattern,
            name=name,
            uid=Uid(uid("Pod", name, pattern.namespace)),
            labels={**marks, part.index: str(number)} if part.index else marks,
            controller=part.controller,
        )


def _implied(parts: list[Part]) -> Iterator[str]:
    """Yield the resources that pods request only because they have limits."""
    for template in {id(part.template): part.template for part in parts}.values():
        spec = msgspec.convert(_as_texts(template.spec), wire.PodSpec)  # its pods have been decoded
        yield from pod_defaults.without_request(spec)


def _as_texts(spec: Any) -> Any:
    """Return a pod's spec with its amounts as texts: the API accepts ``cpu: 2``, too."""
    if isinstance(spec, list):
        return [_as_texts(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        key: {name: _amount(amount) for name, amount in value.items()}
        if key in {"requests", "limits", "overhead"} and isinstance(value, dict)
        else _as_texts(value)
        for key, value in spec.items()
    }


def _amount(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _other_schedulers(pods: list[Pod], scheduler: str) -> Iterator[str]:
    others = sorted({pod.scheduler_name or "not set" for pod in pods} - {scheduler})
    if others:
        yield f"schedulerName is {', '.join(others)}: supposed to be {scheduler}"
