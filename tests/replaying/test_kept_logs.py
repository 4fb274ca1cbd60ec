"""Logs that version 3 wrote are decided again without a difference: no rename changed a decision.

The logs were kept before the renames began, one for each kind of decision and some of extenders
that were killed. They are converted (``converting``) and replayed.

**You renamed something and this is red.** Add one row to a table in ``renames.py``: the message
says what is lacking, and in which struct. ``differs at $.commands[0].message`` with two wordings of
one text is a row in ``TEXTS``. Where a rename is not enough (a field has moved, or is new), write a
function in ``RESHAPED``. If the type of a decision's input has moved, change ``INPUTS`` below.
Anything else that differs is a change of behaviour.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from extender.core.decisionlog import replay
from extender.store import recording
from tests.replaying import converting, kept, missing

LOGS: Final = kept.logs(converting.FIXTURES)

INPUTS: Final[Mapping[str, object]] = {
    "cycle": replay.CycleInput,
    "cycle-begins": replay.CycleInput,
    "filter": replay.RequestInput,
    "prioritize": replay.RequestInput,
    "migrate": replay.LookInput,
    "resize": replay.ResizeInput,
    "rescale": replay.RescaleInput,
    "admission-begins": replay.AdmissionInput,
}
"""What a decision is given, by its newest kind."""


def test_every_name_of_version_3_has_a_newest_name() -> None:
    lacking = missing.names(recording.Record, INPUTS)
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize("log", LOGS, ids=[log.name for log in LOGS])
def test_a_kept_log_replays(log: Path, tmp_path: Path) -> None:
    code, told = kept.decide_again(log, tmp_path)
    assert code == 0, told


def test_the_logs_have_every_kind_of_decision() -> None:
    lines = [line for log in LOGS for _, segment in kept.segments(log) for line in segment]
    kinds: set[Any] = {json.loads(line).get("kind") for line in lines}
    known = converting.types()
    assert kinds >= {*known.inputs, *known.outputs}
