"""A profile run, as the annotation ``shuntyard.io/profile`` of the job's owner.

A job that does not say how long its steps take is let in among the jobs without a utility once its
owner carries this; what is measured is written there too, so that a new life goes on from it.
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
        owner: Who carries it; what is copied to another object says nothing.
        since: When its gang was seen to run, seconds since the epoch; None while it waits.
        told: Its owner was told that it could not be measured in time.
        batch_seconds: What was measured: a mini-batch on one worker, with push and pull; None while
            it is not.
        step_seconds: A step of its metrics, as it was measured.
        steps: Steps that were timed.
        spread: Standard error of the mean, as a part of it.
    """

    job: JobKey
    owner: Uid = Uid("")
    since: float | None = None
    told: bool = False
    batch_seconds: float | None = None
    step_seconds: float | None = None
    steps: int = 0
    spread: float = 0.0


_DECODER = msgspec.json.Decoder(Profile)


@dataclass(frozen=True)
class OwnedProfile:
    """An owner, and the profile run that it carries."""

    owner: Owner
    run: Profile


def read(owner: Owner) -> Profile | None:
    """Return what the owner's annotation says; None if it has none.

    Raises:
        InputError: Something else has written there.
    """
    found = annotations.read(owner, labels.PROFILE, _DECODER)
    if found is None:
        return None
    seconds = found.batch_seconds
    if seconds is not None and not training_spec.is_batch(seconds):
        field = f"batch_seconds of annotation {labels.PROFILE}"
        raise InputError(field, str(seconds), training_spec.BATCH_EXPECTED)
    return found


def text(run: Profile) -> str:
    """Return the annotation."""
    return msgspec.json.encode(run).decode()


def profile_runs(snapshot: Snapshot) -> Mapping[JobKey, OwnedProfile]:
    """Return the profile runs by job, in order of the owners' age; what cannot be read is none."""
    found: dict[JobKey, OwnedProfile] = {}
    noted = snapshot.owners.annotated(labels.PROFILE)
    for owner in sorted(noted, key=lambda one: (one.created_at, one.key)):
        try:
            run = read(owner)
        except InputError:
            continue
        if run is not None and _counts(snapshot, owner, run):
            found.setdefault(run.job, OwnedProfile(owner, run))
    return found


def _counts(snapshot: Snapshot, owner: Owner, run: Profile) -> bool:
    """Return True if a run is on a deciding owner of the job, which has pods while it runs."""
    if run.job not in snapshot.jobs:
        return True
    return any(one.uid == owner.uid for one in job_views.view(snapshot, run.job).deciding_owners)


def unmeasured(snapshot: Snapshot) -> frozenset[JobKey]:
    """Return the jobs whose profile run has no result yet."""
    runs = profile_runs(snapshot).items()
    return frozenset(job for job, one in runs if one.run.batch_seconds is None)
