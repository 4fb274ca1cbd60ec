"""Groups of pods declared for other schedulers: raw JSON to ``shared.objects.owners.PodGroup``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from shared.kube import kept_keys, stamps
from shared.kube.kinds import Object, Unread
from shared.kube.parse import Data, controller, names_the_object
from shared.model import PodGroup, Uid

S = TypeVar("S")


class MemberSpec(Struct, rename="camel"):
    """``spec`` of Volcano's and of scheduler-plugins' PodGroup; 0 means not set."""

    min_member: Annotated[int, Meta(ge=0)] | None = None


class Gang(Struct, rename="camel"):
    """``schedulingPolicy.gang``."""

    min_count: Annotated[int, Meta(ge=1)]


class SchedulingPolicy(Struct):
    """``schedulingPolicy``: one of the two."""

    gang: Gang | None = None
    basic: Unread | None = None


class InTreeSpec(Struct, rename="camel"):
    """``spec`` of the in-tree PodGroup."""

    scheduling_policy: SchedulingPolicy | None = None


@dataclass(frozen=True)
class GroupKind:
    """A kind of PodGroup.

    Attributes:
        group: Its API group.
        versions: Readable versions; the first that the server has is read.
        decode: Raw JSON to the group.
    """

    group: str
    versions: tuple[str, ...]
    decode: Callable[[Data], PodGroup]


def _stated(spec: MemberSpec) -> int | None:
    return spec.min_member or None


def _in_tree(spec: InTreeSpec) -> int | None:
    """Return the gang's size; pods of a ``basic`` group are scheduled each alone."""
    policy = spec.scheduling_policy
    if policy is None:
        return None
    if policy.gang is not None:
        return policy.gang.min_count
    return None if policy.basic is None else 1


def _kind(
    group: str,
    versions: tuple[str, ...],
    whole: type[Object[S]],
    size: Callable[[S], int | None],
) -> GroupKind:
    decoder = msgspec.json.Decoder(whole)

    @names_the_object
    def decode(data: Data) -> PodGroup:
        raw = decoder.decode(data)
        meta = raw.metadata
        annotations, excess = kept_keys.keep_annotations(meta)
        return PodGroup(
            api_group=group,
            namespace=meta.namespace or "",
            name=meta.name,
            uid=Uid(meta.uid or ""),
            resource_version=meta.resource_version or "",
            annotations=annotations,
            excess=excess,
            min_member=None if raw.spec is None else size(raw.spec),
            controller=controller(meta),
            created_at=stamps.parse(meta.creation_timestamp),
        )

    return GroupKind(group, versions, decode)


GROUPS: Final = (
    _kind("scheduling.volcano.sh", ("v1beta1",), Object[MemberSpec], _stated),
    _kind("scheduling.x-k8s.io", ("v1alpha1",), Object[MemberSpec], _stated),
    _kind("scheduling.k8s.io", ("v1alpha2", "v1beta1"), Object[InTreeSpec], _in_tree),
)
"""Every such kind."""
