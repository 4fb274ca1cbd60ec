"""Evictions of the Eviction Request API: raw JSON to ``shared.objects.disruptions``.

Source:
    k8s.io/api v0.37.2 lifecycle/v1alpha1 (KEP-4563): ``status.targetResponders`` says whose turn it
    is, ``status.responders`` is where that one reports.
"""

from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import stamps
from shared.kube.parse import Data, names_the_object
from shared.kube.wire import Meta
from shared.objects.disruptions import RESPONDER, Eviction, Turn


class _PodReference(Struct):
    """``spec.target.pod``."""

    name: str = ""
    uid: str = ""


class _Target(Struct):
    """``spec.target``."""

    pod: _PodReference | None = None


class _Spec(Struct):
    """``spec``."""

    target: _Target | None = None


class _TargetResponder(Struct):
    """``status.targetResponders[]``."""

    name: str = ""
    state: str = ""


class _Responder(Struct, rename="camel"):
    """``status.responders[]``."""

    name: str = ""
    start_time: str | None = None
    heartbeat_time: str | None = None
    completion_time: str | None = None
    message: str | None = None


class _Status(Struct, rename="camel"):
    """``status``."""

    target_responders: list[_TargetResponder] | None = None
    responders: list[_Responder] | None = None


class _Eviction(Struct):
    """An Eviction."""

    metadata: Meta
    spec: _Spec | None = None
    status: _Status | None = None


_DECODER: Final = msgspec.json.Decoder(_Eviction)


@names_the_object
def decode(data: Data) -> Eviction:
    """Return an Eviction, and how far it is for us.

    Raises:
        OddObjectError: It cannot be read.
    """
    raw = _DECODER.decode(data)
    status = raw.status or _Status()
    pod = (raw.spec and raw.spec.target and raw.spec.target.pod) or _PodReference()
    states = (one.state for one in status.target_responders or () if one.name == RESPONDER)
    ours = ((i, r) for i, r in enumerate(status.responders or ()) if r.name == RESPONDER)
    row, report = next(ours, (0, _Responder()))
    return Eviction(
        namespace=raw.metadata.namespace or "",
        name=raw.metadata.name,
        uid=raw.metadata.uid or "",
        resource_version=raw.metadata.resource_version or "",
        pod=pod.name,
        pod_uid=pod.uid,
        turn=Turn.named(next(states, "")),
        row=row,
        started_at=stamps.parse(report.start_time),
        heartbeat_at=stamps.parse(report.heartbeat_time),
        completed_at=stamps.parse(report.completion_time),
        message=report.message or "",
    )
