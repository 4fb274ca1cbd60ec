"""Laws of following a file: no invented line, no complete line lost, after any change of it."""

import itertools
import os
import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent.tailing.chunk import Limits
from agent.tailing.cri import PodLogFollower
from agent.tailing.follower import FileFollower
from shared.parsing.cutting import LOST_BEGINNING, LineCutter, clean
from tests.unit.agent.tailing.scene import LONG_SECONDS, SECONDS, Scene

ends = st.sampled_from(["\n", "\n", "\r", "\r\n"])
bodies = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=30)
happenings = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(bodies, ends), max_size=8)),
    st.tuples(st.just("begin_a_line"), bodies),
    st.sampled_from(
        [
            ("poll", None),
            ("poll", None),
            ("rename", None),
            ("rename_and_make_none", None),
            ("truncate", None),
            ("delete", None),
            ("stay_idle", None),
        ]
    ),
)
limits = st.builds(
    Limits,
    bytes_per_poll=st.integers(1, 200),
    lines_per_poll=st.integers(1, 20),
    idle_close_seconds=st.just(LONG_SECONDS / 2),
    reopen_seconds=st.sampled_from([SECONDS, LONG_SECONDS]),
)
raw = st.lists(st.sampled_from([b"\n", b"\r", b" ", b"\x1b[1m", b"\b", b"\0", b"ab", b"\xff"]))
cuts = st.lists(st.integers(0, 60), max_size=20)


@given(st.lists(happenings, max_size=25), limits, st.booleans())
def test_every_complete_line_is_read_once_and_in_order(things, limits, polled):
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder), limits, polled=polled)
        for name, argument in things:
            getattr(scene, name)(argument)
        scene.catch_up()
        scene.follower.close()
        assert scene.read == scene.written


wild = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["append", "overwrite", "replace"]), raw.map(b"".join)),
        st.tuples(st.just("truncate"), st.integers(0, 40)),
        st.tuples(st.sampled_from(["rename", "delete", "poll", "poll"]), st.none()),
    ),
    max_size=30,
)


@given(wild, limits)
def test_a_reader_that_does_not_keep_up_reads_nothing_that_was_not_a_whole_line(things, limits):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        follower = FileFollower(path, limits=limits)
        existed: set[str] = set()
        for number, (name, argument) in enumerate(things):
            if name == "poll":
                chunk = follower.poll(float(number))
                assert set(chunk.lines) <= existed
                assert chunk.problem == ""
            else:
                _disturb(path, name, argument, number)
                existed |= _whole_lines(path)
        follower.close()


def _disturb(path: Path, name: str, argument, number: int) -> None:
    mark = b"%d" % number
    if name in ("append", "overwrite"):
        with path.open("ab" if name == "append" else "wb") as file:
            file.write(mark + argument)
    elif name == "replace":
        fresh = path.with_name("fresh")
        fresh.write_bytes(mark + argument)
        fresh.replace(path)
    elif path.exists():
        if name == "truncate":
            os.truncate(path, min(argument, path.stat().st_size))
        elif name == "rename":
            path.rename(path.with_name(f"log.{number}"))
        else:
            path.unlink()


def _whole_lines(path: Path) -> set[str]:
    if not path.exists():
        return set()
    return {clean(piece) for piece in re.split(rb"[\r\n]", path.read_bytes())[:-1]}


@given(raw.map(b"".join), cuts, st.integers(1, 5))
def test_where_the_bytes_are_cut_does_not_change_the_lines(data, cuts, most_lines):
    whole = [text for piece in re.split(rb"[\r\n]", data)[:-1] if (text := clean(piece))]
    cutter = LineCutter(1000)
    found: list[str] = []
    start = 0
    for end in [*sorted(cuts), len(data)]:
        while start < min(end, len(data)):
            cut = cutter.cut(data[start : min(end, len(data))], most_lines)
            start += cut.consumed
            found += cut.lines
            assert cut.dropped_bytes == 0
    assert found == whole


