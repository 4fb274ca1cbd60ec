"""The files of the volume that an annotation names, and no others."""

from pathlib import Path

import pytest

from agent.tailing.volume import MOST_FILES, resolve
from shared.errors import InputError


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    root = tmp_path / "volume"
    for name in ("ns/job/metrics/w-0.jsonl", "ns/job/metrics/w-1.jsonl", "ns/job/metrics/.hidden"):
        _file(root, name)
    for step in (900, 1000):
        _file(root, f"ns/job/out/checkpoint-{step}/trainer_state.json")
    (root / "ns/job/out/checkpoint-2000").mkdir()
    _file(tmp_path, "secret/password")
    return root


def _file(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("x")


FOUND = {
    "a file": ("ns/job/metrics/w-0.jsonl", ["ns/job/metrics/w-0.jsonl"]),
    "a pattern in the last part": (
        "ns/job/metrics/w-*",
        ["ns/job/metrics/w-0.jsonl", "ns/job/metrics/w-1.jsonl"],
    ),
    "a pattern in the last part but one": (
        "ns/job/out/checkpoint-*/trainer_state.json",
        [f"ns/job/out/checkpoint-{n}/trainer_state.json" for n in (1000, 900)],
    ),
    "patterns in both": (
        "ns/job/me*/w-[01].json?",
        [f"ns/job/metrics/w-{i}.jsonl" for i in (0, 1)],
    ),
    "hidden files only where asked for": ("ns/job/metrics/.h*", ["ns/job/metrics/.hidden"]),
    "nothing there yet": ("ns/other/metrics/w-0*", []),
    "no match yet": ("ns/job/metrics/w-7*", []),
    "a volume that is not mounted": ("../none/x".removeprefix("../"), []),
}


@pytest.mark.parametrize(("relative", "want"), FOUND.values(), ids=FOUND)
def test_paths_and_patterns_are_found(volume: Path, relative: str, want: list[str]) -> None:
    assert resolve(volume, relative) == tuple(volume / name for name in want)


OUTSIDE = {
    "up": "../secret/password",
    "up in the middle": "ns/../../secret/password",
    "absolute": "/etc/passwd",
    "nothing": "",
    "a NUL": "ns/job\0/x",
    "a pattern too early": "n*/job/metrics/w-0.jsonl",
}


@pytest.mark.parametrize("relative", OUTSIDE.values(), ids=OUTSIDE)
def test_a_path_that_leads_out_is_refused_with_the_name_of_the_annotation(
    volume: Path, relative: str
) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard.io/metrics, path"):
        resolve(volume, relative)


def test_a_link_is_refused_wherever_it_is(volume: Path) -> None:
    (volume / "ns/job/file").symlink_to(volume.parent / "secret/password")
    (volume / "ns/job/folder").symlink_to(volume.parent / "secret")
    (volume / "ns/job/inner").symlink_to(volume / "ns/job/metrics")
    for relative in (
        "ns/job/file",
        "ns/job/fil*",
        "ns/job/folder/password",
        "ns/job/folder/*",
        "ns/job/f*/password",
        "ns/job/inner/w-0.jsonl",
    ):
        with pytest.raises(InputError, match="link"):
            resolve(volume, relative)


def test_a_link_among_files_is_passed_over(volume: Path) -> None:
    (volume / "ns/job/metrics/w-2.jsonl").symlink_to("/etc/passwd")
    assert len(resolve(volume, "ns/job/metrics/w-*")) == 2


def test_anything_but_a_file_is_refused(volume: Path) -> None:
    with pytest.raises(InputError, match=r"job/metrics is a directory"):
        resolve(volume, "ns/job/metrics")


def test_a_pattern_names_no_more_files_than_the_limit(volume: Path) -> None:
    for i in range(MOST_FILES + 10):
        _file(volume, f"ns/many/{i:04}")
    assert len(resolve(volume, "ns/many/*")) == MOST_FILES
