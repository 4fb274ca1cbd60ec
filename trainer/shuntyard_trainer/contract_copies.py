"""Checks of rule 11: of two copies of a training, the one that began earlier commits nothing."""

from __future__ import annotations

import json
from typing import Any

from shuntyard_trainer import durable, records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_run import AFTER_TERM, SECOND, Run, expect
from shuntyard_trainer.contract_trainer import ContractError

LATER = 10**12
"""A generation above every number of this test."""
ANOTHER = "contract-pod-3"


def yields_to_later_start(run: Run) -> None:
    """Check rule 11: once a later start exists, it answers and saves nothing, and ends with 143."""
    if not run.life.runs():
        run.start(SECOND)
    starts = [records.start_of(path.name) for path in run.life.folder.glob(records.STARTS)]
    if not any(starts):
        raise ContractError("there is no start-<generation>-<number>.json of this start")
    _leave_later_start(run)
    before = _commits(run)
    run.life.request("yields", within=run.seconds)
    code = run.life.ends(run.seconds, "a later start")
    expect(code == AFTER_TERM, f"exit code {code} after a later start, expected {AFTER_TERM}")
    expect(_commits(run) == before, "it answered, saved or ended a hold after a later start")


def begins_no_older_start(run: Run) -> None:
    """Check rule 11: a pod of an older generation ends with 143 and writes nothing."""
    before = {**_commits(run), records.TRAINER: run.life.read(records.TRAINER)}
    run.begin(SECOND, generation="1")
    code = run.life.ends(run.seconds, "a start of an older generation")
    expect(code == AFTER_TERM, f"exit code {code} of an older generation, expected {AFTER_TERM}")
    after = {**_commits(run), records.TRAINER: run.life.read(records.TRAINER)}
    expect(after == before, "a start of an older generation wrote into the directory")


def _leave_later_start(run: Run) -> None:
    """Begin as another copy does: the file of its start; the temporary files of others go."""
    fields = {"generation": LATER, "number": 1, "pod_uid": ANOTHER, "at": Clock.now()}
    new = run.life.folder / ".start.agent-tmp"
    new.write_text(json.dumps({"version": records.VERSION, **fields}))
    new.replace(run.life.folder / records.start_name(LATER, 1))
    for left in run.life.folder.glob(durable.LEFTOVERS):
        left.unlink(missing_ok=True)


def _commits(run: Run) -> dict[str, Any]:
    """Return the files that only the latest start may change."""
    names = (records.SAVED, records.RELEASED, records.DONE, records.ack_name("yields"))
    return {name: run.life.read(name) for name in names}
