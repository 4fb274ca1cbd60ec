"""Parts that seldom change are written once, and every checkpoint is whole with them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from shuntyard_trainer import Environment, SaveError, SettingError
from tests.frameworks.training import needs, skip_without_any

skip_without_any()
pytestmark = needs("torch")


def _parts(value: float) -> dict[str, Any]:
    torch: Any = importlib.import_module("torch")
    base, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    for model in (base, head):
        for weights in model.parameters():
            weights.data.fill_(value)
    return {"base": base, "head": head}


def _checkpoints(directory: Path, parts: dict[str, Any], **options: Any) -> Any:
    loop: Any = importlib.import_module("shuntyard_trainer.torch_loop")
    here = Environment(checkpoint_dir=directory)
    more = {"incremental": ("base",), "handle_sigterm": False, **options}
    return loop.torch_checkpoints(parts, environment=here, **more)


def _files(directory: Path) -> dict[str, int]:
    """Return the files of parts, with the time of writing."""
    return {path.name: path.stat().st_mtime_ns for path in directory.glob("*part-*")}


def test_a_part_is_written_again_only_when_it_has_changed(tmp_path: Path) -> None:
    parts = _parts(1.0)
    checkpoints = _checkpoints(tmp_path, parts)
    checkpoints.begin(0)
    checkpoints.save_now(1)
    first = _files(tmp_path)
    parts["head"].weight.data.fill_(2.0)
    checkpoints.save_now(2)
    assert len(first) == 1
    assert _files(tmp_path) == first
    parts["base"].weight.data.fill_(3.0)
    checkpoints.save_now(3)
    assert len(_files(tmp_path)) == 2
    checkpoints.save_now(4)
    assert not _files(tmp_path).keys() & first.keys()


def test_a_life_after_has_every_part(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path, _parts(1.0))
    checkpoints.begin(0)
    for step in (1, 2):
        checkpoints.save_now(step)
    for incremental in (("base",), ()):
        parts = _parts(0.0)
        _checkpoints(tmp_path, parts, incremental=incremental)
        assert [float(part.weight.detach().sum()) for part in parts.values()] == [16.0, 4.0]


@pytest.mark.parametrize("before", [0, 1], ids=["at first", "later"])
def test_a_checkpoint_without_the_file_of_a_part_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    incremental: Any = importlib.import_module("shuntyard_trainer.torch_incremental")
    checkpoints = _checkpoints(tmp_path, _parts(1.0))
    checkpoints.begin(0)
    for step in range(1, 1 + before):
        checkpoints.save_now(step)

    def lose(_: object, kept: set[str], directory: Path) -> None:
        for name in kept:
            (directory / name).unlink()

    monkeypatch.setattr(incremental.IncrementalParts, "prune", lose)
    with pytest.raises(SaveError, match="the part base, is missing"):
        checkpoints.save_now(7)


def test_a_file_that_was_cut_is_written_again(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path, _parts(1.0))
    checkpoints.begin(0)
    checkpoints.save_now(1)
    (name,) = _files(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:100])
    checkpoints.save_now(2)
    parts = _parts(0.0)
    _checkpoints(tmp_path, parts)
    assert float(parts["base"].weight.detach().sum()) == 16.0


@pytest.mark.parametrize("name", ["encoder", "../base"])
def test_a_name_of_no_part_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingError, match="incremental"):
        _checkpoints(tmp_path, _parts(1.0), incremental=(name,))
