"""Migration objects: raw JSON to ``model.Migration`` and back (deploy/base/crd.yaml).

Amounts in a spec are integers in base units, as in ``shared.model``; stamps are RFC 3339 with
microseconds.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from shared import labels, model
from shared.kube import shapes, stamps, wire
from shared.kube.errors import OddObjectError

API_VERSION: Final = "shuntyard.io/v1alpha1"
KIND: Final = "Migration"


class Reference(Struct, rename="camel"):
    """``spec.owner``."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Member(Struct, rename="camel"):
    """``spec.members[]``; of the template only the digest is kept."""

    pod: str
    uid: str
    source: str
    target: str
    index: int | None = None
    asked: bool = True
    requests: dict[str, int] | None = None
    node_selector: dict[str, str] | None = None
    node_affinity_terms: list[wire.NodeTerm] | None = None
    tolerations: list[wire.Toleration] | None = None
    host_ports: list[model.HostPort] | None = None
    unmodelled: list[str] | None = None
    template: dict[str, Any] | None = None


class Spec(Struct, rename="camel"):
    """``spec``."""

    job: str
    trigger: model.Trigger
    mover: model.Mover
    members: list[Member]
    owner: Reference | None = None
    why: str = ""
    gain_seconds: float | None = None
    cost_seconds: float | None = None


class Transition(Struct):
    """``status.transitions[]``."""

    phase: model.MigrationPhase
    at: str


class MemberStatus(Struct, rename="camel", omit_defaults=True):
    """``status.members[]``."""

    uid: str
    replacement: str = ""
    replacement_uid: str = ""
    node: str = ""
    acked_step: int | None = None
    ack_bytes: int | None = None
    ack_seconds: float | None = None
    resumed_step: int | None = None


class Status(Struct, rename="camel"):
    """``status``; an object without one was only requested."""

    phase: model.MigrationPhase = model.MigrationPhase.REQUESTED
    reason: str = ""
    message: str = ""
    request: str = ""
    deadline: str | None = None
    ask_until: str | None = None
    hold_until: str | None = None
    transitions: list[Transition] | None = None
    members: list[MemberStatus] | None = None


class Object(Struct):
    """A Migration."""

    metadata: wire.Meta
    spec: Spec
    status: Status | None = None


_DECODER: Final = msgspec.json.Decoder(Object)


def digest(spec: Spec | Mapping[str, Any]) -> str:
    """Return the SHA-256 of a spec, the same before and after the API server has stored it.

    All fields of the spec that we read count, and the templates as a whole. Numbers are compared by
    value and nulls are dropped, as the server stores them.
    """
    read = spec if isinstance(spec, Spec) else msgspec.convert(spec, Spec)
    plain = _canonical(msgspec.to_builtins(read))
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def decode(data: bytes | msgspec.Raw) -> model.Migration:
    """Return a Migration.

    Raises:
        OddObjectError: It cannot be read.
    """
    try:
        return _migration(_DECODER.decode(data))
    except (msgspec.DecodeError, ValueError) as error:
        raise OddObjectError(_key(data), str(error)) from error


