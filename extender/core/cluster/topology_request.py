"""What a job requests of the topology: by sets of its pods, each with its levels and slices.

An annotation on a pod counts for the pods of its role, one on an owner or a group for all roles
that state none. With our annotations the roles that state the same are one set. Kueue's are about a
pod set, which is a role here, unless ``podset-group-name`` joins several.

Source:
    Kueue v0.19, Topology Aware Scheduling: the annotations ``podset-required-topology``,
    ``podset-preferred-topology``, ``podset-slice-required-topology``, ``podset-slice-size`` and
    ``podset-slice-required-topology-constraints``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from extender.core.cluster import slice_request
from extender.core.cluster.slice_request import LevelRequest, SliceRequest
from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared import foreign_labels, labels
from shared.errors import InputError
from shared.model import Pod


@dataclass(frozen=True)
class TopologyRequest:
    """What one set of pods requests.

    Attributes:
        required: The level of which one domain must hold the set; None if none must.
        preferred: The level of which one domain, or few, should hold it; None if no matter.
        slices: The slices of the set, and those into which they are divided again, the largest
            first; each size divides the one before.
        equal: Domains hold equal numbers of its pods, or of its slices, or the set waits.
        joined_by: What Kueue's annotations are about; sets of another value are not the same set.
    """

    required: LevelRequest | None = None
    preferred: LevelRequest | None = None
    slices: tuple[SliceRequest, ...] = ()
    equal: bool = False
    joined_by: str = ""

    @property
    def keys(self) -> tuple[LevelRequest, ...]:
        """What can make the set wait, as its annotations state it."""
        return tuple(level for level, _ in self.confining)

    @property
    def has_parts(self) -> bool:
        """Several domains may take a part of the set each."""
        return self.preferred is not None or bool(self.slices)

    @property
    def confining(self) -> tuple[tuple[LevelRequest, int], ...]:
        """What one domain must hold, by its level: slices of so many pods, or with 0 the set."""
        whole = () if self.required is None else ((self.required, 0),)
        return (*whole, *((one.level, one.size) for one in self.slices))


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
        """Return the set without a level that it requires; None if it then requests nothing.

        With one layer of its slices the others go: one annotation states them.
        """
        request = self.request
        required = None if request.required == level else request.required
        slices = tuple(one for one in request.slices if one.level.key != level.key)
        rest = replace(request, required=required, slices=slices)
        rest = replace(rest, equal=rest.equal and rest.has_parts)
        return replace(self, request=rest) if rest.keys or rest.preferred else None


class RolePod(NamedTuple):
    """The first pod of a role."""

    role: str
    pod: Pod
    above: Owners


class _Keys(NamedTuple):
    """The annotations of one project; ``layers`` states several layers of slices in one text."""

    required: str
    preferred: str
    slice_level: str
    slice_size: str
    layers: str = ""


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
    foreign_labels.KUEUE_SLICE_LAYERS,
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
    equal = _equal(one)
    requests = (_stated(one, keys, equal=equal) for keys in (_OURS, _KUEUE))
    found = next((request for request in requests if request.keys or request.preferred), None)
    if equal and (found is None or not found.has_parts):
        beside = f"{labels.PREFERRED_TOPOLOGY} or {labels.SLICE_REQUIRED_TOPOLOGY}"
        expected = f"useful without {beside}, which name the domains"
        raise InputError(f"annotation {labels.EQUAL_PARTS}", "required", expected)
    return found


def _stated(one: RolePod, keys: _Keys, *, equal: bool) -> TopologyRequest:
    return TopologyRequest(
        _level(one, keys.required),
        _level(one, keys.preferred),
        _slices(one, keys),
        equal=equal,
        joined_by=_joined_by(one) if keys is _KUEUE else "",
    )


def _equal(one: RolePod) -> bool:
    """Return True if domains have to hold equal parts.

    Raises:
        InputError: The annotation has another value.
    """
    text = registry.annotation(one.pod, one.above, labels.EQUAL_PARTS)
    if text not in {None, "required", "preferred"}:
        raise InputError(f"annotation {labels.EQUAL_PARTS}", str(text), "required or preferred")
    return text == "required"


def _joined_by(one: RolePod) -> str:
    group = registry.annotation(one.pod, one.above, foreign_labels.KUEUE_PODSET_GROUP)
    return f"role {one.role}" if group is None else f"group {group}"


def _level(one: RolePod, key: str) -> LevelRequest | None:
    text = registry.annotation(one.pod, one.above, key)
    return None if text is None else LevelRequest(key, text)


def _slices(one: RolePod, keys: _Keys) -> tuple[SliceRequest, ...]:
    level = _level(one, keys.slice_level)
    size = registry.annotation(one.pod, one.above, keys.slice_size)
    text = registry.annotation(one.pod, one.above, keys.layers) if keys.layers else None
    if text is not None:
        if level is not None or size is not None:
            other = keys.slice_size if level is None else keys.slice_level
            expected = f"alone: {other} states slices, too"
            raise InputError(f"annotation {keys.layers}", text, expected)
        return slice_request.of_json(keys.layers, text)
    if level is None and size is None:
        return ()
    if level is None:
        expected = f"complete: {keys.slice_level}, the level of a slice, is missing"
        raise InputError(f"annotation {keys.slice_size}", str(size), expected)
    if size is None:
        expected = f"complete: {keys.slice_size}, the number of pods of a slice, is missing"
        raise InputError(f"annotation {level.key}", level.text, expected)
    return slice_request.of_lists(level.key, level.text, (keys.slice_size, size))