@given(
    st.lists(st.tuples(st.text("ab \t", min_size=1, max_size=12), st.sampled_from("\n\r"))),
    cuts,
    st.integers(1, 8),
)
def test_a_line_is_given_whole_or_marked_as_an_end_of_it(lines, cuts, line_bytes):
    data = "".join(line + end for line, end in lines).encode()
    cutter = LineCutter(line_bytes)
    found: list[str] = []
    dropped = start = 0
    for end in [*sorted(cuts), len(data)]:
        cut = cutter.cut(data[start:end], 1000)
        start += cut.consumed
        dropped += cut.dropped_bytes
        found += cut.lines
        assert len(cutter._kept) <= line_bytes
    texts = [line.rstrip() for line, _ in lines]
    for text in found:
        end = text.removeprefix(LOST_BEGINNING)
        assert text in texts or any(t.endswith(end) for t in texts if len(t) > len(end))
    assert bool(dropped) == any(len(line) + len(end) > line_bytes for line, end in lines)


parts = st.tuples(
    st.sampled_from(["stdout", "stderr"]),
    st.text("xyz .:é━", min_size=1, max_size=20),
    st.lists(st.integers(0, 20), max_size=3),
)
pod_things = st.lists(
    st.one_of(parts, st.sampled_from(["poll", "rotate", "restart", "torn"])), max_size=30
)


@given(pod_things, limits)
def test_every_line_of_a_container_is_read_once_and_in_order(things, limits):
    with tempfile.TemporaryDirectory() as folder:
        pod = _Pod(Path(folder), limits)
        for thing in things:
            if isinstance(thing, tuple):
                pod.prints(*thing)
            else:
                getattr(pod, thing)()
        pod.catch_up()
        pod.follower.close()
        assert pod.read == pod.written


class _Pod:
    """A runtime that writes a container's output in parts, and a kubelet that rotates."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self.follower = PodLogFollower(folder, limits=limits)
        self.read: list[str] = []
        self.written: list[str] = []
        self._restart = self._rotations = self._polls = 0
        self._path.touch()
        self.poll()

    @property
    def _path(self) -> Path:
        return self.folder / f"{self._restart}.log"

    def prints(self, stream: str, text: str, cuts: list[int]) -> None:
        number = len(self.written)
        whole = f"{number}:{text}.".encode()
        places = [0, *sorted(min(c, len(whole)) for c in cuts), len(whole)]
        pieces = [whole[a:b] for a, b in itertools.pairwise(places)]
        lines = [
            b"2026-11-21T10:00:%02d.%09dZ %s %s %s\n"
            % (number % 60, number, stream.encode(), b"P" if i + 1 < len(pieces) else b"F", piece)
            for i, piece in enumerate(pieces)
        ]
        with self._path.open("ab") as file:
            file.write(b"".join(lines))
        self.written.append(clean(whole))

    def torn(self) -> None:
        """The reader sees the file while a line is half written."""
        before = self._path.stat().st_size
        self.prints("stdout", "torn", [3])
        data = self._path.read_bytes()
        os.truncate(self._path, (before + len(data)) // 2)
        self.poll()
        with self._path.open("ab") as file:
            file.write(data[(before + len(data)) // 2 :])

    def rotate(self) -> None:
        self.catch_up()
        self.prints("stdout", "behind the last poll", [])
        self._rotations += 1
        stamp = f"20261121-1000{self._rotations:02d}"
        self._path.rename(self.folder / f"{self._restart}.log.{stamp}")
        self._path.touch()

    def restart(self) -> None:
        self.catch_up()
        self.prints("stderr", "behind the last poll", [])
        self._restart += 1
        self._path.touch()

    def poll(self):
        self._polls += 1
        chunk = self.follower.poll(float(self._polls))
        assert chunk.problem == ""
        assert len(chunk.times) == len(chunk.lines)
        self.read += chunk.lines
        return chunk

    def catch_up(self) -> None:
        quiet = 0
        while quiet < 3:
            chunk = self.poll()
            quiet = 0 if chunk.lines or chunk.more or chunk.rotated else quiet + 1
