"""Target of a converged container: SpeCon's Algorithm 2 (docs/policies/migration_target.md).

Names are the paper's: a host (worker) has progressing, watching and converged containers, and a
container is one training pod.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extender.core.parameters.migration import TargetParameters
from shared.model import NodeName
from shared.progress import Category

DIGITS: Final = 9
"""Scores are rounded to this many digits first, so that names decide and not rounding."""


@dataclass(frozen=True)
class Host:
    """A host in the terms of Algorithm 2.

    Attributes:
        name: The node.
        progressing: |PC|, containers there that progress.
        watching: |WC|.
        converged: |CC|.
        use_ratio: R, the part of its CPU that is in use, 0…1; None if unknown: it loses ties.
        fits: Whether the container could go there; ignored for the host it is on.
    """

    name: NodeName
    progressing: int = 0
    watching: int = 0
    converged: int = 0
    use_ratio: float | None = None
    fits: bool = True

    @property
    def containers(self) -> int:
        """|w|, all containers there."""
        return self.progressing + self.watching + self.converged


def counted(
    host: Host, containers: Iterable[tuple[Category, bool]], params: TargetParameters
) -> Host:
    """Return ``host`` with the counts of its containers, each a category and whether it was moved.

    Whether a container that was moved counts as progressing is ``params.moved_as_progressing``.
    """
    categories = Counter(
        Category.PROGRESSING if moved and params.moved_as_progressing else category
        for category, moved in containers
    )
    return replace(
        host,
        progressing=categories[Category.PROGRESSING],
        watching=categories[Category.WATCHING],
        converged=categories[Category.CONVERGED],
    )


def score(host: Host, params: TargetParameters) -> float:
    """Return S = |PC|·w_pc + |WC|·w_wc + |CC|·w_cc; the lower, the more room it will have.

    Source:
        As ``TargetParameters``, Algorithm 2, line 3.
    """
    return (
        host.progressing * params.progressing_weight
        + host.watching * params.watching_weight
        + host.converged * params.converged_weight
    )


def choose(
    source: NodeName, category: Category, hosts: Sequence[Host], params: TargetParameters
) -> NodeName | None:
    """Return the host a container of ``source`` goes to; None if it stays.

    1. S of every host that fits, and of ``source``; min(S) once, over all of them
    2. ``source`` has min(S): it stays
    3. otherwise the host with min(S) that is used least; equal or unknown use: first name

    Args:
        source: The host the container is on; if it is not in ``hosts``, the container always moves.
        category: What the container counts as on ``source``, for ``exclude_own``.
        hosts: All hosts, ``source`` with the container counted.
        params: Weights and options.

    Source:
        As ``TargetParameters``, Algorithm 2, with min(S) computed once and one migration instead
        of one for each member of T.
    """
    scores = {
        host.name: _score(host, source, category, params)
        for host in hosts
        if host.fits or host.name == source
    }
    least = min(scores.values(), default=None)
    if least is None or scores.get(source) == least:
        return None
    best = [host for host in hosts if scores.get(host.name) == least]
    return min(best, key=_least_used).name


def _score(host: Host, source: NodeName, category: Category, params: TargetParameters) -> float:
    own = params.weight(category) if params.exclude_own and host.name == source else 0.0
    return round(score(host, params) - own, DIGITS)


def _least_used(host: Host) -> tuple[bool, float, NodeName]:
    return (host.use_ratio is None, host.use_ratio or 0.0, host.name)
