"""The extender's decision log as a workload: arrivals, requests and durations of its jobs.

The store is rebuilt line by line, as in a replay, and jobs are read from it as the engine sees
them. A job runs from the binding of its last pod until all its pods have ended or are gone, by the
time of the next decision. A job still running at the end of the log is assumed to end there, and a
note says so; another note reports missing records. A job that never began counts with its expected
duration; without one it cannot be read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from extender.core.cluster import job_views
from extender.core.cluster.jobs import Job as Seen
from extender.core.cluster.snapshot import Snapshot
from extender.core.queue import order
from extender.store import recording
from extender.store.recording import Checkpoint, DecisionRecord, Header, RecordingError
from extender.store.store import ClusterStore
from shared.model import PODS, JobKey, Pod
from simulator.traces.errors import TraceError
from simulator.traces.faults import Faults
from simulator.traces.shapes import Proportional
from simulator.workload import Job, Machine, Workload, kubernetes_name

_DEFAULT_PRIORITY: Final = 5
_SERVER: Final = "ps"


@dataclass
class _Story:
    """The life of one job in the log."""

    seen: Seen
    user_priority: int
    begun: float = 0.0
    ended: float | None = None


@dataclass
class _Log:
    """The state read so far."""

    stories: dict[JobKey, _Story] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    now: float = 0.0

    def observe(self, snapshot: Snapshot, now: float) -> None:
        """Update the jobs from the cluster at a decision."""
        self.now = now
        for node in snapshot.node_table.nodes:
            self.machines[node.name] = Machine(node.name, node.allocatable, node.labels)
        for key in sorted(snapshot.jobs):
            self._job(snapshot, key)
        for key, story in self.stories.items():
            if key not in snapshot.jobs and story.begun and story.ended is None:
                story.ended = now

    def _job(self, snapshot: Snapshot, key: JobKey) -> None:
        job = job_views.view(snapshot, key)
        u, _ = order.user_priority(job.namespace, snapshot, _DEFAULT_PRIORITY)
        story = self.stories.setdefault(key, _Story(job, u))
        if len(job.members) >= len(story.seen.members):
            story.seen = job
        pods = snapshot.jobs[key]
        if not story.begun and pods and all(pod.scheduled_at for pod in pods):
            story.begun = max(pod.scheduled_at for pod in pods)
        if story.begun and story.ended is None and all(pod.finished for pod in pods):
            story.ended = self.now


def read(path: Path, faults: Faults) -> Workload:
    """Return the workload of a decision log: one segment, or a folder of them.

    Raises:
        TraceError: A line is no record, or a job cannot be read.
    """
    log = _Log()
    files = sorted(path.glob("decisions-*.jsonl")) if path.is_dir() else [path]
    for file in files:
        _segment(file, log, faults)
    begin = min((story.seen.created_at for story in log.stories.values()), default=0.0)
    stories = [log.stories[key] for key in sorted(log.stories)]
    jobs_ = faults.kept(stories, lambda story: _job(path, story, begin, log.now, faults))
    ordered = sorted(jobs_, key=lambda job: (job.submitted_at, job.name))
    machines = tuple(log.machines[name] for name in sorted(log.machines))
    return Workload(tuple(ordered), machines, f"decisions {path.name}")


def _segment(path: Path, log: _Log, faults: Faults) -> None:
    store: ClusterStore | None = None
    changed = True
    for number, record in _records(path):
        if isinstance(record, Checkpoint):
            store, changed = ClusterStore.restore(record.content), True
        elif isinstance(record, Header):
            if record.lost:
                faults.notes.append(f"{path.name}: begins after a gap of {record.lost} records")
        elif store is None:
            raise TraceError(path, number, "line", type(record).__name__, "a checkpoint before it")
        elif isinstance(record, DecisionRecord):
            if changed:
                log.observe(store.snapshot(), record.now)
            log.now, changed = record.now, False
        else:
            recording.redo(store, record)
            changed = True


def _records(path: Path) -> Iterator[tuple[int, recording.Record]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                continue  # the process died while writing it
            try:
                yield number, recording.decode(line)
            except RecordingError as error:
                shown = line[:60].decode(errors="replace")
                raise TraceError(path, number, "line", shown, f"a record ({error})") from error


def _job(path: Path, story: _Story, begin: float, end: float, faults: Faults) -> Job:
    pod_job = story.seen
    seconds = _seconds(path, story, end, faults)
    servers = [m.pod for m in pod_job.members if m.role == _SERVER]
    workers = [m.pod for m in pod_job.members if m.role != _SERVER] or servers
    return Job(
        name=kubernetes_name(pod_job.key),
        namespace=pod_job.namespace,
        submitted_at=pod_job.created_at - begin,
        workers=len(workers),
        worker=_asked(workers[0]),
        servers=len(servers) if workers is not servers else 0,
        server=_asked(servers[0]) if servers else {},
        work=seconds * len(workers),
        speed=Proportional(),
        user_priority=story.user_priority,
        class_value=workers[0].priority,
        max_wait_seconds=pod_job.spec.max_wait_seconds,
        expected_seconds=pod_job.spec.expected_seconds,
    )


def _seconds(path: Path, story: _Story, end: float, faults: Faults) -> float:
    if story.begun:
        if story.ended is None:
            faults.notes.append(f"{story.seen.key}: had not ended; assumed to end with the log")
        return max(1.0, (end if story.ended is None else story.ended) - story.begun)
    expected = story.seen.spec.expected_seconds
    if expected is None:
        needed = "a job that began, or states its expected duration"
        raise TraceError(path, 0, "job", story.seen.key, needed)
    faults.notes.append(f"{story.seen.key}: never began; assumed to run for its expected duration")
    return expected


def _asked(pod: Pod) -> dict[str, int]:
    return {name: amount for name, amount in pod.shape.requests if name != PODS}
