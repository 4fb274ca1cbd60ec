"""Converged containers that ask for another node, and the node they get: SpeCon, Algorithms 1, 2.

The agents decide who is converged; here is the end of Algorithm 1, the request, with its rule.

Source:
    Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307 (docs/policies/migration_target.md).
"""

from dataclasses import replace

from extender.core.migration import migration_target
from extender.core.migration.hosts import Container
from extender.core.migration.move_unit import MoveRefusal, MoveUnit
from extender.core.migration.proposals import MOST_EXAMINED, Proposals
from extender.core.records.migration_reasons import MigrationReason as R
from shared.model import NodeName, Trigger, Uid
from shared.progress import Category, Progress


def propose(proposals: Proposals) -> None:
    """Propose a move for every container that asks, the first converged in front."""
    _decline_unreported(proposals)
    seen: set[Uid] = set()
    for container in _asking(proposals):
        uid = container.pod.uid
        if uid in seen:
            continue
        unit = proposals.unit(uid)
        if isinstance(unit, MoveRefusal):
            proposals.decline(container.job, unit)
            continue
        seen |= unit.shapes.keys()
        if _is_converged(unit) and (why := _move(proposals, unit, container)):
            proposals.decline(container.job, why)


def _decline_unreported(proposals: Proposals) -> None:
    """Say of jobs that are opted in, and of whose training nothing is known, that it is so."""
    for uid, container in proposals.hosts.containers.items():
        job, known = container.job, proposals.declined.get(container.job)
        heard = container.node in proposals.hosts.reports and uid not in proposals.moving
        if not heard or not proposals.opted_in(container.pod):
            continue
        if _progress(proposals, container) is None:
            proposals.decline(job, MoveRefusal(R.NO_PROGRESS))
        elif known is not None and known.reason == R.NO_PROGRESS:
            del proposals.declined[job]


def _asking(proposals: Proposals) -> list[Container]:
    """Containers in CC whose host was heard, in the order in which they converged.

    Of very many those are taken that were not looked at for longest.
    """
    known = [
        (progress.converged_at or 0.0, container.pod.uid, container)
        for container in proposals.hosts.containers.values()
        if (progress := _progress(proposals, container)) is not None
        and container.pod.uid not in proposals.moving
        and _asks(progress, on_enter=proposals.params.request_on_enter)
    ]
    known.sort(key=lambda one: one[:2])
    if len(known) > MOST_EXAMINED:
        known.sort(key=lambda one: proposals.looked_at(one[2].job))  # stable
        known = sorted(known[:MOST_EXAMINED], key=lambda one: one[:2])
    return [container for _, _, container in known]


def _progress(proposals: Proposals, container: Container) -> Progress | None:
    report = proposals.hosts.reports.get(container.node)
    pod = report.pods.get(container.pod.uid) if report else None
    return pod.progress if pod else None


def _asks(progress: Progress, *, on_enter: bool) -> bool:
    """One tick after it converged a further value has come, as far as this side can see it."""
    if progress.category is not Category.CONVERGED:
        return False
    return on_enter or progress.updated_at > (progress.converged_at or 0.0)


def _is_converged(unit: MoveUnit) -> bool:
    """A gang converges when all of it has, as far as its pods say anything."""
    known = [report.progress for report in unit.reports.values() if report.progress]
    return all(progress.category is Category.CONVERGED for progress in known)


def _move(proposals: Proposals, unit: MoveUnit, container: Container) -> MoveRefusal | None:
    peers = max(_fast(proposals, node) for node in unit.sources)
    if peers < proposals.params.min_fast_peers:
        return MoveRefusal(R.NO_FAST_PEERS)
    if why := proposals.allowed(unit, Trigger.CONVERGED):
        return why
    fitting = proposals.hosts.fitting(unit) - set(unit.sources)
    if not fitting:
        return MoveRefusal(R.NO_NODE_FITS)
    target = _target(proposals, unit, container, fitting)
    if target is None:
        proposals.stayed.setdefault(unit.lead.pod.uid, proposals.reading.now)
        return MoveRefusal(R.BEST_NODE_ALREADY)
    return proposals.begin(unit, target, Trigger.CONVERGED)


def _fast(proposals: Proposals, node: NodeName) -> int:
    """|PC| + |WC| of a host."""
    here = proposals.hosts.on(node)
    return sum(container.category is not Category.CONVERGED for container in here)


def _target(
    proposals: Proposals, unit: MoveUnit, container: Container, fitting: frozenset[NodeName]
) -> NodeName | None:
    """Return Algorithm 2's choice; a gang is compared by the node that holds most of it."""
    params, hosts = proposals.params.target, proposals.hosts
    if len(unit.members) == 1:
        compared = hosts.compared(container.node, fitting, params)
        counts_as = container.counts_as(params)
        return migration_target.choose(container.node, counts_as, compared, params)
    held = [member.node for member in unit.members]
    source = max(unit.sources, key=lambda node: (held.count(node), node))
    rest = hosts.without(unit) if params.exclude_own else hosts
    compared = rest.compared(source, fitting, params)
    whole = replace(params, exclude_own=False)
    return migration_target.choose(source, container.category, compared, whole)
