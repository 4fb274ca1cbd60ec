"""Hostile files and logs of trainers: the agent reads a bounded part of them."""

import os
from pathlib import Path

import pytest

from agent.tailing import volume
from agent.tailing.chunk import MIB, Limits
from agent.tailing.follower import FileFollower
from shared import places
from shared.errors import InputError
from shared.parsing.patterns import Custom

WHOSE = places.PathVariables("team", "train", "train-0", "uid")
OUTSIDE = {
    "up": "../other",
    "up and down again": "a/../../other",
    "up, hidden": "a/./../../../etc/passwd",
    "absolute": "/etc/passwd",
    "with a NUL": "a\0b",
    "nothing but here": "./.",
}


@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE)
def test_a_path_outside_is_refused_by_the_annotations_name(path: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/checkpoint"):
        places.checkpoint_directory(path, WHOSE)
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, path"):
        places.metrics_place(f"path={path}", WHOSE)


@pytest.mark.parametrize("text", ["9" * 5000, "0", "-1", "1e9", "٣"])
def test_an_invalid_number_of_steps_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="total-steps"):
        places.metrics_place(f"total-steps={text}", WHOSE)


def test_links_are_not_followed(tmp_path: Path) -> None:
    root, secret = tmp_path / "volume", tmp_path / "secret"
    (root / "team" / "train").mkdir(parents=True)
    secret.mkdir()
    (secret / "log").write_text("loss 1\n")
    (root / "team" / "train" / "file").symlink_to(secret / "log")
    (root / "team" / "train" / "folder").symlink_to(secret)
    for path in ("file", "folder/log", "folder/*", "f*/log"):
        place = places.metrics_place(f"path={path}", WHOSE).path
        assert place is not None
        try:
            found = volume.resolve(root, place)
        except InputError:
            continue
        for one in found:
            chunk = FileFollower(one, root=root).poll(0.0)
            assert chunk.problem
            assert not chunk.lines
    follower = FileFollower(root / "team" / "train" / "file", root=root)
    assert "link" in follower.poll(0.0).problem


def test_a_pipe_or_device_does_not_block_the_agent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    chunk = FileFollower(tmp_path / "pipe", root=tmp_path).poll(0.0)
    assert "not a regular file" in chunk.problem


FILES: dict[str, tuple[bytes, int]] = {
    "one endless line": (b"x" * (8 * MIB), 8 * MIB),
    "bytes": (bytes(range(256)) * 32_768, 8 * MIB),
    "line ends alone": (b"\n" * (8 * MIB), 8 * MIB),
    "carriage returns alone": (b"\r" * (8 * MIB), 8 * MIB),
    "a sparse terabyte": (b"", 2**40),
}


@pytest.mark.parametrize(("data", "size"), FILES.values(), ids=FILES)
def test_a_file_is_read_in_bounded_parts(tmp_path: Path, data: bytes, size: int) -> None:
    file = tmp_path / "log"
    with file.open("wb") as stream:
        stream.write(data)
        stream.truncate(size)
    limits = Limits()
    follower, read = FileFollower(file, limits=limits), 0
    for poll in range(40):
        chunk = follower.poll(float(poll))
        taken = sum(map(len, chunk.lines))
        assert taken <= 2 * limits.bytes_per_poll
        assert len(chunk.lines) <= limits.lines_per_poll
        assert all(len(line) <= limits.line_bytes + 2 for line in chunk.lines)
        read += taken
        if not chunk.more:
            break
    assert read <= limits.from_start_bytes + limits.head_bytes + limits.bytes_per_poll
    follower.close()


TOO_LARGE = {
    "counts within counts": "((a{999}){999}){999}(?P<value>b)",
    "a long one": "a" * 600 + "(?P<value>b)",
    "one without a value": "a+",
    "one that is none": "(?P<value>[",
}


@pytest.mark.parametrize("pattern", TOO_LARGE.values(), ids=TOO_LARGE)
def test_an_invalid_or_too_large_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, regex"):
        Custom(pattern)
