"""What the gangs of waiting jobs need at once, in as few classes of pods as the queue has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from extender.core.cluster.jobs import UNPLANNED_STATES, Job, in_order
from extender.core.nodes.node_table import IntVector, NodeTable
from extender.core.placement import planner
from extender.core.queue.room import PodClass
from shared.model import JobKey, PodShape

MOST_CLASSES: Final = 200
"""Of more classes the amounts are rounded up, until they are no more."""

MOST_DIGITS: Final = 6
"""Binary digits that the first rounding keeps."""


class Part(NamedTuple):
    """Pods of one class: its number, how many, and the shape of one of them."""

    number: int
    pods: int
    shape: PodShape


@dataclass(frozen=True)
class GangNeeds:
    """What gangs need.

    Attributes:
        classes: The classes of their pods.
        parts: What each job needs, the largest part first; jobs of classes beyond ``MOST_CLASSES``
            are missing.
    """

    classes: Sequence[PodClass]
    parts: Mapping[JobKey, tuple[Part, ...]]


def gang_needs(jobs: Sequence[Job], table: NodeTable) -> GangNeeds:
    """Return what each gang needs to start, of the members that have no node yet."""
    needed = {job.key: _needed(job) for job in jobs}
    shapes = {id(shape): shape for shapes in needed.values() for shape in shapes}
    every = {at: _pod_class(shape, table) for at, shape in shapes.items()}
    number_of, classes = _numbered(every)
    for digits in range(MOST_DIGITS, 0, -1):
        if len(classes) <= MOST_CLASSES:
            break
        rounded = {
            at: PodClass(_rounded(one.request, digits), one.allowed) for at, one in every.items()
        }
        number_of, classes = _numbered(rounded)
    parts = {key: _parts(needed, number_of) for key, needed in needed.items()}
    known = {
        key: found
        for key, found in parts.items()
        if found and all(part.number < MOST_CLASSES for part in found)
    }
    return GangNeeds(classes[:MOST_CLASSES], known)


def _needed(job: Job) -> list[PodShape]:
    """Return the shapes of the members that must start together."""
    waiting = in_order(job.having(*UNPLANNED_STATES))
    return [member.shape for member in waiting[: max(1, planner.missing(job))]]


def _pod_class(shape: PodShape, table: NodeTable) -> PodClass:
    request = table.request(shape)
    if request is None:  # no node has all that it requests
        nothing = np.zeros(len(table.resources), dtype=np.int64)
        return PodClass(nothing, np.zeros(len(table.nodes), dtype=np.bool_))
    return PodClass(request, table.classes.mask(shape))


def _numbered(every: Mapping[int, PodClass]) -> tuple[Mapping[int, int], Sequence[PodClass]]:
    """Return the number of the class of each shape, and the different classes."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    classes: list[PodClass] = []
    number_of: dict[int, int] = {}
    for at, one in every.items():
        number = numbers.setdefault((one.request.tobytes(), one.allowed.tobytes()), len(classes))
        if number == len(classes):
            classes.append(one)
        number_of[at] = number
    return number_of, classes


def _parts(shapes: Sequence[PodShape], number_of: Mapping[int, int]) -> tuple[Part, ...]:
    counts = Counter(number_of[id(shape)] for shape in shapes)
    first = {number_of[id(shape)]: shape for shape in reversed(shapes)}
    return tuple(Part(number, count, first[number]) for number, count in counts.most_common())


def _rounded(amounts: IntVector, digits: int) -> IntVector:
    """Return amounts rounded up to so many binary digits."""
    step = [1 << max(0, int(amount).bit_length() - digits) for amount in amounts]
    steps = np.array(step, dtype=np.int64)
    rounded: IntVector = -(-amounts // steps) * steps
    return rounded
