"""A decision log that cannot be written: records are dropped and counted, decisions continue.

Defect A7: an ``OSError`` of a write ended the extender.
"""

import asyncio
import errno
import itertools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from extender.app import replay
from extender.core.cluster.session import Reading, Session
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing.decision import PRICING, PricingTrigger
from extender.core.pricing.outcome import PricingOutcome, PricingState
from extender.core.queue.decision import QUEUE, QueueOutcome
from extender.core.queue.state import QueueState, QueueTrigger
from extender.store.recording import DecisionRecord
from extender.writers.decision_log.log_writer import FIRST_REST_SECONDS, MOST_REST_SECONDS, State
from extender.writers.decision_log.recorder import MOST_LISTED
from extender.writers.decision_log.segments import SegmentFiles
from shared.errors import SettingsError
from shared.model import Namespace, Replace
from tests.component.logged import Disk, Logged, MakeLog, lost, records, replayed
from tests.component.test_decision_log import parameters
from tests.fakes.clock import FakeClock
from tests.fakes.eventually import eventually
from tests.root import ROOT

Break = Callable[[Disk], None]
LOOK = PricingOutcome(state=PricingState(), statuses={}, price_ledger=None, ended=(), wake_at=0.0)


def session(log: Logged) -> Session:
    return Session(log.recorder.store.snapshot(), Reading(0.0, 0.0), CoreParameters())


def fails_with(number: int) -> Break:
    def broken(disk: Disk) -> None:
        disk.fault = OSError(number, os.strerror(number))

    return broken


def directory_goes(disk: Disk) -> None:
    shutil.rmtree(disk.directory)


def segment_goes(disk: Disk) -> None:
    disk.paths()[-1].unlink()


def file_in_its_place(disk: Disk) -> None:
    shutil.rmtree(disk.directory)
    disk.directory.write_text("no directory")


FAULTS: dict[str, Break] = {
    "the disk is full": fails_with(errno.ENOSPC),
    "the quota is used up": fails_with(errno.EDQUOT),
    "the disk is broken": fails_with(errno.EIO),
    "it has become read-only": fails_with(errno.EROFS),
    "permission was taken away": fails_with(errno.EACCES),
    "no descriptor is left": fails_with(errno.EMFILE),
    "the directory is gone": directory_goes,
    "the segment is gone": segment_goes,
    "a file stands in the directory's place": file_in_its_place,
}


def mended(disk: Disk) -> None:
    disk.fault = None
    if disk.directory.is_file():
        disk.directory.unlink()


@pytest.mark.parametrize("breaks", FAULTS.values(), ids=FAULTS)
def test_records_that_cannot_be_written_are_dropped_and_the_log_continues(
    logged: MakeLog, breaks: Break
) -> None:
    log = logged()
    log.happens(1)
    log.decides()
    log.flush()
    breaks(log.disk)
    log.happens(2)
    log.decides()
    log.flush()
    assert log.writer.state is State.LOST
    assert log.value("dropped", why="disk") == 2
    log.happens(3)
    log.decides()
    log.flush()
    assert log.value("dropped", why="disk") == 4
    before = [path for path in log.segments() if replayed([path])]
    mended(log.disk)
    log.clock.pass_by(FIRST_REST_SECONDS)
    log.happens(4)
    log.decides()
    log.flush()
    assert log.writer.state is State.OPEN
    assert replayed(log.segments()) == [*([1] if before else []), 4]
    assert lost(log.segments()[-1]) == 4


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_segment_that_cannot_be_begun_leaves_nothing_behind(logged: MakeLog, number: int) -> None:
    log = logged()
    log.happens(*range(100))
    fails_with(number)(log.disk)
    log.decides()
    log.flush()
    assert log.segments() == []
    assert log.value("dropped", why="disk") == 101
    mended(log.disk)
    log.clock.pass_by(FIRST_REST_SECONDS)
    log.decides()
    log.flush()
    assert replayed(log.segments()) == [2]
    assert lost(log.segments()[0]) == 101


