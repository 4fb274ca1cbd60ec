"""Keras's callback interface as documented, played by hand: where in the epochs a run is.

The same with the real Keras: tests/frameworks.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shuntyard_trainer import Environment
from tests.unit.trainer.agent import POD, Agent

BATCHES, EPOCHS = 4, 3


class Optimizer:
    built = True


class Model:
    """Weights are a number that grows with each batch."""

    built = True
    optimizer = Optimizer()

    def __init__(self) -> None:
        self.stop_training: object = False
        self._initial_epoch: int | None = None
        self.weights = 0

    def save_weights(self, path: Path) -> None:
        path.write_text(str(self.weights))

    def load_weights(self, path: Path) -> None:
        self.weights = int(path.read_text())


class Callback:
    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self._model: Any = None

    @property
    def model(self) -> Any:
        return self._model


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    stub = types.ModuleType("keras")
    stub.callbacks = types.SimpleNamespace(Callback=Callback)
    monkeypatch.setitem(sys.modules, "keras", stub)
    monkeypatch.delitem(sys.modules, "shuntyard_trainer.keras", raising=False)
    yield importlib.import_module("shuntyard_trainer.keras")
    sys.modules.pop("shuntyard_trainer.keras", None)


class Run:
    """``Model.fit``, as every backend of Keras 3 does it."""

    def __init__(
        self, keras: types.ModuleType, directory: Path, *, batches: int | None = BATCHES
    ) -> None:
        here = Environment(directory, directory / "metrics.jsonl", POD)
        self.ours = keras.ShuntyardCallback(
            verify=None,
            inspect=None,
            environment=here,
            handle_sigterm=False,
            poll_seconds=1e-9,
            log_every_batches=1,
        )
        self.agent = Agent(directory)
        self.model = Model()
        self.done: list[tuple[int, int]] = []
        self.at: dict[tuple[int, int], Any] = {}
        """What happens before the batch of this epoch ends."""
        self.ours._model = self.model
        self.ours.params = {"steps": batches, "epochs": EPOCHS}

    def fit(self, others: tuple[Any, ...] = (), per_execution: int = 1) -> None:
        callbacks = [*others, self.ours]
        self.ours.on_train_begin()
        for epoch in range(self.model._initial_epoch or 0, EPOCHS):
            self.ours.on_epoch_begin(epoch)
            for batch in range(per_execution - 1, BATCHES + per_execution - 1, per_execution):
                self.model.weights += 1
                self.done.append((epoch, batch))
                self.at.get((epoch, batch), lambda: None)()
                self.ours.on_train_batch_end(batch, {"loss": 1.0})
                if self.model.stop_training:
                    break
            for callback in callbacks:
                callback.on_epoch_end(epoch, {"loss": 2.0})
            if self.model.stop_training:
                break
        self.ours.on_train_end()

    def end_at(self, epoch: int, batch: int) -> None:
        """SIGTERM during this batch."""
        self.at[epoch, batch] = self._terminate
        with pytest.raises(SystemExit):
            self.fit()

    def _terminate(self) -> None:
        self.ours._run.checkpoints.terminate()

    def saved(self) -> dict[str, Any]:
        saved = self.agent.read("saved.json")
        assert saved is not None
        folder = self.agent.folder.parent / saved["path"]
        return {**json.loads((folder / "position.json").read_text()), "saved": saved["step"]}


def test_within_an_epoch_the_position_is_saved(keras: types.ModuleType, tmp_path: Path) -> None:
    run = Run(keras, tmp_path)
    run.end_at(1, 1)
    assert run.saved() == {"step": 6, "epoch": 1, "batch": 2, "saved": 6}


def test_the_rest_of_the_epoch_is_done_and_no_batch_twice(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    Run(keras, tmp_path).end_at(1, 1)
    second = Run(keras, tmp_path)
    second.fit()
    assert [epoch for epoch, _ in second.done] == [1, 1, 2, 2, 2, 2]
    assert second.model.weights == BATCHES * EPOCHS
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "batch_loss" in line] == list(range(1, 13))
    assert [line["step"] for line in lines if "loss" in line] == [4, 8, 12]


def test_a_run_can_be_ended_twice_in_one_epoch(keras: types.ModuleType, tmp_path: Path) -> None:
    Run(keras, tmp_path).end_at(1, 0)
    second = Run(keras, tmp_path)
    second.end_at(1, 1)
    assert second.saved() == {"step": 7, "epoch": 1, "batch": 3, "saved": 7}
    third = Run(keras, tmp_path)
    third.fit()
    assert third.model.weights == BATCHES * EPOCHS


def test_the_last_batch_of_an_epoch_is_saved_after_the_validation(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    run = Run(keras, tmp_path)
    run.end_at(0, BATCHES - 1)
    assert run.saved() == {"step": 4, "epoch": 1, "batch": 0, "saved": 4}


def test_without_a_known_number_of_batches_only_whole_epochs_are_saved(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    run = Run(keras, tmp_path, batches=None)
    run.end_at(1, 1)
    assert run.saved() == {"step": 8, "epoch": 2, "batch": 0, "saved": 8}


def test_several_batches_in_one_execution_count_no_more_than_the_epoch_has(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    run = Run(keras, tmp_path)
    run.fit(per_execution=3)
    assert run.saved()["step"] == BATCHES * EPOCHS


class StopAtOnce:
    """As EarlyStopping that has seen enough."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def on_epoch_end(self, _epoch: int, _logs: object) -> None:
        self.model.stop_training = True


def test_a_stop_by_another_callback_in_the_partial_epoch_counts(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    Run(keras, tmp_path).end_at(1, 1)
    second = Run(keras, tmp_path)
    second.fit(others=(StopAtOnce(second.model),))
    assert [epoch for epoch, _ in second.done] == [1, 1]
    done = second.agent.read("done.json")
    assert done is not None
    assert done["step"] == 8


def test_an_unbuilt_model_cannot_resume(keras: types.ModuleType, tmp_path: Path) -> None:
    Run(keras, tmp_path).end_at(0, 1)
    second = Run(keras, tmp_path)
    second.model.built = False
    with pytest.raises(ValueError, match="not built"):
        second.fit()


def test_a_later_fit_of_the_same_model_begins_at_its_initial_epoch(
    keras: types.ModuleType, tmp_path: Path
) -> None:
    Run(keras, tmp_path).end_at(1, 1)
    second = Run(keras, tmp_path)
    second.fit()
    assert second.model._initial_epoch is None
