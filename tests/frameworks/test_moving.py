"""Asked, held, ended with 143, resumed: no step is done twice, with every framework."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.frameworks.cases import CASES, Case
from tests.frameworks.training import Training, needs, skip_without_any
from tests.unit.trainer import processes

skip_without_any()
TOTAL = 60


EACH = [
    pytest.param(case, marks=needs(*case.packages, gpu=case.on_gpu), id=name)
    for name, case in CASES.items()
]


@pytest.fixture(autouse=True)
def _recorded(
    record_property: Callable[[str, object], None], request: pytest.FixtureRequest
) -> None:
    """Note the case for ``conftest.py``."""
    if "case" in request.fixturenames:
        record_property("case", request.node.callspec.id)


@pytest.fixture(autouse=True)
def _none_stays() -> Iterator[None]:
    yield
    processes.kill_all()


def _training(directory: Path, case: Case, total: int = TOTAL) -> Training:
    return Training(directory, case.program, total, case.world_size, **case.variables)


@pytest.mark.parametrize("case", EACH)
def test_a_run_that_is_moved_twice_does_every_step_once(tmp_path: Path, case: Case) -> None:
    training, resumed = _training(tmp_path, case), None
    for done in (13, 37):
        lives = training.start()
        training.wait_for_steps(done, lives)
        trainer = training.agent.read("trainer.json")
        assert trainer is not None
        assert (trainer["resumed_step"], trainer["pod_uid"]) == (resumed, training.pod)
        resumed = training.ask(lives)
        at_answer = [len(training.steps(rank)) for rank in range(case.world_size)]
        assert at_answer == [resumed] * case.world_size
        training.end(lives)
    training.finish(training.start())
    steps = [training.steps(rank) for rank in range(case.world_size)]
    assert [len(each) for each in steps] == [TOTAL] * case.world_size
    assert case.program == "keras_fit" or steps == [list(range(TOTAL))] * case.world_size
    trainer, end = training.agent.read("trainer.json"), training.agent.read("done.json")
    assert trainer is not None
    assert end is not None
    assert (trainer["resumed_step"], end["step"]) == (resumed, TOTAL)
    assert (trainer["rank"], trainer["world_size"]) == (0, case.world_size)
    _check_metrics(tmp_path, case)


def _loss(case: Case) -> str:
    return {"keras_fit": "batch_loss", "lightning_fit": "train_loss"}.get(case.program, "loss")


def _check_metrics(directory: Path, case: Case) -> None:
    """Every step of all lives has its line, in order, once."""
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if _loss(case) in line] == list(range(1, TOTAL + 1))
    assert {line["total_steps"] for line in lines} == {TOTAL}


@pytest.mark.parametrize("case", EACH)
def test_sigterm_without_a_request_saves_first(tmp_path: Path, case: Case) -> None:
    training = _training(tmp_path, case)
    lives = training.start()
    training.wait_for_steps(13, lives)
    training.end(lives)
    saved = training.agent.read("saved.json")
    assert saved is not None
    assert saved["step"] == len(training.steps())
    training.finish(training.start())
    assert len(training.steps()) == TOTAL


@pytest.mark.parametrize("case", EACH)
def test_a_cancel_in_the_hold_lets_the_run_go_on(tmp_path: Path, case: Case) -> None:
    training = _training(tmp_path, case)
    lives = training.start()
    training.wait_for_steps(13, lives)
    training.ask(lives)
    training.agent.cancel("r1")
    training.finish(lives)
    released = training.agent.read("released.json")
    assert released is not None
    assert released["why"] == "cancelled"
    assert len(training.steps()) == TOTAL


def _losses(directory: Path, case: Case) -> list[float]:
    name = _loss(case)
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line[name] for line in lines if name in line]


@pytest.mark.parametrize("case", EACH)
def test_a_moved_run_has_the_losses_of_an_unmoved_one_to_the_bit(
    tmp_path: Path, case: Case
) -> None:
    """Model, optimizer, data and random numbers (dropout) continue exactly where they were."""
    if case.differs:
        pytest.skip(case.differs)
    unmoved, moved = _training(tmp_path / "unmoved", case), _training(tmp_path / "moved", case)
    unmoved.finish(unmoved.start())
    for done in (13, 37):
        lives = moved.start()
        moved.wait_for_steps(done, lives)
        moved.ask(lives)
        moved.end(lives)
    moved.finish(moved.start())
    want, found = (_losses(tmp_path / which, case) for which in ("unmoved", "moved"))
    assert len(want) == TOTAL
    assert found == want


@needs("torch")
def test_under_torchrun_the_ranks_save_and_the_launcher_ends_with_1(tmp_path: Path) -> None:
    training = Training(tmp_path, "torch_launched", TOTAL)
    lives = training.start()
    training.wait_for_steps(13, lives)
    step = training.ask(lives)
    lives[0].terminate()
    code, _ = processes.finish(lives[0], 60.0)
    assert (code, len(training.steps()), len(training.steps(1))) == (1, step, step)
    training.finish(training.start())
    assert training.steps() == training.steps(1) == list(range(TOTAL))
