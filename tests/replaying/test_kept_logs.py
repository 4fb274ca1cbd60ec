"""Logs that version 3 wrote are decided again without a difference: no rename changed a decision.

The logs were kept before the renames began, one for each kind of decision and some of extenders
that were killed. They are converted (``converting``) and replayed.

**You renamed something and this is red.** Add one row to a table in ``renames.py``: the message
says what is lacking, and in which struct. ``differs at $.commands[0].message`` with two wordings of
one text is a row in ``TEXTS``. Where a rename is not enough (a field has moved, or is new), write a
function in ``RESHAPED``. If a type of ``INPUTS`` below has got another name, change it there.
Anything else that differs is a change of behaviour.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from extender.core.cluster.session import Reading
from extender.core.cpu_shares.commands import ResizeResult
from extender.core.cpu_shares.state import CpuSharesState
from extender.core.elastic.state import ElasticState
from extender.core.migration.commands import CommandResult
from extender.core.migration.decision import MigrationState
from extender.core.pricing.history import History
from extender.core.pricing.outcome import PricingState
from extender.core.queue.state import Priced, QueueState
from extender.core.scheduler.direct_gangs import QueueView
from extender.store import recording
from shared.model import Pod
from tests.replaying import converting, kept, missing

LOGS: Final = kept.logs(converting.FIXTURES)

INPUTS: Final[Mapping[str, object]] = {
    "Reading": Reading,
    "Memory": QueueState,
    "Priced": Priced,
    "MigrationMemory": MigrationState,
    "Outcome": CommandResult,
    "RescaleMemory": ElasticState,
    "ResizeMemory": CpuSharesState,
    "ResizeOutcome": ResizeResult,
    "AdmissionMemory": PricingState,
    "History": History,
    "Occasion": QueueView,
    "Pod": Pod,
}
"""What decisions are given, by the name of its struct in version 3."""


def test_every_name_of_version_3_has_a_newest_name() -> None:
    lacking = missing.names(recording.Record, INPUTS)
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize("log", LOGS, ids=[log.name for log in LOGS])
def test_a_kept_log_replays(log: Path, tmp_path: Path) -> None:
    code, output = kept.decide_again(log, tmp_path)
    assert code == 0, output


def test_the_logs_have_every_kind_of_decision() -> None:
    lines = [line for log in LOGS for _, segment in kept.segments(log) for line in segment]
    kinds: set[Any] = {json.loads(line).get("kind") for line in lines}
    known = converting.types()
    assert kinds >= {*known.inputs, *known.outputs}
