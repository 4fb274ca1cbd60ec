"""Every body an agent may send gets a 200 or an error that names the fault, never a 500."""

import asyncio
import copy
import gzip
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from extender.core.agents.heartbeats import _without_curve
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.snapshot import Snapshot
from extender.core.parameters.combined import CoreParameters
from extender.core.scheduler.filtering import FilterVerdict
from extender.core.scheduler.requests import FILTER, FilterOutcome, NoState, RequestTrigger
from extender.metrics.extender import ExtenderMetrics
from extender.servers.agents.answers import AgentAnswers
from extender.servers.applications import create_agents_app
from extender.store import recording
from extender.store.recording import DecisionRecord
from extender.writers.decision_log.recorder import Recorder
from extender.writers.decision_log.segments import SegmentFiles
from shared.health import Heartbeat
from shared.model import NodeName
from shared.progress import NodeReport
from tests.fakes.builders import make_node, make_pod
from tests.fakes.clock import FakeClock
from tests.unit.core.clusters import store_of

MOST_BYTES = 2**16

GPUS = {"devices": 8, "lost": 1, "uncorrected_errors": 3}
USE = {"cpu_cores": 1.5, "memory_bytes": 2, "throttled_ratio": 0.5}
SPAN = {"value": 1.0, "low": 0.5, "high": 2}
PROGRESS = {
    "metric": "loss", "source": "jsonl", "updated_at": 1.0, "goal": "min", "step": 1,
    "total_steps": 9, "value": 0.5, "points": 3, "category": "watching", "growth": 0.1,
    "attempt": 1, "diverged": False, "curve": [2, 1.5], "remaining_seconds": SPAN,
}  # fmt: skip
CHECKPOINT = {
    "step": 1, "saved_at": 1.0, "phase": "acked", "request": "r", "acked_step": 1, "path": "p",
}  # fmt: skip
POD = {"uid": "default-p", "progress": PROGRESS, "checkpoint": CHECKPOINT, "use": USE}
WHOLE = {
    "version": 1, "node": "n", "boot": "b", "sequence": 1, "sent_at": 1.0, "full": True,
    "use": USE, "cpu_cores": 8, "gpus": GPUS, "pods": [POD, {"uid": "x"}], "gone": ["y"],
    "dropped": 0, "events": [{"uid": "x", "at": 1.0, "kind": "nan", "detail": "d"}],
}  # fmt: skip

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, 10**400, -1, 0]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "n", "x" * 2000, "\ud800", "\x00", "nan", "converged"]),
)
keys = st.text(max_size=8)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=10,
)


def places(body: object, path: tuple = ()) -> Iterator[tuple]:
    """Yield the path of every value of a document."""
    inner = body.items() if isinstance(body, dict) else enumerate(body)  # type: ignore[arg-type]
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@st.composite
def nearly_right(draw) -> object:
    """A heartbeat with some values replaced, or gone."""
    body = copy.deepcopy(WHOLE)
    for path in draw(st.lists(st.sampled_from(list(places(WHOLE))), max_size=3)):
        at = body
        try:
            for key in path[:-1]:
                at = at[key]
            if draw(st.booleans()):
                at[path[-1]] = draw(anything)
            else:
                del at[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed the path
    return body


bodies = st.one_of(anything, nearly_right()).map(lambda body: json.dumps(body).encode())


class Served:
    """The application on a loop of its own, with a decision log, for one caller: node ``n``."""

    def __init__(self, runner: asyncio.Runner, directory: Path) -> None:
        self.clock = FakeClock()
        self.store = store_of(make_node("n"), make_pod("p", job="j", node="n"))
        files = SegmentFiles(directory, 2**20, 4)
        files.prepare()
        beat = Heartbeat("record", 60, self.clock.monotonic)
        metrics = ExtenderMetrics()
        self.recorder = Recorder(self.store, self.clock, metrics, beat, files, "hash")
        answers = AgentAnswers(
            self.store, self.clock, metrics, self._check, self.recorder.report,
            synced=lambda: True, acting=lambda: True, notify=lambda: None,
        )  # fmt: skip
        self.app = create_agents_app(answers, metrics, most_body_bytes=MOST_BYTES)
        self.runner = runner
        self._client: TestClient[web.Request, web.Application] | None = None

    async def open(self, stack: AsyncExitStack) -> None:
        server = TestServer(self.app)
        await server.start_server(auto_decompress=False)
        self._client = await stack.enter_async_context(TestClient(server))

    def post(self, body: bytes, **headers: str) -> int:
        async def posted() -> int:
            assert self._client is not None
            async with self._client.post("/v1/heartbeats", data=body, headers=headers) as response:
                await response.read()
                return response.status

        status = self.runner.run(posted())
        self.store.check_invariants()
        return status

    async def _check(self, _authorization: str) -> NodeName:
        return NodeName("n")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        found = Served(runner, tmp_path_factory.mktemp("log"))
        runner.run(found.open(stack))
        yield found
        runner.run(stack.aclose())


def test_the_unchanged_body_is_accepted(served: Served) -> None:
    assert served.post(json.dumps(WHOLE).encode()) == 200


@given(body=bodies)
@example(body=json.dumps({**WHOLE, "sequence": 10**100}).encode())
@example(body=json.dumps({**WHOLE, "node": "\ud800"}).encode())
@example(body=b"[" * 100_000)
@example(body=b"9" * 5000)
def test_no_json_body_causes_a_500(served: Served, body: bytes) -> None:
    assert served.post(body) in {200, 400, 403, 413}


@given(body=st.binary(max_size=200))
def test_no_bytes_cause_a_500(served: Served, body: bytes) -> None:
    assert served.post(body) == 400
    assert served.post(body, **{"Content-Encoding": "gzip"}) == 400


@given(body=bodies, data=st.data())
def test_no_compressed_body_causes_a_500(served: Served, body: bytes, data) -> None:
    gzipped = {"Content-Encoding": "gzip"}
    packed = bytearray(gzip.compress(body))
    assert served.post(bytes(packed), **gzipped) in {200, 400, 403, 413}
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    broken = bytes(packed[: data.draw(st.integers(0, len(packed)))])
    assert served.post(broken, **gzipped) in {200, 400, 403, 413}


@given(header=st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=20))
def test_no_encoding_causes_a_500(served: Served, header: str) -> None:
    assert served.post(b"{}", **{"Content-Encoding": header}) in {400, 415}


def test_accepted_reports_are_logged_and_replay(served: Served) -> None:
    later = {**WHOLE, "sequence": 2**63 - 1}
    assert served.post(json.dumps(later).encode()) == 200
    session = Session(served.store.snapshot(), Reading(0.0, 0.0), CoreParameters())
    trigger = RequestTrigger(make_pod("p"), ["n"])
    outcome = FilterOutcome(answer=FilterVerdict(), state=NoState())
    served.recorder.decided(FILTER, session, NoState(), trigger, outcome)
    served.runner.run(served.recorder._flush())
    assert served.recorder.files is not None
    reports: list[NodeReport] = []

    def decide(snapshot: Snapshot, record: DecisionRecord) -> object:
        reports.append(snapshot.reports[NodeName("n")])
        return record.output

    paths = served.recorder.files.paths()
    lines = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
    assert list(recording.replay(lines, decide)) == []
    live = served.store.snapshot().reports[NodeName("n")]
    assert reports[-1] == replace(live, pods={u: _without_curve(p) for u, p in live.pods.items()})
