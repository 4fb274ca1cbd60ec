"""The decision log beside a large cluster: it costs little, and never blocks the scheduler.

Defect A2: a segment whose opening was larger than a segment made every record open the next one.
"""

import asyncio
import threading

import pytest

from extender.core.agents.heartbeats import NodeHeartbeat
from extender.store import recording
from extender.store.recording import Checkpoint, DecisionRecord, DeltaRecord
from extender.writers.decision_log import recorder
from extender.writers.decision_log.log_writer import MOST_OPENINGS, State
from shared.model import Namespace, Replace, Upsert
from tests.component.logged import Logged, MakeLog, lost, real_pod, records, replayed, size_of
from tests.fakes.eventually import eventually
from tests.fakes.reports import make_heartbeat

MIB = 2**20
PODS = 60_000


def filled(log: Logged, pods: int) -> None:
    """Fill the store as the first list does."""
    log.recorder.apply(Replace("Pod", "Pod", tuple(real_pod(n) for n in range(pods))))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Count bytes that were encoded on the event loop's thread, and beside it."""
    found: dict[str, list[int]] = {"loop": [], "thread": []}
    here, encode, pieces = threading.get_ident(), recording.encode, recording.opening_pieces

    def where() -> list[int]:
        return found["loop" if threading.get_ident() == here else "thread"]

    def encoding(one):
        line = encode(one)
        where().append(len(line))
        return line

    def opening(*arguments):
        for piece in pieces(*arguments):
            where().append(len(piece))
            yield piece

    monkeypatch.setattr(recording, "encode", encoding)
    monkeypatch.setattr(recording, "opening_pieces", opening)
    return found


def test_events_beside_60000_pods_open_no_further_segment(logged: MakeLog, counted) -> None:
    """With a segment that is far smaller than what it begins with, as in defect A2."""
    log = logged(segment_bytes=16 * MIB)
    filled(log, PODS)
    log.decides()
    for number in range(5):
        log.happens(number)
    log.decides()
    assert sum(counted["loop"]) < 5 * 2048 + 1024
    assert log.writer.buffered_bytes < 5 * 2048 + 1024
    log.flush()
    (segment,) = log.segments()
    assert log.value("openings") == 1
    size = segment.stat().st_size
    assert 16 * MIB < size < PODS * 1024
    assert sum(counted["thread"]) > 16 * MIB
    assert max(counted["thread"]) < 64 * 1024  # while a piece is encoded, nothing else runs
    kinds = [type(one) for one in records(segment)[2:]]
    assert kinds == [DecisionRecord, *[DeltaRecord] * 5, DecisionRecord]


def test_pieces_of_an_opening_are_the_opening(logged: MakeLog) -> None:
    log = logged()
    content = log.store.held()
    assert _parts(content) == [recording.encode(Checkpoint(content))]
    log.store.apply(Replace("Pod", "Pod", tuple(real_pod(n) for n in range(100))))
    log.store.apply(Upsert(Namespace(name='"entities":[')))
    content = log.store.held()
    assert _parts(content) == [recording.encode(Checkpoint(content))]
    assert recording.decode(_parts(content)[0]) == Checkpoint(content)


def _parts(content) -> list[bytes]:
    return recording.opening(content, "hash").splitlines(keepends=True)[1:]


def test_each_full_segment_is_followed_by_one_opening(logged: MakeLog) -> None:
    """Records of three segments and a bit: four openings, as if the state were small."""
    log = logged(segment_bytes=256 * 1024)
    filled(log, 200)
    one = size_of(DeltaRecord(Upsert(real_pod(0, 2)))) + 1
    while log.writer.segment < 4:
        log.happens(0)
        log.decides()
        log.flush()
    assert log.value("openings") == len(log.segments()) == 4
    first = log.segments()[0]
    written = sum(len(line) for line in first.read_bytes().splitlines(keepends=True)[2:])
    assert 256 * 1024 <= written <= 256 * 1024 + one
    assert replayed(log.segments()) == list(range(1, log.decisions + 1))
    assert log.value("dropped", why="buffer") == 0


