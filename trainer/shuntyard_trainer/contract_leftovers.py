"""What a trainer must remove of earlier lives: temporary files, ``done.json``, old files."""

from __future__ import annotations

import json
import os
from typing import Any

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_run import SECOND, Run, expect

_LEFT = ".saved.json.0-0.trainer-tmp"
_MANY = 12
_LONG_AGO = 86400.0
"""Seconds since the old answers were written."""
_ACK = {"pod_uid": "", "ok": True, "step": 1, "path": "", "bytes": 0, "error": ""}


def removes_temporary_files(run: Run) -> None:
    """Check rule 11: a start removes the temporary files of the trainers before it.

    What the next two checks need is put into the directory, too.
    """
    run.life.close()
    saved = run.life.read(records.SAVED) or {"step": 1}
    then = Clock.now() - _LONG_AGO
    folder = run.life.folder
    (folder / _LEFT).write_text("{")
    _put(run, records.DONE, {"step": saved["step"], "finished_at": then})
    latest = max(found for path in folder.iterdir() if (found := records.start_of(path.name)))
    for number in range(1, _MANY + 1):
        name = f"old-{number}"
        fields = {**_ACK, "id": name, "started_at": then, "finished_at": then}
        _put(run, records.ack_name(name), fields)
        os.utime(folder / records.ack_name(name), (then, then))  # older than those of this test
        start = (latest[0], latest[1] + number)
        about = {"generation": start[0], "number": start[1], "pod_uid": "", "at": then}
        _put(run, records.start_name(*start), about)
    run.start(SECOND)
    expect(not (folder / _LEFT).exists(), f"{_LEFT} of an earlier start is still there")


def removes_done(run: Run) -> None:
    """Check rule 9: when a later run makes a step, training is not complete any more."""
    run.ask("makes-a-step", hold=0.0)
    expect(
        not (run.life.folder / records.DONE).exists(),
        f"{records.DONE} of an earlier run is still there after a step",
    )


def removes_old_files(run: Run) -> None:
    """Check the files: of answers and of starts the latest eight remain."""
    run.life.wait_for(lambda: run.released("makes-a-step"), run.seconds, "released.json")
    for what, pattern, most in (
        ("answers", records.ACKS, records.KEPT_ACKS + 1),  # one after the start that removed others
        ("starts", records.STARTS, records.KEPT_STARTS),
    ):
        found = len(list(run.life.folder.glob(pattern)))
        expect(found <= most, f"there are {found} {what}, the latest 8 should remain")
    run.life.close()


def _put(run: Run, name: str, fields: dict[str, Any]) -> None:
    new = run.life.folder / f".{name}.agent-tmp"
    new.write_text(json.dumps({"version": records.VERSION, **fields}))
    new.replace(run.life.folder / name)
