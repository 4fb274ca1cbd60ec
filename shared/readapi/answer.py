"""Common fields, headers and entries of the read API."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

API_VERSION: Final = "shuntyard.io/read/v1"
FORWARDED: Final = "Shuntyard-Forwarded"
"""Header of a request that a replica forwarded, or that is for this replica only."""


PROXIED_AUTHORIZATION: Final = "Shuntyard-Authorization"
"""Header ``Bearer TOKEN`` for callers behind the API server's service proxy, which removes
``Authorization``. Only tokens for ``VIEWERS_AUDIENCE`` are accepted in it, so that no token with
more rights is sent there."""


VIEWERS_AUDIENCE: Final = "shuntyard-viewers"
"""Audience of the tokens in that header: they are valid for the read API only."""


VIEWERS_ACCOUNT: Final = "shuntyard-viewer"
"""ServiceAccount in the extender's namespace, without rights: the Role ``shuntyard-viewer`` allows
to request a token for it, which proves that the caller has that Role."""


class Response(Struct, frozen=True, kw_only=True):
    """See the module.

    Attributes:
        generated_at: When it was made, seconds since the epoch.
        api_version: The version of this schema.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    generated_at: float


class Listed(Response, frozen=True, kw_only=True):
    """A response in pages.

    Attributes:
        more: Request the next page with ``?continue=`` this; empty on the last page. Each page is
            as of its own ``generated_at``.
    """

    more: str = msgspec.field(name="continue", default="")


class MemberCounts(Struct, frozen=True, kw_only=True):
    """Pods of a job by state.

    Attributes:
        gated: In the queue.
        held: In the queue, and also gated by others.
        seated: Released with a planned node, not bound.
        loose: Released without a pin, not bound.
        direct: Never had our gate, no seat yet.
        in_tree: Left to kube-scheduler's own gang scheduling, not bound.
        bound: On a node.
        leaving: Being deleted.
    """

    gated: int = 0
    held: int = 0
    seated: int = 0
    loose: int = 0
    direct: int = 0
    in_tree: int = 0
    bound: int = 0
    succeeded: int = 0
    failed: int = 0
    leaving: int = 0


class Others(Struct, frozen=True, kw_only=True):
    """Jobs of namespaces that an answer does not list, as numbers.

    Attributes:
        jobs: How many there are.
        requests: Amount by resource of all their pods that count, base units.
    """

    jobs: int
    requests: Mapping[str, int] = {}


class CheckpointEntry(Struct, frozen=True, kw_only=True):
    """State of a job's checkpoints, from its first member with a directory.

    Attributes:
        step: Of the last completed checkpoint; None before the first.
        age_seconds: Since it was completed.
        problem: Why no checkpoint can be requested, a token; empty if one can.
        detail: The same in words.
    """

    pod: str
    step: int | None = None
    age_seconds: float | None = None
    problem: str = ""
    detail: str = ""


class FaultEntry(Struct, frozen=True, kw_only=True):
    """What is wrong with the training of a job (docs/policies/fault_detection.md).

    Attributes:
        kind: ``Hung``, ``Straggler`` or ``Diverged``.
        pod: The member that shows it.
        node: Where that runs.
        since: When it was found, seconds since the epoch.
        message: The figures behind it, in words, with pod and node.
    """

    kind: str
    pod: str
    node: str
    since: float
    message: str


class EndEntry(Struct, frozen=True, kw_only=True):
    """The expected end of a job.

    Attributes:
        at: When it is expected, seconds since the epoch; None if unknown.
        why: Source of it (``status``, ``annotation``, ``history``, ``progress``), or why it is
            unknown (``unstated``, ``overrun``); see docs/policies/reservation.md.
        done_percent: How much of the training is done by the status of the job's own object, 0 to
            100; None if that does not say.
        written_at: When that was written, on the training's clock; None if it was not.
        stale: It is too old, or about an earlier run of the job, and is ignored.
        problem: What in it cannot be used; empty if all can.
    """

    at: float | None = None
    why: str
    done_percent: float | None = None
    written_at: float | None = None
    stale: bool = False
    problem: str = ""


class JobState(StrEnum):
    """How far a job is, in one word."""

    WAITING = "waiting"
    """In the queue, or held by a gate of others."""
    BLOCKED = "blocked"
    """In the queue, but it cannot start without a change to it or to the cluster."""
    STARTING = "starting"
    """Nodes are planned or its pods are bound, but none of them runs yet, or not the whole gang."""
    RUNNING = "running"
    PAUSED = "paused"
    """Its slot plan gives it no pods now."""
    PARKED = "parked"
    """It left its nodes, and resumes when its whole gang has room."""
    ENDING = "ending"
    """All its pods are being deleted."""
    DONE = "done"
    FAILED = "failed"


class JobProgress(Struct, frozen=True, kw_only=True):
    """How far a job is on its way, and what it waits for.

    Attributes:
        state: See there.
        since: Since when it is in this state, seconds since the epoch; None if unknown.
        requests: Amount by resource of all its pods that count, base units.
        position: Place in the queue, 1 is first; None if it is not in it, or cannot start without a
            change.
        reason: Why it, or the rest of its pods, waits, a token; empty if nothing waits.
        message: The same in words.
        estimated_start: When it is expected to start, seconds since the epoch; None if unknown.
        earliest_start, latest_start: Its band, which holds about two thirds of what may come.
        estimate: What the estimate rests on, or why there is none.
    """

    state: JobState = JobState.WAITING
    since: float | None = None
    requests: Mapping[str, int] = {}
    position: int | None = None
    reason: str = ""
    message: str = ""
    estimated_start: float | None = None
    earliest_start: float | None = None
    latest_start: float | None = None
    estimate: str = ""
