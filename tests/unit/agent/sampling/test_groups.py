"""Finding pods' directories with few directory reads."""

from pathlib import Path

import pytest

from agent.sampling import groups
from agent.sampling.groups import GroupFinder
from shared.model import Uid
from tests.unit.agent.sampling.trees import OTHER, SHAPES, UID, empty_version2, path_of


class Looked:
    """Counts the directories that are looked into."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.into: list[str] = []
        self._real = groups.subdirectories
        monkeypatch.setattr(groups, "subdirectories", self._look)

    def _look(self, directory: str) -> list[str]:
        self.into.append(directory)
        return self._real(directory)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return empty_version2(tmp_path / "cgroup")


def add(root: Path, uid: str, shape: str = "containerd with cgroupfs, Burstable") -> str:
    path = root / path_of(shape, uid)
    path.mkdir(parents=True)
    return str(path)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pod_is_found_in_the_tree_of_every_driver(root: Path, shape: str) -> None:
    path = add(root, UID, shape)
    add(root, OTHER, shape)
    assert GroupFinder(root).locate([Uid(UID)], 0.0) == {UID: path}


def test_a_pod_beside_a_known_one_is_found_without_a_walk(root: Path, looked: Looked) -> None:
    finder = GroupFinder(root)
    add(root, UID)
    finder.locate([Uid(UID)], 0.0)
    looked.into.clear()
    path = add(root, OTHER)
    assert finder.locate([Uid(UID), Uid(OTHER)], 0.1)[Uid(OTHER)] == path
    assert looked.into == []


def test_a_missing_pod_is_not_walked_for_again_before_the_pause_is_over(
    root: Path, looked: Looked
) -> None:
    finder = GroupFinder(root, pause_seconds=10.0)
    assert finder.locate([Uid(UID)], 0.0) == {}
    looked.into.clear()
    path = add(root, UID)
    assert finder.locate([Uid(UID)], 9.9) == {}
    assert looked.into == []
    assert finder.locate([Uid(UID)], 10.0) == {UID: path}


def test_pods_that_were_not_requested_are_not_read(root: Path, looked: Looked) -> None:
    for number in range(50):
        path = add(root, f"{number:08x}-4e5f-6071-8293-a4b5c6d7e8f9")
        (Path(path) / "container").mkdir()
    GroupFinder(root).locate([Uid(UID)], 0.0)
    assert [one for one in looked.into if "/pod" in one] == []


def test_the_kubelets_part_comes_first(root: Path, looked: Looked) -> None:
    for number in range(100):
        (root / f"a-{number}/b").mkdir(parents=True)
    add(root, UID)
    GroupFinder(root).locate([Uid(UID)], 0.0)
    assert len(looked.into) == 3


def test_a_walk_is_bounded_and_logged_once(
    root: Path, looked: Looked, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(100):
        (root / f"a-{number}").mkdir()
    finder = GroupFinder(root, most_directories=20, pause_seconds=0.0)
    for now in (0.0, 1.0):
        finder.locate([Uid(UID)], now)
    assert len(looked.into) == 40
    assert [record.message for record in caplog.records] == [
        "looked for pods in 20 groups and stopped"
    ]


def test_a_walk_goes_no_deeper_than_it_may(root: Path) -> None:
    add(root, UID, "rootless k3s")
    assert GroupFinder(root, most_depth=6).locate([Uid(UID)], 0.0) == {}
    assert GroupFinder(root, most_depth=7).locate([Uid(UID)], 0.0) != {}


def test_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    add(tmp_path / "elsewhere", UID)
    (root / "link").symlink_to(tmp_path / "elsewhere")
    assert GroupFinder(root).locate([Uid(UID)], 0.0) == {}


def test_a_pod_that_is_no_longer_sampled_is_dropped(root: Path) -> None:
    add(root, UID)
    finder = GroupFinder(root)
    finder.locate([Uid(UID)], 0.0)
    assert finder.locate([], 1.0) == {}


def test_a_uid_that_is_none_is_not_searched(root: Path, looked: Looked) -> None:
    assert GroupFinder(root).locate([Uid("../../etc")], 0.0) == {}
    assert looked.into == []