def test_a_full_disk_is_retried_at_growing_intervals(logged: MakeLog) -> None:
    log = logged()
    fails_with(errno.ENOSPC)(log.disk)
    tried: list[float] = []
    for _ in range(400):
        log.decides()
        if log.writer.state is State.OPEN:
            tried.append(log.clock.monotonic())
        log.flush()
        log.clock.pass_by(1.0)
    pauses = [after - before for before, after in itertools.pairwise(tried)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    assert log.value("dropped", why="disk") == 400
    mended(log.disk)
    log.clock.pass_by(MOST_REST_SECONDS)
    log.decides()
    log.flush()
    log.clock.pass_by(2 * MOST_REST_SECONDS)
    fails_with(errno.ENOSPC)(log.disk)
    log.decides()
    log.flush()
    log.clock.pass_by(FIRST_REST_SECONDS)
    assert log.writer.may_begin()


def test_records_that_come_during_a_write_that_fails_are_counted(logged: MakeLog) -> None:
    log = logged()
    log.decides()
    log.flush()
    log.run(_more_come_while_it_fails(log))
    assert log.value("dropped", why="disk") == 3
    mended(log.disk)
    log.clock.pass_by(FIRST_REST_SECONDS)
    log.decides()
    log.flush()
    assert replayed(log.segments()) == [1, 5]
    assert lost(log.segments()[1]) == 3


async def _more_come_while_it_fails(log: Logged) -> None:
    fails_with(errno.ENOSPC)(log.disk)
    log.disk.free.clear()
    log.decides()
    writing = asyncio.create_task(log.writer.flush())
    await asyncio.sleep(0)
    log.decides()
    log.decides()
    log.disk.free.set()
    await writing


def test_the_writing_loop_survives_a_fault_and_writes_again(logged: MakeLog) -> None:
    log = logged()
    log.run(_fails_and_recovers(log))
    assert replayed(log.segments()) == [2]


async def _fails_and_recovers(log: Logged) -> None:
    fails_with(errno.ENOSPC)(log.disk)
    task = asyncio.create_task(log.recorder.run())
    log.decides()
    await eventually(lambda: log.writer.state is State.LOST)
    log.disk.fault = None
    log.clock.pass_by(FIRST_REST_SECONDS)
    log.decides()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task  # it ends with a last write


def test_a_disk_that_hangs_does_not_keep_the_process_from_ending(logged: MakeLog) -> None:
    log = logged()
    log.run(_ends_while_the_disk_hangs(log))


async def _ends_while_the_disk_hangs(log: Logged) -> None:
    log.disk.free.clear()
    log.decides()
    task = asyncio.create_task(log.recorder.run())
    await eventually(lambda: log.writer._writing is not None)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    log.disk.free.set()


PREPARED = {
    errno.EACCES: True,
    errno.EROFS: True,
    errno.ENOTDIR: True,
    errno.ENOSPC: False,
    errno.EDQUOT: False,
    errno.EIO: False,
}


@pytest.mark.parametrize(("number", "wrong"), PREPARED.items(), ids=os.strerror)
def test_at_the_start_only_wrong_settings_end_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, wrong: bool
) -> None:
    def touch(_path: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "touch", touch)
    files = SegmentFiles(tmp_path / "log", 2**20, 4)
    if wrong:
        with pytest.raises(SettingsError, match=r"decision_log.directory: .*expected a directory"):
            files.prepare()
    else:
        assert os.strerror(number) in files.prepare()


async def test_an_extender_with_a_full_disk_binds_the_next_job(tmp_path: Path, capsys) -> None:
    """The kernel refuses every byte beyond 64 kB of a file, as ``RLIMIT_FSIZE`` has it."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.component.full_disk_program", str(tmp_path), cwd=ROOT,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await program.communicate()
    assert program.returncode == 0, output.decode()
    assert b"the log is full\nbound while it is full\nthe log goes on\n" in output
    code = await asyncio.to_thread(replay.run, tmp_path, parameters())
    replayed = capsys.readouterr().out
    assert code == 0, replayed
    assert " begins after a gap of " in replayed


class Ticking(FakeClock):
    """A clock that goes on between two looks at it, as real ones do."""

    def monotonic(self) -> float:
        self.pass_by(0.01)
        return super().monotonic()


def test_a_decision_at_the_end_of_the_pause_is_logged_with_its_inputs(logged: MakeLog) -> None:
    """Whether a segment begins is decided once: else its first decision could lack a state."""
    nothing = QueueOutcome(entries=(), state=QueueState(), wake_after_seconds=None)
    for milliseconds in range(975, 1000):
        log = logged()
        log.recorder.decided(QUEUE, session(log), QueueState(), QueueTrigger(), nothing)
        fails_with(errno.ENOSPC)(log.disk)
        log.flush()
        log.disk.fault = None
        log.writer.clock = Ticking(reading=log.clock.reading + milliseconds / 1000)
        log.recorder.decided(QUEUE, session(log), QueueState(), QueueTrigger(), nothing)
        log.flush()
        kept = [one for path in log.segments() for one in records(path)]
        cycles = [one for one in kept if isinstance(one, DecisionRecord) and one.kind == QUEUE.name]
        assert all("state" in one.input for one in cycles)
        shutil.rmtree(log.disk.directory, ignore_errors=True)


def test_the_second_line_of_a_decision_is_in_the_segment_of_the_first_or_dropped(
    logged: MakeLog,
) -> None:
    """An admission pass has two lines: the replay decides at the first, compares at the second."""
    log = logged(segment_bytes=64 * 1024)
    recorder = log.recorder
    recorder.begins(PRICING, session(log), PricingState(), PricingTrigger())
    while not log.writer.segment > 1 and log.writer._segment_bytes < 80 * 1024:
        log.happens(1)
    assert log.writer.segment == 1  # a full segment waits for the second line
    recorder.ends(PRICING, session(log), PricingTrigger(), LOOK)
    log.happens(1)
    assert log.writer.segment == 2
    recorder.begins(PRICING, session(log), PricingState(), PricingTrigger())
    listed = tuple(Namespace(name=f"n{i}") for i in range(MOST_LISTED + 1))
    recorder.apply(Replace("Namespace", "Namespace", listed))
    log.happens(1)
    recorder.ends(PRICING, session(log), PricingTrigger(), LOOK)
    assert log.writer.segment == 3
    recorder.begins(PRICING, session(log), PricingState(), PricingTrigger())
    log.flush()
    kept = [
        [one.kind for one in records(path) if isinstance(one, DecisionRecord)]
        for path in log.segments()
    ]
    assert kept == [["pricing-begins", "pricing-ends"], ["pricing-begins"], ["pricing-begins"]]
    last = records(log.segments()[-1])[-1]
    assert isinstance(last, DecisionRecord)
    assert last.input["state"] is not None