def manifest(
    migration: model.Migration, templates: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return the object to create: the spec, with the pod template of each uid that has one.

    With an owner the object is deleted with its owner.
    """
    owner = migration.owner
    spec = {
        "job": migration.job,
        "trigger": migration.trigger.value,
        "mover": migration.mover.value,
        "why": migration.why,
        "gainSeconds": migration.gain_seconds,
        "costSeconds": migration.cost_seconds,
        "owner": _reference(owner) if owner else None,
        "members": [_member_body(m, (templates or {}).get(m.uid)) for m in migration.members],
    }
    metadata: dict[str, Any] = {"name": migration.name, "namespace": migration.namespace}
    if owner:
        metadata["ownerReferences"] = [{**_reference(owner), "controller": False}]
    body = {key: value for key, value in spec.items() if value is not None}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": body}


def status(migration: model.Migration) -> dict[str, Any]:
    """Return the whole status; null removes outdated fields (merge patch)."""
    members = [
        MemberStatus(
            uid=m.uid,
            replacement=m.replacement,
            replacement_uid=m.replacement_uid,
            node=m.node,
            acked_step=m.acked_step,
            ack_bytes=m.ack_bytes,
            ack_seconds=m.ack_seconds,
            resumed_step=m.resumed_step,
        )
        for m in migration.members
    ]
    return {
        "phase": migration.phase.value,
        "reason": migration.reason or None,
        "message": migration.message or None,
        "request": migration.request or None,
        "deadline": _stamp(migration.deadline),
        "askUntil": _stamp(migration.ask_until),
        "holdUntil": _stamp(migration.hold_until),
        "transitions": [
            {"phase": phase.value, "at": stamps.micros(at)} for phase, at in migration.transitions
        ],
        "members": msgspec.to_builtins(members),
    }


def _stamp(at_seconds: float) -> str | None:
    return stamps.micros(at_seconds) if at_seconds else None


def _reference(owner: model.OwnerReference) -> dict[str, str]:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


def _member_body(
    member: model.MigrationMember, template: Mapping[str, Any] | None
) -> dict[str, Any]:
    shape = member.shape
    terms = None
    if shape.affinity is not None:
        terms = [
            {
                "matchExpressions": msgspec.to_builtins(term.expressions),
                "matchFields": msgspec.to_builtins(term.fields),
            }
            for term in shape.affinity
        ]
    body = {
        "pod": member.pod,
        "uid": member.uid,
        "source": member.source,
        "target": member.target,
        "index": member.index,
        "asked": member.asked,
        "requests": dict(shape.requests),
        "nodeSelector": dict(shape.node_selector) or None,
        "nodeAffinityTerms": terms,
        "tolerations": msgspec.to_builtins(shape.tolerations) or None,
        "hostPorts": msgspec.to_builtins(shape.host_ports) or None,
        "unmodelled": list(shape.unmodelled) or None,
        "template": template,
    }
    return {key: value for key, value in body.items() if value is not None}


def _migration(raw: Object) -> model.Migration:
    meta, spec, status = raw.metadata, raw.spec, raw.status or Status()
    by_uid = {m.uid: m for m in status.members or ()}
    return model.Migration(
        namespace=meta.namespace or "",
        name=meta.name,
        uid=model.Uid(meta.uid or ""),
        resource_version=meta.resource_version or "",
        created_at=stamps.parse(meta.creation_timestamp),
        job=model.JobKey(spec.job),
        owner=None if spec.owner is None else _owner(spec.owner),
        trigger=spec.trigger,
        mover=spec.mover,
        why=spec.why,
        gain_seconds=spec.gain_seconds,
        cost_seconds=spec.cost_seconds,
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        request=status.request,
        deadline=stamps.parse(status.deadline),
        ask_until=stamps.parse(status.ask_until),
        hold_until=stamps.parse(status.hold_until),
        transitions=tuple((t.phase, stamps.parse(t.at)) for t in status.transitions or ()),
        members=tuple(_member(m, by_uid.get(m.uid)) for m in spec.members),
        digest=digest(spec),
        signature=(meta.annotations or {}).get(labels.SPEC_SIGNATURE, ""),
    )


def _owner(raw: Reference) -> model.OwnerReference:
    return model.OwnerReference(raw.api_version, raw.kind, raw.name, model.Uid(raw.uid))


def _member(raw: Member, status: MemberStatus | None) -> model.MigrationMember:
    details = status or MemberStatus(raw.uid)
    return model.MigrationMember(
        pod=raw.pod,
        uid=model.Uid(raw.uid),
        source=model.NodeName(raw.source),
        target=model.NodeName(raw.target),
        shape=_shape(raw),
        index=raw.index,
        asked=raw.asked,
        replacement=details.replacement,
        replacement_uid=details.replacement_uid,
        node=details.node,
        acked_step=details.acked_step,
        ack_bytes=details.ack_bytes,
        ack_seconds=details.ack_seconds,
        resumed_step=details.resumed_step,
    )


def _shape(raw: Member) -> model.PodShape:
    terms = raw.node_affinity_terms
    return model.PodShape(
        requests=tuple(sorted((raw.requests or {}).items())),
        node_selector=tuple(sorted((raw.node_selector or {}).items())),
        affinity=None if terms is None else tuple(shapes.term(t) for t in terms),
        tolerations=shapes.tolerations(raw.tolerations),
        host_ports=tuple(raw.host_ports or ()),
        unmodelled=tuple(raw.unmodelled or ()),
    )


def _key(data: bytes | msgspec.Raw) -> str:
    try:
        meta = msgspec.json.decode(data, type=wire.Identified).metadata
    except (msgspec.DecodeError, ValueError):
        return "?"
    return f"{meta.namespace}/{meta.name}"
