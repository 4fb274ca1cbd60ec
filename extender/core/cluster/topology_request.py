"""What a job requests of the topology: by sets of its pods, each with its levels and slices.

An annotation on a pod counts for the pods of its role, one on an owner or a group for all roles
that state none. With our annotations the roles that state the same are one set. Kueue's are about a
pod set, which is a role here, unless ``podset-group-name`` joins several.

Source:
    Kueue v0.19, Topology Aware Scheduling: the annotations ``podset-required-topology``,
    ``podset-preferred-topology``, ``podset-slice-required-topology`` and ``podset-slice-size``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.model import Pod

_SIZE: Final = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class LevelRequest:
    """A level that an annotation names.

    Attributes:
        key: The annotation.
        text: Name or label of the level; the settings decide whether it exists.
        size: Annotation and text that mean nothing without it: the size of slices; None for none.
    """

    key: str
    text: str
    size: tuple[str, str] | None = None


@dataclass(frozen=True)
class SliceRequest:
    """Slices of a stated size, each inside one domain.

    Attributes:
        level: The level of these domains.
        size: How many pods make a slice.
    """

    level: LevelRequest
    size: int


@dataclass(frozen=True)
class TopologyRequest:
    """What one set of pods requests.

    Attributes:
        required: The level of which one domain must hold the set; None if none must.
        preferred: The level of which one domain, or few, should hold it; None if no matter.
        slices: The slices of the set; None if it has none.
        joined_by: What Kueue's annotations are about; sets of another value are not the same set.
    """

    required: LevelRequest | None = None
    preferred: LevelRequest | None = None
    slices: SliceRequest | None = None
    joined_by: str = ""

    @property
    def keys(self) -> tuple[LevelRequest, ...]:
        """What can make the set wait, as its annotations state it."""
        found = (self.required, self.slices.level if self.slices else None)
        return tuple(one for one in found if one is not None)


@dataclass(frozen=True)
class PodSet:
    """Pods of a job that request something together.

    Attributes:
        request: What they request.
        roles: Their roles; empty: all pods of the job.
    """

    request: TopologyRequest
    roles: frozenset[str] = frozenset()

    def has(self, role: str) -> bool:
        """Return True if pods of the role are in the set."""
        return not self.roles or role in self.roles

    def without(self, level: LevelRequest) -> "PodSet | None":
        """Return the set without a level that it requires; None if it then requests nothing."""
        request = self.request
        required = None if request.required == level else request.required
        slices = request.slices
        if slices is not None and slices.level == level:
            slices = None
        rest = replace(request, required=required, slices=slices)
        return replace(self, request=rest) if rest.keys or rest.preferred else None


class RolePod(NamedTuple):
    """The first pod of a role."""

    role: str
    pod: Pod
    above: Owners


class _Keys(NamedTuple):
    """The annotations of one project."""

    required: str
    preferred: str
    slice_level: str
    slice_size: str


_OURS: Final = _Keys(
    labels.REQUIRED_TOPOLOGY,
    labels.PREFERRED_TOPOLOGY,
    labels.SLICE_REQUIRED_TOPOLOGY,
    labels.SLICE_SIZE,
)
_KUEUE: Final = _Keys(
    foreign_labels.KUEUE_REQUIRED_TOPOLOGY,
    foreign_labels.KUEUE_PREFERRED_TOPOLOGY,
    foreign_labels.KUEUE_SLICE_REQUIRED_TOPOLOGY,
    foreign_labels.KUEUE_SLICE_SIZE,
)


def first_of_each_role(members: Iterable[tuple[Pod, Owners, str]]) -> list[RolePod]:
    """Return one pod of each role: the others come from the same template."""
    first: dict[str, RolePod] = {}
    for pod, above, role in members:
        if role not in first:
            first[role] = RolePod(role, pod, above)
    return list(first.values())


def pod_sets(roles: Sequence[RolePod]) -> tuple[PodSet, ...]:
    """Return the sets of a job that request anything, in the order of its roles.

    Raises:
        InputError: An annotation cannot be used.
    """
    joined: dict[TopologyRequest, set[str]] = {}
    for one in roles:
        request = _request(one)
        if request is not None:
            joined.setdefault(request, set()).add(one.role)
    every = len(roles)
    return tuple(
        PodSet(request, frozenset() if len(names) == every else frozenset(names))
        for request, names in joined.items()
    )


def _request(one: RolePod) -> TopologyRequest | None:
    """Return what our annotations request, else what those of Kueue do."""
    for keys in (_OURS, _KUEUE):
        request = TopologyRequest(
            _level(one, keys.required),
            _level(one, keys.preferred),
            _slices(one, keys),
            _joined_by(one) if keys is _KUEUE else "",
        )
        if request.keys or request.preferred:
            return request
    return None


def _joined_by(one: RolePod) -> str:
    group = registry.annotation(one.pod, one.above, foreign_labels.KUEUE_PODSET_GROUP)
    return f"role {one.role}" if group is None else f"group {group}"


def _level(one: RolePod, key: str) -> LevelRequest | None:
    text = registry.annotation(one.pod, one.above, key)
    return None if text is None else LevelRequest(key, text)


def _slices(one: RolePod, keys: _Keys) -> SliceRequest | None:
    level = _level(one, keys.slice_level)
    size = registry.annotation(one.pod, one.above, keys.slice_size)
    if level is None and size is None:
        return None
    if level is None:
        expected = f"{keys.slice_level} beside it, which names the level of a slice"
        raise InputError(f"annotation {keys.slice_size}", str(size), expected)
    if size is None:
        expected = f"{keys.slice_size} beside it, the number of pods of a slice"
        raise InputError(f"annotation {level.key}", level.text, expected)
    if _SIZE.fullmatch(size) is None:
        raise InputError(f"annotation {keys.slice_size}", size, "a number of pods, at least 1")
    return SliceRequest(replace(level, size=(keys.slice_size, size)), int(size))
