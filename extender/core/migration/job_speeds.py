"""How fast a job trains where it is, and in other places (docs/policies/migration_gain.md).

Without GPUs it is the CPU share of its slowest pod; with GPUs their speeds (``gpu_speed``). Either
is smaller where the job's members are apart, as its owner states it (``spread``).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from extender.core.migration import gpu_speed, spread
from extender.core.migration.hosts import Container, Hosts
from extender.core.migration.migration_gain import share_cores
from extender.core.migration.move_unit import MovingPods, places_of
from extender.core.records.migrations import TargetReservation
from shared.accelerators import is_gpu
from shared.model import NodeName

_ROUNDING: Final = 1e-9


def shares(
    hosts: Hosts, unit: MovingPods, arriving: Sequence[TargetReservation]
) -> tuple[float, float]:
    """Return the share of the slowest pod of a unit now, and in other places."""
    if gpu_speed.trains_on_gpus(unit):
        now, then = gpu_speed.speeds(unit, arriving, hosts.node_table)
    else:
        now, then = _slowest(hosts, unit)[0], _cores_then(hosts, unit, arriving)
    targets = {node for node, _ in arriving}
    together, after = spread.speeds(
        unit.job, unit.shapes.keys(), targets, hosts.node_table, hosts.topology
    )
    return now * together, then * after


def best_share(hosts: Hosts, unit: MovingPods) -> float:
    """Return the share that no place exceeds: by itself, on the best host, in one domain."""
    if gpu_speed.trains_on_gpus(unit):
        return gpu_speed.best(unit)
    _, most = _slowest(hosts, unit)
    return hosts.most_cores if most is None else most


def most_pods(hosts: Hosts, unit: MovingPods, least: float) -> Mapping[NodeName, int]:
    """Return how many pods of a unit a host may get that all have a share of at least ``least``.

    Hosts that may get all of them are left out. Of a unit with GPUs those that it is on get none.
    """
    if gpu_speed.trains_on_gpus(unit):
        return dict.fromkeys(unit.sources, 0)
    own = Counter(node for node, _ in places_of(unit))
    counts = {
        node: math.floor(hosts.cores(node) / least + _ROUNDING) - len(hosts.on(node)) + own[node]
        for node in hosts.reports
    }
    return {node: max(0, count) for node, count in counts.items() if count < len(unit.members)}


def change_for_others(
    hosts: Hosts, unit: MovingPods, arriving: Sequence[TargetReservation]
) -> float:
    """Return how other jobs' shares change: the sum of pods times the logarithm of the ratio.

    A unit leaves containers that get more CPU, and joins others that get less. Jobs with GPUs do
    not count.
    """
    change = Counter(node for node, _ in arriving)
    change.subtract(node for node, _ in places_of(unit))
    touched = {c.job for node, n in change.items() if n for c in hosts.on(node)} - {unit.key}
    return sum(_log_change(hosts, hosts.by_job[job], change) for job in sorted(touched))


def _log_change(hosts: Hosts, pods: Sequence[Container], change: Mapping[NodeName, int]) -> float:
    if any(is_gpu(name) for one in pods for name, _ in one.pod.shape.requests):
        return 0.0
    now = min(hosts.share(one.pod.uid, one.node)[0] for one in pods)
    then = min(hosts.share(one.pod.uid, one.node, change.get(one.node, 0))[0] for one in pods)
    return len(pods) * math.log(then / now) if now > 0 and then > 0 else 0.0


def _slowest(hosts: Hosts, unit: MovingPods) -> tuple[float, float | None]:
    """Return the cores of the slowest pod, and the most that it can use."""
    now = [hosts.share(member.pod.uid, member.node) for member in unit.members]
    return min(now, key=lambda pair: pair[0])


def _cores_then(hosts: Hosts, unit: MovingPods, arriving: Sequence[TargetReservation]) -> float:
    _, most = _slowest(hosts, unit)
    coming = Counter(node for node, _ in arriving)
    others = {node: sum(c.pod.uid not in unit.shapes for c in hosts.on(node)) for node in coming}
    then = (share_cores(hosts.cores(node), others[node] + n, most) for node, n in coming.items())
    return min(then, default=0.0)
