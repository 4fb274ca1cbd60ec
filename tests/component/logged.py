"""A recorder over a store, without an extender around it; pods as long as real ones."""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from extender.metrics.extender import ExtenderMetrics
from extender.store import recording
from extender.store.recording import Header, Record
from extender.store.store import ClusterStore
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared import labels
from shared.health import Heartbeat
from shared.kube import parse
from shared.model import Pod, Upsert
from tests.fakes.clock import FakeClock

T = TypeVar("T")

CANARY = "canary-of-a-secret"


def _template() -> bytes:
    """Return a pod of 6 kB as a real cluster has it; fill in ``%d`` and ``%s``."""
    variables = [{"name": f"ENV_{i}", "value": f"{CANARY}-{i:020}"} for i in range(20)]
    spec = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example.com/team/train:1.2.3",
                "env": variables,
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets"}],
            }
        ],
        "schedulerName": "default-scheduler",
        "nodeName": "node-0",
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
            for key in ("not-ready", "unreachable")
        ],
    }
    metadata = {
        "name": "pod-NUMBER",
        "namespace": "team",
        "uid": "uid-NUMBER",
        "resourceVersion": "VERSION",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            "app.kubernetes.io/name": "serve",
            "app.kubernetes.io/instance": "serve-NUMBER",
            "pod-template-hash": "5d8f7c9b6",
            "team": "vision",
        },
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"spec": spec}),
            "k8s.v1.cni.cncf.io/network-status": f"[{CANARY}{'x' * 300}]",
            "prometheus.io/scrape": "true",
        },
        "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:{i}": {} for i in range(40)}}],
    }
    status = {"phase": "Running", "qosClass": "Burstable"}
    return json.dumps({"metadata": metadata, "spec": spec, "status": status}).encode()


TEMPLATE = _template()


def real_pod(number: int, version: int = 1) -> Pod:
    """Return a running pod of another scheduler, decoded from 6 kB of JSON."""
    text = TEMPLATE.replace(b"NUMBER", b"%06d" % number).replace(b"VERSION", b"%d" % version)
    return parse.decode_pod(text)


@dataclass
class Disk(SegmentFiles):
    """Segments on a disk that fails, or hangs, as a test orders.

    Attributes:
        fault: Raised by the next writes, after a part has been written.
        free: Cleared while the disk hangs.
    """

    fault: OSError | None = None
    free: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.free.set()

    def begin(self, opening: Iterable[bytes]) -> None:
        super().begin(self._half(opening))

    def append(self, lines: Sequence[bytes]) -> None:
        assert self.free.wait(20.0)
        if self.fault is not None:
            super().append([b"".join(lines)[: sum(map(len, lines)) // 2]])
            raise self.fault
        super().append(lines)

    def _half(self, opening: Iterable[bytes]) -> Iterable[bytes]:
        assert self.free.wait(20.0)
        for piece in opening:
            yield piece
            if self.fault is not None:
                raise self.fault


class Logged:
    """A recorder that logs to a disk of its own; time passes as a test orders.

    Its event loop runs only inside ``run``: a test reads files outside of it.
    """

    def __init__(self, disk: Disk) -> None:
        self.runner = asyncio.Runner()
        self.disk, self.clock, self.metrics = disk, FakeClock(), ExtenderMetrics()
        self.beat = Heartbeat("record", 60.0, self.clock.monotonic)
        self.store = ClusterStore(labels.SCHEDULER_NAME)
        self.recorder = Recorder(self.store, self.clock, self.metrics, self.beat, disk, "hash")
        assert self.recorder.writer is not None
        self.writer = self.recorder.writer
        self.decisions = 0

    def happens(self, *numbers: int, version: int = 2) -> None:
        """Change pods."""
        for number in numbers:
            self.recorder.apply(Upsert(real_pod(number, version)))

    def decides(self) -> None:
        """A decision whose output depends on all of the state."""
        self.decisions += 1
        if self.recorder._keeps():
            output = decide(self.store)
            self.recorder._decision("cycle", self.clock.now(), self.decisions, output)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    def flush(self) -> None:
        """Write what is in the buffer."""
        self.run(self.writer.flush())

    def value(self, name: str, **label: str) -> float:
        """Return a counter of the log; reading the registry would read files, too."""
        metric = getattr(self.metrics, f"decision_log_{name}")
        return (metric.labels(**label) if label else metric)._value.get()

    def segments(self) -> list[Path]:
        return self.disk.paths()


def decide(store: ClusterStore) -> object:
    pods = store.snapshot().pods
    return [len(pods), sum(int(pod.resource_version) for pod in pods.values())]


def records(path: Path) -> list[Record]:
    """Return the content of a segment, but for a line that lacks its end."""
    lines = path.read_bytes().splitlines(keepends=True)
    return [recording.decode(line) for line in lines if line.endswith(b"\n")]


def lost(path: Path) -> int:
    """Return how many records are missing before it, by its head."""
    first = records(path)[0]
    assert isinstance(first, Header)
    return first.lost


def replayed(paths: Iterable[Path]) -> list[int]:
    """Decide everything in the log again; return which decisions those were."""
    found: list[int] = []

    def again(snapshot, record) -> object:
        found.append(record.input)
        pods = snapshot.pods.values()
        return [len(pods), sum(int(pod.resource_version) for pod in pods)]

    for path in paths:
        lines = path.read_bytes().splitlines(keepends=True)
        assert list(recording.replay(lines, again)) == []
    return found


def size_of(one: object) -> int:
    """Return how many bytes of the log are used."""
    return len(msgspec.json.encode(one))


class MakeLog(Protocol):
    """Makes a log in a directory of the test's own."""

    def __call__(
        self, segment_bytes: int = 2**20, segments: int = 8, buffer: int = 2**20
    ) -> Logged: ...
