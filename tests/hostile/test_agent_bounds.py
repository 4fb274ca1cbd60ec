"""Input at ten times each limit of the node's agent: the excess is refused or skipped."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.budgets import POD_EVENTS, POD_MEMORY_BYTES, PROBLEM_CHARACTERS
from agent.checkpoint.documents import Ack, Request
from agent.checkpoint.rules import DirectoryContent, checkpoint_of
from agent.errors import UnreachableError
from agent.replicas import client
from agent.reporting import bodies
from agent.reporting.outbox import Message, NodeState, Outbox
from agent.sampling.pod_groups import pids_below
from agent.tailing import cri, volume
from agent.tailing.chunk import Limits
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from shared import places, wire
from shared.errors import InputError
from shared.model import Uid
from shared.parsing.base import HoldsMemory, Parser, Point
from shared.parsing.choosing import parser_for
from shared.parsing.cri_lines import CriCutter
from shared.parsing.cutting import LineCutter, head_of
from shared.parsing.metric_names import MOST_METRICS, Repeats
from shared.parsing.series import Series
from shared.parsing.tfevents import MOST_RECORD_BYTES, TfEvents
from shared.progress import Checkpoint, PodReport, Progress
from shared.wire import Event
from tests.unit.agent.tracking.streams import GivenSource
from tests.unit.parsing import tfevents_files as events

WHOSE = places.PathVariables("team", "train", "train-0", "uid")
NAMES = 10 * MOST_METRICS
CRI = "2016-10-06T00:17:09Z stdout F "


INVENTED: dict[str, tuple[str, Callable[[int], str]]] = {
    "huggingface": ("huggingface", lambda n: f"{{'l{n}': 1.0, 'm{n}': 2.0, 'epoch': {n}}}"),
    "deepspeed": (
        "deepspeed",
        lambda n: (
            "[2023-07-24 12:25:17,424] [INFO] [logging.py:96:log_dist] step=1, skipped=0"
            if n == 0
            else f"loss{n}: 1.0 m{n}: 2.0"
        ),
    ),
    "keras": ("keras", lambda n: f"9/9 - 1s - l{n}: 1.0 - m{n}: 1.0"),
    "lightning": (
        "lightning",
        lambda n: f"Epoch 1: 50%|#| 5/10 [00:00<00:00, 6.5it/s, l{n}=1.0, m{n}=2.0]",
    ),
    "megatron": ("megatron", lambda n: f" iteration {n}/ 9 | a{n} loss: 1.0 | b{n} loss: 1.0 |"),
    "one rank after the other": ("torchrun", lambda n: f'[default{9999 - n}]:{{"s{n}": 1.0}}'),
}


@pytest.mark.parametrize(("kind", "line"), INVENTED.values(), ids=INVENTED)
def test_a_parser_keeps_a_limited_number_of_names(kind: str, line: Callable[[int], str]) -> None:
    """(defect A4)"""
    parser = parser_for(kind)
    assert isinstance(parser, Parser)
    assert isinstance(parser, HoldsMemory)
    for number in range(NAMES):
        parser.feed(line(number))
    held = parser.held_bytes
    assert 0 < held < POD_MEMORY_BYTES
    for number in range(NAMES, 2 * NAMES):
        parser.feed(line(number))
    assert parser.held_bytes == held


def test_a_metric_with_an_empty_range_has_no_distinct_steps() -> None:
    repeats = Repeats()
    assert [repeats.exact(f"m{n}", 1.0) for n in range(MOST_METRICS + 2)][-3:] == [1.0, None, None]
    assert [repeats.exact("m0", step) for step in (1.0, 2.0)] == [None, 2.0]


def test_a_source_keeps_a_limited_number_of_metrics() -> None:
    series = Series()
    for number in range(NAMES):
        series.take(Point(f"{'é' * 190}{number}", 1.0, 1.0))
    assert series.held_bytes < POD_MEMORY_BYTES / 2


def test_a_source_reports_a_limited_number_of_events_of_one_reading() -> None:
    source = GivenSource()
    backwards = [Point("loss", float("nan"), float(10_000 - n)) for n in range(1000)]
    assert len(source.say(*backwards)) == POD_EVENTS


def test_a_record_of_any_length_and_number_of_fields_is_parsed() -> None:
    many = b"".join(events.field(n, 1) for n in range(20, 20_000))
    value = events.simple("loss", 1.0) + many
    good = events.record(events.event(1, value))
    assert len(good) < MOST_RECORD_BYTES
    huge = events.record(events.event(2, events.simple("loss", 2.0) + b"\0" * MOST_RECORD_BYTES))
    points, taken = TfEvents().feed_bytes(good + huge + good)
    assert ([point.step for point in points], taken) == ([1, 1], 2 * len(good) + len(huge))


def test_a_part_of_a_file_makes_a_limited_number_of_lines() -> None:
    data = b"\r\n" * 2**20
    assert len(head_of(data, 1000)) < 20_000
    assert head_of(b"a\n" * 5000, 1000) == b"a\n" * 5000
    cutter, taken, lines = LineCutter(100), 0, 0
    data = b"a\r\n" * 20_000
    while taken < len(data):
        cut = cutter.cut(data[taken:], 1000)
        assert len(cut.lines) <= 1000
        taken, lines = taken + cut.consumed, lines + len(cut.lines)
    assert lines == 20_000


def test_a_line_of_a_containers_log_has_a_limited_length() -> None:
    cutter = CriCutter(1000)
    bar = "a\r" * 10_000
    data, lines, dropped = f"{CRI}{bar}\n{CRI}ok\n".encode(), (), 0
    while data:
        cut = cutter.cut(data, 10)
        data, lines, dropped = data[cut.consumed :], lines + cut.lines, dropped + cut.dropped_lines
    assert (lines, dropped) == (("ok",), 1)
    assert cutter.held_bytes == 0


def test_a_file_that_is_written_faster_than_it_is_read_is_resumed_near_its_end(
    tmp_path: Path,
) -> None:
    file, limits = tmp_path / "log", Limits(behind_bytes=10_000, from_start_bytes=1000)
    file.write_text("begun\n")
    follower = FileFollower(file, limits=limits)
    assert follower.poll(0.0).lines == ("begun",)
    with file.open("a") as stream:
        stream.writelines(f"{n}\n" for n in range(100_000))
    chunk = follower.poll(1.0)
    assert chunk.lines[-1] == "99999"
    assert chunk.behind_bytes > 500_000
    assert chunk.dropped_bytes >= chunk.behind_bytes
    assert 100 < len(chunk.lines) < 200
    assert not follower.poll(2.0).lines


def test_an_old_file_does_not_count_as_written_too_fast(tmp_path: Path) -> None:
    file, limits = tmp_path / "log", Limits(behind_bytes=1000, bytes_per_poll=500)
    file.write_text("".join(f"{n}\n" for n in range(1000)))
    follower, lines = FileFollower(file, limits=limits), 0
    while (chunk := follower.poll(0.0)).lines:
        lines += len(chunk.lines)
        assert not chunk.behind_bytes
    assert lines == 1000


def test_a_containers_directory_of_any_number_of_files_is_listed_in_part(tmp_path: Path) -> None:
    (tmp_path / "0.log").write_text(f"{CRI}a\n")
    for number in range(2 * cri._MOST_NAMES):
        os.link(tmp_path / "0.log", tmp_path / f"{number + 1}.log")
    follower = PodLogFollower(tmp_path)
    follower.poll(0.0)
    assert follower.held_bytes <= cri.NAME_BYTES * cri._MOST_NAMES


def test_a_directory_of_any_number_of_files_is_listed_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume, "MOST_NAMES", 100)
    (tmp_path / "first").write_text("x")
    for number in range(1000):
        os.link(tmp_path / "first", tmp_path / f"{number}.log")
    assert 0 < len(volume.resolve(tmp_path, "*.log")) <= volume.MOST_FILES
    with pytest.raises(InputError, match="not among the 100 names that are read"):
        volume.resolve(tmp_path, "*.csv")


@pytest.mark.parametrize("path", ["*a" * 20, "a" * 300, "[a]" * 20, "x/" + "?" * 50])
def test_a_pattern_of_many_wildcards_or_a_long_name_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError, match="at most 255 characters and 16 wildcards"):
        volume.resolve(tmp_path, path)


LONG = {
    "an annotation": "path=" + "a" * 10 * places.LONGEST_ANNOTATION,
    "a path with the pod's name in it": "path=" + "$(POD_NAME)" * 150,
    "a metric": "metric=" + "m" * 10 * places.LONGEST_METRIC,
}


@pytest.mark.parametrize("annotation", LONG.values(), ids=LONG)
def test_an_annotation_that_is_too_long_is_refused(annotation: str) -> None:
    whose = places.PathVariables("team", "train", "p" * 253, "uid")
    with pytest.raises(InputError, match=r"shuntyard.io/metrics.* a text of at most"):
        places.metrics_place(annotation, whose)


def test_a_checkpoint_annotation_that_is_too_long_is_refused_and_sent_shortened() -> None:
    text = "a/" * 10 * places.LONGEST_ANNOTATION
    sent = places.shortened(text)
    assert sent is not None
    assert len(sent) == places.LONGEST_ANNOTATION + 1
    with pytest.raises(InputError, match=r"shuntyard.io/checkpoint.* a text of at most"):
        places.checkpoint_directory(sent, WHOSE)
    assert places.shortened("short") == "short"
    assert places.shortened(None) is None


def test_a_long_checkpoint_report_of_a_trainer_is_cut() -> None:
    request = Request(id="m", pod_uid="u", action="checkpoint", deadline=1, hold_deadline=1)
    for ack in (Ack(id="m", ok=False, error="e" * 60_000), Ack(id="m", ok=True, path="p" * 60_000)):
        found = checkpoint_of(DirectoryContent(request=request, ack=ack), Uid("u"))
        assert len(found.detail) <= PROBLEM_CHARACTERS
        assert len(found.path) <= PROBLEM_CHARACTERS


def test_a_heartbeat_of_a_full_node_is_bounded() -> None:
    text = "漢" * 10_000
    progress = Progress(metric="漢" * 200, source="jsonl", updated_at=1.0, curve=(1.5e-300,) * 32)
    checkpoint = Checkpoint(detail=text, path=text)
    pods = tuple(
        PodReport(uid=Uid(f"{n}"), problem=text, progress=progress, checkpoint=checkpoint)
        for n in range(250)
    )
    pod_events = tuple(bodies.event("0", 1.0, "nan", text) for _ in range(1000))
    message = Message(1, True, NodeState(), pods, (), pod_events, 0)
    body = bodies.heartbeat(message, node="n1", boot="b", sent_at=9.0, dropped=2)
    assert len(wire.encode(body)) < 2.5 * 2**20


def test_a_pod_of_many_events_costs_no_other_pod_its_own() -> None:
    box = Outbox(most_events=100, full_every_seconds=300.0)
    box.put([Event(uid="quiet", at=1.0, kind="category")])
    for _ in range(10):
        box.put(Event(uid="noisy", at=float(n), kind="nan") for n in range(100))
    sent = box.next(NodeState(), monotonic=0.0)
    assert (len(sent.events), sent.events[0].uid, box.dropped) == (100, "quiet", 901)
    box.put([Event(uid="noisy", at=5.0, kind="nan")])
    box.answered(sent, full_wanted=False, monotonic=0.0)
    assert [one.at for one in box.next(NodeState(), monotonic=0.0).events] == [5.0]


def test_a_limited_number_of_control_groups_is_sampled(tmp_path: Path) -> None:
    for number in range(300):
        group = tmp_path / f"{number}"
        (group / "inner").mkdir(parents=True)
        (group / "cgroup.procs").write_text("1\n" * 10_000)
    (tmp_path / "cgroup.procs").write_text("7\n0\n")
    pids = pids_below(str(tmp_path))
    assert pids[0] == 7
    assert len(pids) <= 4096


async def test_an_endless_answer_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "MOST_ANSWER_BYTES", 10_000)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * int(request.query["n"]))

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        async with session.get(server.make_url("/?n=10000")) as response:
            assert len(await client._bounded(response.content)) == 10_000
        async with session.get(server.make_url("/?n=100000")) as response:
            with pytest.raises(UnreachableError, match="more than 10000 bytes"):
                await client._bounded(response.content)


def test_a_line_of_json_of_many_keys_has_a_limited_number_of_points() -> None:
    line = json.dumps({"step": 1, **{f"k{n}": 1.0 for n in range(NAMES)}})
    parser = parser_for("jsonl")
    assert isinstance(parser, Parser)
    assert len(parser.feed(line)) <= MOST_METRICS
