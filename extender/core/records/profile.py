"""A profile run, as the annotation ``shuntyard.io/profile`` of the job's owner.

A job that does not state how long its steps take runs like the jobs without a utility once its
owner has this annotation. The result is written there too, so that a restart keeps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from extender.core.cluster import job_views, training_spec
from extender.core.cluster.snapshot import Snapshot
from extender.core.records import annotations
from shared import labels
from shared.errors import InputError
from shared.model import JobKey, Owner, Uid


class Profile(Struct, frozen=True, omit_defaults=True):
    """See the module.

    Attributes:
        job: The job.
        owner: Uid of the owner; a copy on another object is ignored.
        since: When its gang was observed to run, seconds since the epoch; None while it waits.
        reported: Whether an Event reported that there was no result in time.
        batch_seconds: Measured seconds of a mini-batch on one worker, with push and pull; None
            before the result.
        step_seconds: Measured seconds of a step of its metrics.
        steps: Steps that were timed.
        spread: Standard error of the mean, as a part of it.
    """

    job: JobKey
    owner: Uid = Uid("")
    since: float | None = None
    reported: bool = msgspec.field(name="told", default=False)
    batch_seconds: float | None = None
    step_seconds: float | None = None
    steps: int = 0
    spread: float = 0.0


_DECODER = msgspec.json.Decoder(Profile)


@dataclass(frozen=True)
class OwnedProfile:
    """A profile run with the owner that carries it."""

    owner: Owner
    run: Profile


def read(owner: Owner) -> Profile | None:
    """Return the profile run in the owner's annotation; None if it has none.

    Raises:
        InputError: The annotation is not a profile run of ours.
    """
    run = annotations.read(owner, labels.PROFILE, _DECODER)
    if run is None:
        return None
    seconds = run.batch_seconds
    if seconds is not None and not training_spec.is_batch(seconds):
        field = f"batch_seconds of annotation {labels.PROFILE}"
        raise InputError(field, str(seconds), training_spec.BATCH_EXPECTED)
    return run


def text(run: Profile) -> str:
    """Return the text of the annotation."""
    return msgspec.json.encode(run).decode()


def profile_runs(snapshot: Snapshot) -> Mapping[JobKey, OwnedProfile]:
    """Return the profile runs by job, in order of the owners' age, without unreadable ones."""
    runs: dict[JobKey, OwnedProfile] = {}
    found, _unreadable = annotations.of_owners(snapshot, labels.PROFILE, read)
    for owner, run in sorted(found, key=lambda one: (one[0].created_at, one[0].key)):
        if _counts(snapshot, owner, run):
            runs.setdefault(run.job, OwnedProfile(owner, run))
    return runs


def _counts(snapshot: Snapshot, owner: Owner, run: Profile) -> bool:
    """Return True if a run is on a deciding owner of the job; always for a job without pods."""
    if run.job not in snapshot.jobs:
        return True
    return any(over.uid == owner.uid for over in job_views.view(snapshot, run.job).deciding_owners)


def unmeasured(snapshot: Snapshot) -> frozenset[JobKey]:
    """Return the jobs whose profile run has no result yet."""
    runs = profile_runs(snapshot).items()
    return frozenset(job for job, owned in runs if owned.run.batch_seconds is None)
