"""Environment variables of a pod's processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shuntyard_trainer import Checkpoints, Environment, SettingError
from tests.unit.trainer.agent import Training

ALL = {
    "SHUNTYARD_CHECKPOINT_DIR": "/c",
    "SHUNTYARD_METRICS_FILE": "/m.jsonl",
    "SHUNTYARD_POD_UID": "u",
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
}


def test_everything_is_read() -> None:
    want = Environment(Path("/c"), Path("/m.jsonl"), "u", rank=1, world_size=4, local_rank=1)
    assert Environment.read(ALL) == want


def test_our_own_names_win_over_torchruns() -> None:
    own = {"SHUNTYARD_RANK": "2", "SHUNTYARD_WORLD_SIZE": "3", "SHUNTYARD_LOCAL_RANK": "0"}
    read = Environment.read({**ALL, **own})
    assert (read.rank, read.world_size, read.local_rank) == (2, 3, 0)


def test_empty_is_not_set() -> None:
    assert Environment.read(dict.fromkeys(ALL, "")) == Environment()


WRONG = {
    "a rank that is no number": {"RANK": "one"},
    "a rank below 0": {"RANK": "-1"},
    "a rank that is not below the world size": {"RANK": "1"},
}


@pytest.mark.parametrize("variables", WRONG.values(), ids=WRONG)
def test_it_refuses(variables: dict[str, str]) -> None:
    with pytest.raises(SettingError, match=r"RANK=|rank 1"):
        Environment.read(variables)


def test_options_win_over_the_environment(tmp_path: Path) -> None:
    here = Environment(tmp_path / "a", pod_uid="u")
    checkpoints = Checkpoints.from_environment(
        environment=here, directory=tmp_path / "b", handle_sigterm=False
    )
    checkpoints.begin(0)
    assert not (tmp_path / "a").exists()
    assert '"pod_uid": "u"' in (tmp_path / "b" / ".shuntyard" / "trainer.json").read_text()


def test_without_a_directory_the_same_script_runs(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.checkpoints = Checkpoints.from_environment(
        training.save, environment=Environment(), handle_sigterm=False, clock=training.clock
    )
    training.run(3)
    assert training.done == [0, 1, 2]
    assert not training.agent.folder.joinpath("done.json").exists()


def test_without_a_directory_sigterm_still_saves(tmp_path: Path) -> None:
    training = Training(tmp_path)
    training.checkpoints = Checkpoints(
        None, training.save, handle_sigterm=False, clock=training.clock
    )
    training.clock.after(2.0, training.checkpoints.terminate)
    with pytest.raises(SystemExit) as end:
        training.run(5)
    assert (end.value.code, training.saves) == (143, [2])


INTERVALS = ["poll_seconds", "save_every_seconds", "agree_every_steps"]


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_an_interval_is_above_0(tmp_path: Path, name: str, value: float) -> None:
    with pytest.raises(SettingError, match=name):
        Checkpoints(tmp_path, handle_sigterm=False, **{name: value})


def test_step_done_without_a_save_function_explains_what_is_missing(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, handle_sigterm=False)
    checkpoints.begin(0)
    checkpoints.terminate()
    with pytest.raises(SettingError, match="save function"):
        checkpoints.step_done(1)
