"""The key of an image changes with the files that the Dockerfile copies, and with nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devcluster.real_nodes import images

DOCKERFILE = "FROM x AS build\nCOPY a.txt code ./\nRUN make\nFROM x\nCOPY --from=build /b /b\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "code/__pycache__").mkdir(parents=True)
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "code/b.py").write_text("b")
    return tmp_path


def key(root: Path, base: str = "x") -> str:
    return images.key(root, root / "Dockerfile", base)


def replaced(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text(DOCKERFILE + "RUN more\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file that is copied": replaced("a.txt"),
    "a file of a directory that is copied": replaced("code/b.py"),
    "one more file there": replaced("code/c.py"),
    "another name": lambda root: (root / "code/b.py").rename(root / "code/c.py"),
    "the Dockerfile": replaced("Dockerfile"),
}
INDIFFERENT: dict[str, Callable[[Path], object]] = {
    "a file that is not copied": replaced("other.txt"),
    "what Python leaves": replaced("code/__pycache__/b.pyc"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_source_is_another_image(root: Path, change: Callable[[Path], object]) -> None:
    before = key(root)
    change(root)
    assert key(root) != before


@pytest.mark.parametrize("change", INDIFFERENT.values(), ids=INDIFFERENT)
def test_files_that_are_not_copied_do_not_change_the_digest(
    root: Path, change: Callable[[Path], object]
) -> None:
    before = key(root)
    change(root)
    assert key(root) == before


def test_another_base_is_another_image(root: Path) -> None:
    assert key(root, "x") != key(root, "y")
