"""What has got another name since version 3 of the decision log. Empty tables: nothing has.

A rename in the code needs one row here, in the table of its sort. The key is always the old name,
as ``tests/fixtures/decision_log_3/types.json`` has it; the value is the newest.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

TAGS: Final[Mapping[str, str]] = {}
"""Tag of a struct (its class name in the old code): ``"TakeSeatRecord": "TakeReservationRecord"``.
A struct without a tag has no name in the log and needs no row."""

FIELDS: Final[Mapping[tuple[str, str], str | None]] = {}
"""Field of a struct: ``("TakeSeatRecord", "number"): "seat"``; None: it is no longer kept."""

VALUES: Final[Mapping[tuple[str, str], str]] = {}
"""Value of an enum: ``("Act", "Seat"): "Reserve"``."""

KINDS: Final[Mapping[str, str]] = {}
"""Kind of a decision: ``"resize": "cpu-shares"``."""

TEXTS: Final[Mapping[str, str]] = {}
"""A whole text, wherever it stands; ``{}`` is any part, kept in its order:
``"needs {} of {} seats": "{} of {} pods have no node"``. Keys of maps are texts as well."""

SETTINGS: Final[Mapping[str, str | None]] = {
    "migration.stale_seconds": "agent_reports.stale_seconds",
}
"""A setting: ``"queue.settle_seconds": "queue.pause_seconds"``; None: there is none any more."""

RESHAPED: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""What no rename can do to a struct, done after its renames: a field that is new and required, one
that has moved into another. The key is the old class name; of a decision, ``"<old kind> input"`` or
``"<old kind> output"``."""
