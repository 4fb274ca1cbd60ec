"""Moves of converged containers: SpeCon's Algorithm 1 (the request) and 2 (the target).

The agents classify the containers; this module is the end of Algorithm 1, the request to move.

Source:
    Mao et al., IEEE Systems Journal 2021, arXiv 2010.11307 (docs/policies/migration_target.md).
"""

from dataclasses import replace

from extender.core.migration import migration_target
from extender.core.migration.hosts import Container
from extender.core.migration.move_unit import MoveRefusal, MoveUnit
from extender.core.migration.proposals import MOST_EXAMINED, Proposals
from extender.core.records.migration_reasons import MigrationReason as R
from shared.model import JobKey, NodeName, Trigger, Uid
from shared.progress import Category, Progress


def propose(proposals: Proposals) -> None:
    """Propose a move for every container that requests one, in order of convergence."""
    _decline_unreported(proposals)
    handled: set[Uid] = set()
    for container in _requesting(proposals):
        uid = container.pod.uid
        if uid in handled:
            continue
        unit = proposals.unit(uid)
        if isinstance(unit, MoveRefusal):
            proposals.decline(container.job, unit)
            continue
        handled |= unit.shapes.keys()
        if _is_converged(unit) and (refusal := _move(proposals, unit, container)):
            proposals.decline(container.job, refusal)


def _decline_unreported(proposals: Proposals) -> None:
    """Decline jobs that opted in but whose training progress is unknown.

    One member that reports progress is enough: of most gangs only rank 0 writes metrics.
    """
    known: dict[JobKey, bool] = {}
    for uid, container in proposals.hosts.containers.items():
        reported = container.node in proposals.hosts.reports and uid not in proposals.moving
        if reported and proposals.opted_in(container.pod):
            has_progress = _progress(proposals, container) is not None
            known[container.job] = known.get(container.job, False) or has_progress
    for job, has_progress in known.items():
        declined = proposals.declined.get(job)
        if not has_progress:
            proposals.decline(job, MoveRefusal(R.NO_PROGRESS))
        elif declined is not None and declined.reason == R.NO_PROGRESS:
            del proposals.declined[job]


def _requesting(proposals: Proposals) -> list[Container]:
    """Return the containers in CC with a recent report, in order of convergence.

    Of too many, those come first that were not examined for longest.
    """
    requesting = [
        (progress.converged_at or 0.0, container.pod.uid, container)
        for container in proposals.hosts.containers.values()
        if (progress := _progress(proposals, container)) is not None
        and container.pod.uid not in proposals.moving
        and _requests(progress, on_enter=proposals.params.request_on_enter)
    ]
    requesting.sort(key=lambda entry: entry[:2])
    if len(requesting) > MOST_EXAMINED:
        requesting.sort(key=lambda entry: proposals.examined_at(entry[2].job))  # stable
        requesting = sorted(requesting[:MOST_EXAMINED], key=lambda entry: entry[:2])
    return [container for _, _, container in requesting]


def _progress(proposals: Proposals, container: Container) -> Progress | None:
    report = proposals.hosts.reports.get(container.node)
    pod = report.pods.get(container.pod.uid) if report else None
    return pod.progress if pod else None


def _requests(progress: Progress, *, on_enter: bool) -> bool:
    """Return True for a converged container; unless ``on_enter`` only after a further value."""
    if progress.category is not Category.CONVERGED:
        return False
    return on_enter or progress.updated_at > (progress.converged_at or 0.0)


def _is_converged(unit: MoveUnit) -> bool:
    """Return True if all pods of the unit that report progress have converged."""
    reported = [report.progress for report in unit.reports.values() if report.progress]
    return all(progress.category is Category.CONVERGED for progress in reported)


def _move(proposals: Proposals, unit: MoveUnit, container: Container) -> MoveRefusal | None:
    peers = max(_fast(proposals, node) for node in unit.sources)
    if peers < proposals.params.min_fast_peers:
        return MoveRefusal(R.NO_FAST_PEERS)
    if refusal := proposals.allowed(unit, Trigger.CONVERGED):
        return refusal
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
    containers = proposals.hosts.on(node)
    return sum(container.category is not Category.CONVERGED for container in containers)


def _target(
    proposals: Proposals, unit: MoveUnit, container: Container, fitting: frozenset[NodeName]
) -> NodeName | None:
    """Return Algorithm 2's choice; a gang is compared by the node with most of its pods."""
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
