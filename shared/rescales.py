"""The ledger of rescales, as ``/v1/rescales`` says it: whose workers changed, why, to what end.

Times are seconds since the epoch.
"""

from msgspec import Struct

from shared.answer import Listed
from shared.ledger import Declined


class RescaleEntry(Struct, frozen=True, kw_only=True):
    """A change of a job's workers, open or ended.

    Attributes:
        id: Its name.
        job: The job's name.
        kind: What the job is: ``job``, ``statefulset``, …
        cause: Why it was begun, a token: ``MoreImportant``, ``SavesTime``, ``Slot``, …
        before: Workers before it.
        to: Workers it leads to; 0: the job pauses.
        phase: Where it is: ``Asked``, ``Shrinking``, ``Growing``, ``Done``, ``Aborted``, or
            ``Withdrawn``: the new workers found no room in time and were given back.
        open: It has not ended.
        begun_at: When it was begun.
        since: When it entered its phase.
        starts: ``namespace/kind/name`` of the job that gets the room; empty if none does.
        started: Whether that job runs now.
        saved_seconds: Training time that it was expected to save; None if not known.
        step_seconds_before: What a step took with the workers before it; None: not measured.
        step_seconds_after: The same with those after it.
        reason: What was in the way, a token; empty if nothing.
        message: The same in words.
    """

    namespace: str
    id: str
    job: str
    kind: str
    cause: str
    before: int
    to: int
    phase: str
    open: bool
    begun_at: float
    since: float
    starts: str = ""
    started: bool = False
    saved_seconds: float | None = None
    step_seconds_before: float | None = None
    step_seconds_after: float | None = None
    reason: str = ""
    message: str = ""


class WorkersEntry(Struct, frozen=True, kw_only=True):
    """How many workers a job has, of one whose number may change.

    Attributes:
        now: Live ones, waiting ones counted.
        least: It never has fewer, but for a pause.
        most: It never has more.
        stated: What its owner says now; None if nobody can say it.
        rescale: The change that is under way; None if none is.
    """

    now: int
    least: int
    most: int
    stated: int | None = None
    rescale: RescaleEntry | None = None


class RescalesResponse(Listed, frozen=True, kw_only=True):
    """The ledger of rescales, oldest first, and the jobs that were not changed.

    What has ended is known since the replica that answers began to act; of every job at least its
    last change.

    Attributes:
        acting: Whether the replica that answers is the one that decides.
    """

    acting: bool
    entries: tuple[RescaleEntry, ...] = ()
    declined: tuple[Declined, ...] = ()
