"""What has got another name since version 3 of the decision log. Empty tables: nothing has.

A rename in the code needs one row here, in the table of its sort. The key is always the old name,
as ``tests/fixtures/decision_log_3/types.json`` has it; the value is the newest.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

Given = dict[str, Any]

TAGS: Final[Mapping[str, str]] = {
    "OpenSeatsRecord": "KeepPlaceholdersRecord",
    "CloseSeatsRecord": "DropPlaceholdersRecord",
    "TakeSeatRecord": "TakePlaceholderRecord",
    "RewriteSeat": "RewriteReservation",
    "ClearSeat": "ClearReservation",
}
"""Tag of a struct (its class name in the old code): ``"TakeSeatRecord": "TakePlaceholderRecord"``.
A struct without a tag has no name in the log and needs no row."""

FIELDS: Final[Mapping[tuple[str, str], str | None]] = {
    ("migrating.Occasion", "outcomes"): "results",
    ("ResizeOccasion", "outcomes"): "results",
    ("Content", "open_seats"): "placeholders",
    ("OpenSeats", "seats"): "placeholders",
    ("Pod", "seat_refused"): "reservation_refused",
    ("ReportRecord", "heard"): "heartbeat",
    ("Memory", "told"): "notices",
    ("WriteStatus", "told"): "event",
    ("CreateMigration", "told"): "event",
    ("AdmissionOutput", "standings"): "statuses",
}
"""Field of a struct: ``("TakeSeatRecord", "number"): "seat"``; None: it is no longer kept."""

VALUES: Final[Mapping[tuple[str, str], str]] = {
    ("Act", "Seat"): "Reserve",
}
"""Value of an enum: ``("Act", "Seat"): "Reserve"``."""

KINDS: Final[Mapping[str, str]] = {
    "cycle": "queue",
    "cycle-begins": "queue-begins",
    "cycle-ends": "queue-ends",
    "migrate": "migration",
    "rescale": "elastic",
    "resize": "cpu-shares",
    "admission-begins": "pricing-begins",
    "admission": "pricing-ends",
}
"""Kind of a decision: ``"resize": "cpu-shares"``."""

TEXTS: Final[Mapping[str, str]] = {
    "shuntyard: the gang has no seats yet": "shuntyard: no nodes are reserved for the gang yet",
    "the gang size is known from nowhere: set the annotation shuntyard.io/min-available": (
        "the number of pods that start together is unknown: state it in the annotation "
        "shuntyard.io/min-available"
    ),
    "shuntyard: no room beside the seats of others": (
        "shuntyard: the free room is reserved for other jobs"
    ),
    "shuntyard: the pod has no seat any more": (
        "shuntyard: no node is reserved for the pod any more"
    ),
    "the job gave its seats back and waits before it tries again": (
        "the job gave its reservations back and waits before it tries again"
    ),
    "{}: 1 pod without a node ask for {} each, and {}": (
        "{}: 1 pod without a node asks for {}, and {}"
    ),
    "seats are taken, the pods are being bound": "nodes are reserved, the pods are being bound",
    "pods carry scheduling gates of others": "the pods have scheduling gates of other controllers",
    "with it the namespace would hold more than its guaranteed share and borrowing limit": (
        "with the job, its namespace would hold more than guaranteed share and borrowing limit"
    ),
    "no plan over the slots to come is known that is worth more than its resources cost": (
        "no plan over the coming time slots is worth more than its resources cost"
    ),
    "the job's training is not described in full: it runs like a job without a utility while its "
    "agents measure it{}": (
        "the step time of the training is unknown: the job runs like one without a utility while "
        "agents measure it{}"
    ),
    "completing is worth nothing any more, even if the job began now": (
        "completion would be worth nothing, even if the job began now"
    ),
    "the pod whose place it takes is not gone yet": "the pod that it replaces is not gone yet",
    "a pod without an owner is replaced, and the old one is not gone yet": (
        "a pod without an owner is being replaced, and the old one is not gone yet"
    ),
    "{}a pod that was asked is gone, or ended by itself{}": (
        "{}a pod that was to save is gone, or ended by itself{}"
    ),
}
"""A whole text, wherever it stands; ``{}`` is any part, kept in its order:
``"needs {} of {} seats": "{} of {} pods have no node"``. Keys of maps are texts as well."""


def _cpus(old: re.Match[str]) -> str:
    """``1500m cpu`` is ``1.5 CPUs`` now."""
    cpus = Decimal(old[1]) / (1000 if old[2] else 1)
    return f"{cpus.normalize():f} CPU{'' if 0 < cpus <= 1 else 's'}"


PHRASES: Final[Mapping[str, Callable[[re.Match[str]], str]]] = {r"\b(\d+)(m?) cpu\b": _cpus}
"""A part of a text, by its pattern, and what stands there now; looked for in every text."""

SETTINGS: Final[Mapping[str, str | None]] = {
    "migration.stale_seconds": "agent_reports.stale_seconds",
}
"""A setting: ``"queue.settle_seconds": "queue.pause_seconds"``; None: there is none any more."""


def _queue(given: Given) -> Given:
    """The reading, the state and what happened since were one struct."""
    names = ("refusals", "turned_away", "priced")
    trigger = {name: given[name] for name in names if given.get(name)}
    return {"reading": given["reading"], "trigger": trigger, **_state(given)}


def _pass(given: Given) -> Given:
    """The reading was a part of the occasion."""
    trigger = dict(given["occasion"])
    new = {"reading": trigger.pop("reading"), "trigger": trigger, **_state(given)}
    if given.get("queue") is not None:
        new["others"] = {"queue": given["queue"]}
    return new


def _pricing(given: Given) -> Given:
    """The history was given beside the state."""
    new = {"reading": given["reading"], "trigger": {}, **_state(given)}
    if "state" in new:
        new["state"] = {**new["state"], "history": given.get("history") or {}}
    return new


def _request(given: Given) -> Given:
    """A request had no reading of its own; a filter saw the queue on an occasion."""
    trigger = {"pod": given["pod"], "nodes": given["nodes"]}
    if "occasion" in given:
        trigger["queue"] = given["occasion"]
    return {"reading": {"now": 0.0, "monotonic": 0.0}, "trigger": trigger}


def _state(given: Given) -> Given:
    return {} if given.get("memory") is None else {"state": given["memory"]}


def _deletion(given: Given) -> Given:
    """What is no more than a default is not written any more."""
    return {name: value for name, value in given.items() if value is not False}


RESHAPED: Final[Mapping[str, Callable[[Given], Given]]] = {
    "cycle input": _queue,
    "cycle-begins input": _queue,
    "migrate input": _pass,
    "rescale input": _pass,
    "resize input": _pass,
    "admission-begins input": _pricing,
    "filter input": _request,
    "prioritize input": _request,
    "DeletePod": _deletion,
}
"""What no rename can do to a struct, done after its renames: a field that is new and required, one
that has moved into another. The key is the old class name; of a decision, ``"<old kind> input"`` or
``"<old kind> output"``."""