def test_all_segments_with_their_openings_stay_within_the_bound(logged: MakeLog) -> None:
    log = logged(segment_bytes=64 * 1024, segments=8)
    filled(log, 250)  # more than twice a segment's records
    for version in range(2, 1500):
        log.happens(0, version=version)
        log.decides()
        if version % 20 == 0:
            log.flush()
            assert sum(path.stat().st_size for path in log.segments()) <= 8 * 64 * 1024
    assert log.value("openings") > 8
    assert log.value("dropped", why="disk") == 0
    assert replayed(log.segments())[-1] >= log.decisions - 20


def test_a_state_of_more_than_half_of_the_bound_is_not_written(logged: MakeLog) -> None:
    log = logged(segment_bytes=64 * 1024, segments=2)
    filled(log, 250)
    log.decides()
    log.flush()
    assert log.segments() == []
    assert log.value("dropped", why="disk") == 1
    log.decides()
    assert log.value("dropped", why="disk") == 2
    assert log.value("openings") == 1


def test_a_disk_that_hangs_keeps_the_buffer_bounded_and_nothing_waits(logged: MakeLog) -> None:
    log = logged(buffer=64 * 1024)
    filled(log, 10)
    log.decides()
    log.run(_hangs_and_answers(log))
    first, second = log.segments()
    assert (lost(first), lost(second)) == (0, log.value("dropped", why="buffer"))
    assert replayed([first]) == list(range(1, len(replayed([first])) + 1))
    assert replayed([second]) == [log.decisions]


async def _hangs_and_answers(log: Logged) -> None:
    log.disk.free.clear()
    task = asyncio.create_task(log.recorder.run())
    for version in range(2, 1000):
        log.happens(1, version=version)
        log.decides()
        assert log.writer.buffered_bytes <= 64 * 1024
    assert log.writer.state is State.LOST
    assert (dropped := log.value("dropped", why="buffer")) > 0
    log.clock.pass_by(3600.0)
    await eventually(lambda: log.beat.age_seconds == 0.0)  # the loop that writes is not overdue
    assert log.writer.buffered_bytes > 0
    log.decides()
    assert log.value("dropped", why="buffer") == dropped + 1
    log.disk.free.set()
    await eventually(lambda: log.writer.buffered_bytes == 0)
    log.decides()
    assert log.writer.state is State.OPEN
    await eventually(lambda: log.writer.buffered_bytes == 0)
    await _ended(task)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_record_that_is_larger_than_the_buffer_is_dropped(logged: MakeLog) -> None:
    log = logged(buffer=64 * 1024)
    log.recorder.apply(Upsert(Namespace(name="x" * 64 * 1024)))
    log.flush()
    assert log.value("dropped", why="buffer") == 1
    assert replayed(log.segments()) == []


def test_heads_that_wait_are_few(logged: MakeLog) -> None:
    """Each keeps the objects of its time in memory, and lists may come at any rate."""
    log = logged()
    log.run(_lists_come_while_the_disk_hangs(log))
    assert replayed(log.segments()) == [1, 2, 3, 4]


async def _lists_come_while_the_disk_hangs(log: Logged) -> None:
    log.disk.free.clear()
    filled(log, recorder.MOST_LISTED + 1)
    log.decides()
    writing = asyncio.create_task(log.writer.flush())
    for _ in range(20):
        await asyncio.sleep(0)
        filled(log, recorder.MOST_LISTED + 1)
        log.decides()
    assert log.writer.segment == MOST_OPENINGS
    log.disk.free.set()
    await writing
    await log.writer.flush()


def test_a_long_list_is_no_record_but_the_next_segment(logged: MakeLog, counted) -> None:
    log = logged(segment_bytes=16 * MIB)
    log.happens(1)
    log.decides()
    log.recorder.apply(Replace("Namespace", "Namespace", (Namespace(name="short"),)))
    log.decides()
    filled(log, recorder.MOST_LISTED + 1)
    log.decides()
    log.flush()
    assert sum(counted["loop"]) < 4096
    first, second = log.segments()
    assert [type(one) for one in records(first)[2:]] == [
        DeltaRecord, DecisionRecord, DeltaRecord, DecisionRecord,
    ]  # fmt: skip
    assert (lost(second), replayed([first]), replayed([second])) == (0, [1, 2], [3])


def test_a_heartbeat_with_a_thousand_pods_is_a_record_like_others(logged: MakeLog) -> None:
    log = logged()
    heartbeat: NodeHeartbeat = make_heartbeat(1, [], full=True)
    log.recorder.report(heartbeat)
    log.decides()
    log.flush()
    assert replayed(log.segments()) == [1]
