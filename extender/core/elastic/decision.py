"""One look at all changes of workers: open ones go a step further, then new ones begin.

1. Every open change: its next step (``scaling.stepping``). The owner's annotation says how far it
   is; nothing of it is remembered here.
2. Where it is time to: what slot plans and DRS propose is begun, if the job may change now
   (``scaling.choosing``).
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from extender.core.cluster import jobs
from extender.core.cluster.owner_changes import ChangeOwner, MarkPod
from extender.core.cluster.session import Reading
from extender.core.cluster.snapshot import Snapshot
from extender.core.elastic import choosing, nominating, speeds, state, stepping
from extender.core.elastic.phases import Case
from extender.core.elastic.sources import proposals
from extender.core.elastic.speeds import SpeedMemory
from extender.core.elastic.state import Ended, RescaleMemory
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.records import rescale, workers
from extender.core.records.rescale import Noted, Proposal, Records, Rescale
from shared.model import JobKey

Propose = Callable[
    [Snapshot, QueueState, SpeedMemory, Reading, CoreParameters], tuple[Proposal, ...]
]
"""Who says what should change: ``sources.proposals``, or a test."""


class RescaleOccasion(Struct, frozen=True):
    """What a look is given beside the cluster.

    Attributes:
        reading: The clocks.
        due: Whether new changes may begin now.
    """

    reading: Reading
    due: bool


@dataclass(frozen=True)
class RescaleLook:
    """What one look decided.

    Attributes:
        commands: At most one for each owner.
        memory: For the next look.
        ended: Changes that ended since the last one.
        marks: What pods that are to leave still lack.
    """

    commands: tuple[ChangeOwner, ...]
    memory: RescaleMemory
    ended: tuple[Ended, ...] = ()
    marks: tuple[MarkPod, ...] = ()


def look(
    snapshot: Snapshot,
    queue: QueueState,
    memory: RescaleMemory,
    occasion: RescaleOccasion,
    params: CoreParameters,
    propose: Propose = proposals,
) -> RescaleLook:
    """Decide on all changes; the same arguments give the same answer.

    Args:
        snapshot: The cluster.
        queue: What the last scheduling cycle remembered.
        memory: What the last look left.
        occasion: See there.
        params: All of them.
        propose: Who says what should change.
    """
    reading, book = occasion.reading, rescale.of(snapshot)
    memory, ended = state.followed(memory, book, reading.now)
    stale_seconds = params.agent_reports.stale_seconds
    learned = speeds.learned(memory.speeds, snapshot, reading, stale_seconds)
    memory = state.measured(replace(memory, speeds=learned))
    steps = (_step(snapshot, book, noted, reading, params) for noted in book.open)
    commands = tuple(command for command in steps if command is not None)
    if occasion.due:
        found = propose(snapshot, queue, learned, reading, params)
        chosen = choosing.choose(snapshot, book, found, reading, params)
        commands += chosen.commands
        memory = replace(memory, declined=chosen.declined)
    return RescaleLook(commands, memory, ended, nominating.marks(snapshot, book))


def _step(
    snapshot: Snapshot, book: Records, noted: Noted, reading: Reading, params: CoreParameters
) -> ChangeOwner | None:
    owner, one = noted.owner, noted.rescale
    job = jobs.view(snapshot, one.job) if one.job in snapshot.jobs else None
    return stepping.step(
        Case(
            snapshot=snapshot,
            reading=reading,
            params=params,
            owner=owner,
            rescale=one,
            job=job,
            crew=workers.of(snapshot, job, owner),
            beside=book.beside(one),
            unmarked=_unmarked(snapshot, book, one),
            migrating=any(m.open and m.job == one.job for m in snapshot.migrations.values()),
        )
    )


def _unmarked(snapshot: Snapshot, book: Records, one: Rescale) -> frozenset[JobKey]:
    found = (book.by_job.get(beside.job) for beside in book.beside(one))
    return frozenset(n.rescale.job for n in found if n and nominating.of(snapshot, n))
