"""What a trainer must do when a save fails, SIGTERM comes twice, or a checkpoint is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from shuntyard_trainer import records
from shuntyard_trainer.clock import Clock
from shuntyard_trainer.contract_run import AFTER_TERM, SECOND, NotTestedError, Run, expect
from shuntyard_trainer.contract_trainer import LOOK_SECONDS, ContractError, checkpoint_path

_READ_ONLY = 0o555


def ignores_second_term(run: Run) -> None:
    """Check rule 5: SIGTERM again and again, until it has saved, changes nothing."""
    run.start(SECOND)
    step = _progress(run, "twice")
    before = run.life.read(records.SAVED)
    until = Clock.monotonic() + run.seconds
    while run.life.runs() and run.life.read(records.SAVED) == before:
        run.life.terminate()
        if Clock.monotonic() > until:
            raise ContractError(f"it did not save within {run.seconds:g} s of SIGTERM")
        Clock.sleep(LOOK_SECONDS)
    code = run.life.ends(run.seconds, "SIGTERM")
    saved = run.life.read(records.SAVED)
    # after its save an interpreter may have restored the default handler when the last one comes
    was_late = code == -signal.SIGTERM and saved != before
    expect(
        code == AFTER_TERM or was_late, f"exit code {code} after two SIGTERM, expected {AFTER_TERM}"
    )
    found = -1 if saved is None else saved["step"]
    expect(found >= step, f"saved.json has step {found} after two SIGTERM, and had {step}")


def answers_on_term(run: Run) -> None:
    """Check rule 5: a request that is open when SIGTERM comes is answered, too."""
    run.start(SECOND)
    _progress(run, "before-term")
    name, life = "open-at-term", run.life
    life.terminate(partial(life.request, name, within=run.seconds))
    code = life.ends(run.seconds, "SIGTERM")
    expect(code == AFTER_TERM, f"exit code {code} after SIGTERM, expected {AFTER_TERM}")
    ack = life.read(records.ack_name(name))
    if ack is None:
        raise ContractError("it ended without an answer to the request that was open")
    expect(ack["ok"], f"the answer is a failure: {ack['error']}")


def begins_without_checkpoint(run: Run) -> None:
    """Check rule 8: if the checkpoint of ``saved.json`` is gone, training begins at the start."""
    run.life.close()
    saved = run.life.read(records.SAVED)
    path = checkpoint_path(run.directory, saved) if saved and saved["path"] else None
    if path is None or not path.exists():
        raise NotTestedError("its checkpoint is elsewhere")
    path.rename(run.directory.parent / "taken-away")
    found = run.start(SECOND)["resumed_step"]
    expect(found is None, f"resumed_step is {found} although the checkpoint is gone")
    _progress(run, "without-checkpoint")


def answers_failure(run: Run) -> None:
    """Check rule 6: a failed save is answered, ``saved.json`` stays, and training continues.

    The checkpoint directory is read-only meanwhile, and the trainer has no right to change that.
    """
    run.start(SECOND, is_weak=True)
    step = _progress(run, "before-failure")
    before = run.life.read(records.SAVED)
    with _read_only(run.directory, run.life.folder):
        failed = run.ask("fails", hold=0.0)
        after = run.life.read(records.SAVED)
    if failed["ok"]:
        raise NotTestedError("it saves although its directory is read-only")
    expect(bool(failed["error"]), "the answer to a failed save has no error")
    expect(not failed["path"], f"the answer to a failed save has the path {failed['path']}")
    expect(after == before, "a failed save has changed saved.json")
    later = run.ask("after-failure", hold=0.0)
    expect(later["ok"], f"the save after a failed one failed, too: {later['error']}")
    expect(later["step"] > step, "training did not continue after a failed save")
    run.life.close()


def _progress(run: Run, name: str) -> int:
    """Let it save, so that it has made a step, and go on; return the step."""
    step = int(run.ask(name, hold=0.0)["step"])
    run.life.wait_for(lambda: run.released(name), run.seconds, "released.json")
    return step


@contextmanager
def _read_only(directory: Path, folder: Path) -> Iterator[None]:
    """Make every directory read-only, except for the folder of the contract."""
    found = [Path(at) for at, _, _ in os.walk(directory)]
    modes = [
        (path, path.stat().st_mode)
        for path in found
        if path != folder and folder not in path.parents
    ]
    try:
        for path, _ in modes:
            path.chmod(_READ_ONLY)
        yield
    finally:
        for path, mode in modes:
            path.chmod(mode)
