"""Who is named before an owner has fewer workers: of a Deployment the controller goes by a mark.

The marks are written while the change stands at ``Asked``, and the smaller number only when all of
them were seen in the cluster. One that stays behind after a crash or an abort harms nobody: who has
it goes first the next time too.
"""

from extender.core.cluster import job_views
from extender.core.cluster.owner_changes import MarkPod
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import phases
from extender.core.kinds import registry
from extender.core.records import workers as crews
from extender.core.records.rescale import Noted, Phase, Records
from extender.core.records.workers import Crew


def missing(crew: Crew, to: int) -> tuple[MarkPod, ...]:
    """Return the marks that those who leave still need when ``to`` workers stay.

    None where the owner's own order says it already: who has no place goes before all others.
    """
    leaving = crew.surplus(to)
    if len(leaving) <= crew.waiting:
        return ()
    kind = registry.nominating(leaving[0].pod)
    if kind is None:
        return ()
    going, staying = [m.pod for m in leaving], [m.pod for m in crew.live[len(leaving) :]]
    wanted = kind.nominations(going, staying)
    return tuple(MarkPod(p.key, p.uid, wanted[p.key]) for p in going if p.key in wanted)


def marks(snapshot: Snapshot, book: Records) -> tuple[MarkPod, ...]:
    """Return the marks that are missing for changes under way."""
    return tuple(mark for noted in book.open for mark in of(snapshot, noted))


def of(snapshot: Snapshot, noted: Noted) -> tuple[MarkPod, ...]:
    """Return those of one change: of one that is asked for, and that nobody has interfered with."""
    owner, one = noted.owner, noted.rescale
    if one.phase is not Phase.ASKED or one.to == 0 or phases.number(owner) != one.before:
        return ()
    pods = snapshot.jobs.get(one.job, ())
    if not any(registry.nominating(pod) for pod in pods):
        return ()  # most kinds need none
    return missing(crews.of(snapshot, job_views.view(snapshot, one.job), owner), one.to)
