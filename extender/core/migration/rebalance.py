"""SpeCon's Algorithm 3: which containers go to hosts that ran short (docs/policies/rebalance.md).

``Move`` and ``Fits`` are shared with ``count_balance``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from extender.core.parameters.migration import RebalanceParameters, RebalanceWhen
from shared.model import NodeName, Uid

Fits = Callable[[Uid, NodeName], bool]
"""Whether the container of this uid could go to this host as the hosts are now.

It ignores the other moves of the same plan: the caller reserves one move after the other and leaves
out those that do not fit any more.
"""


@dataclass(frozen=True)
class Move:
    """One container goes to another host.

    Attributes:
        uid: The container's pod.
        source: The host it is on.
        target: The host it goes to; never ``source``.
    """

    uid: Uid
    source: NodeName
    target: NodeName


@dataclass(frozen=True)
class Movable:
    """A container that may be rebalanced: it was migrated, and not rebalanced yet.

    Attributes:
        uid: Its pod.
        host: The host it is on.
        converged_at: When it converged, or was migrated if that is unknown; seconds on a clock that
            all containers share.
    """

    uid: Uid
    host: NodeName
    converged_at: float


def plan(
    counts: Mapping[NodeName, int],
    movable: Sequence[Movable],
    fits: Fits,
    params: RebalanceParameters,
    *,
    all_converged: bool = False,
    use_ratio: Mapping[NodeName, float] | None = None,
) -> tuple[Move, ...]:
    """Return the moves that fill the hosts that have run short, in the order to be made.

    1. bf = ⌊containers / hosts⌋
    2. T = the empty hosts, with the goal bf; if there are none, or nothing fits them, T = the hosts
       below bf - 1, with the goal bf - 1
    3. for w in T, fewest containers first: while w is below its goal, the most recently
       converged container of a host with more than bf that fits w goes there
    4. again from 2 until nothing is planned

    After the moves of a plan, the next plan is empty; every move makes two hosts more equal.

    Args:
        counts: Active containers by host; hosts that take no containers are left out.
        movable: Containers that may move; each moves at most once.
        fits: Whether a container fits a host.
        params: When rebalancing happens.
        all_converged: Whether every active container is converged.
        use_ratio: CPU in use by host, which decides between hosts with equally few containers.

    Source:
        As ``RebalanceParameters``, Algorithm 3; ours: step 4, the loop up to bf, the guard of the
        source, and that hosts for which nothing fits do not block the others.
    """
    if params.when is RebalanceWhen.NEVER or not counts:
        return ()
    if params.when is RebalanceWhen.ALL_CONVERGED and not all_converged:
        return ()
    balancing = _Balancing(dict(counts), list(movable), fits, dict(use_ratio or {}))
    while balancing.fill_empty() or balancing.fill_short():
        pass
    return tuple(balancing.moves)


@dataclass
class _Balancing:
    """The state of one plan; it lives as long as one call of ``plan``."""

    counts: dict[NodeName, int]
    movable: list[Movable]
    fits: Fits
    use_ratio: dict[NodeName, float]
    moves: list[Move] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.factor = sum(self.counts.values()) // len(self.counts)
        self.movable.sort(key=lambda c: (-c.converged_at, c.uid))

    def fill_empty(self) -> bool:
        """Bring empty hosts to bf; return whether anything moved."""
        return self._fill([w for w, n in self.counts.items() if n == 0], self.factor)

    def fill_short(self) -> bool:
        """Bring hosts below bf - 1 to bf - 1; return whether anything moved."""
        goal = self.factor - 1
        return self._fill([w for w, n in self.counts.items() if n < goal], goal)

    def _fill(self, targets: list[NodeName], goal: int) -> bool:
        before = len(self.moves)
        for target in sorted(targets, key=self._fewest):
            while self.counts[target] < goal and self._move_to(target):
                pass
        return len(self.moves) > before

    def _fewest(self, host: NodeName) -> tuple[int, float, NodeName]:
        return (self.counts[host], self.use_ratio.get(host, 1.0), host)

    def _move_to(self, target: NodeName) -> bool:
        for container in self.movable:
            # hosts of T never have more than bf, so this also keeps them from being sources
            if self.counts.get(container.host, 0) > self.factor and self.fits(
                container.uid, target
            ):
                self.movable.remove(container)
                self.counts[container.host] -= 1
                self.counts[target] += 1
                self.moves.append(Move(container.uid, container.host, target))
                return True
        return False
