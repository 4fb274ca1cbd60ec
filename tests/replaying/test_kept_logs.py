"""Logs that version 3 wrote are decided again without a difference: no rename changed a decision.

The logs were kept before the renames began, one for each kind of decision and some of extenders
that were killed. They are converted (``converting``) and replayed.

**You renamed something and this is red.** Add one row to a table in ``renames.py``: the message
says what is lacking, and in which struct. ``differs at $.commands[0].message`` with two wordings of
one text is a row in ``TEXTS``. Where a rename is not enough (a field has moved, or is new), write a
function in ``RESHAPED``. If the type of a decision's input has moved, change ``INPUTS`` below.
Anything else that differs is a change of behaviour.
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from extender import replay
from extender.engine import replaying
from extender.engine.parameters import EngineParameters
from extender.engine.replaying import parameters_hash
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import engine_parameters
from extender.state import recording
from shared import labels
from tests.replaying import converting, missing

LOGS: Final = sorted(path.name for path in converting.FIXTURES.iterdir() if path.is_dir())

INPUTS: Final[Mapping[str, object]] = {
    "cycle": replaying.CycleInput,
    "cycle-begins": replaying.CycleInput,
    "filter": replaying.RequestInput,
    "prioritize": replaying.RequestInput,
    "migrate": replaying.LookInput,
    "resize": replaying.ResizeInput,
    "rescale": replaying.RescaleInput,
    "admission-begins": replaying.AdmissionInput,
}
"""What a decision is given, by its newest kind."""


def parameters(log: str) -> EngineParameters:
    old = json.loads((converting.FIXTURES / log / "settings.json").read_text())
    settings = ExtenderSettings.model_validate(converting.settings(old))
    return engine_parameters(settings, labels.SCHEDULER_NAME)


def old_lines(log: str) -> list[bytes]:
    (file,) = (converting.FIXTURES / log).glob("*.jsonl.gz")
    return gzip.decompress(file.read_bytes()).splitlines(keepends=True)


def test_every_name_of_version_3_has_a_newest_name() -> None:
    assert missing.names(recording.Record, INPUTS) == []


@pytest.mark.parametrize("log", LOGS)
def test_a_kept_log_replays(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "digest", lambda kept: kept)  # these logs have it in full
    params = parameters(log)
    file = tmp_path / "decisions-00000001.jsonl"
    file.write_bytes(b"".join(converting.lines(old_lines(log), parameters_hash(params))))
    code = replay.run(file, params)
    told = capsys.readouterr()
    assert code == 0, told.out + told.err


def test_the_logs_have_every_kind_of_decision() -> None:
    kinds: set[Any] = {json.loads(line).get("kind") for log in LOGS for line in old_lines(log)} - {
        None
    }
    known = converting.types()
    assert kinds >= {*known.inputs, *known.outputs}
