"""Checkpoints of trainings on the GPU: what resuming to the bit needs, and how long a check takes.

The cases "on a GPU" of ``tests/frameworks`` compare the losses for each framework.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from extender.core.parameters.migration import MigrationParameters
from tests.frameworks.training import Training
from tests.gpu.machine import note, skip_without_gpu

skip_without_gpu()
torch = pytest.importorskip("torch")
pytest.importorskip("torchdata", reason="torchdata is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.alone]

from shuntyard_trainer.durable import make_durable  # noqa: E402 - it needs torch
from shuntyard_trainer.step_files import StepFiles  # noqa: E402
from shuntyard_trainer.torch_loop import TorchStates  # noqa: E402
from shuntyard_trainer.verifying import PART_OF_HOLD, Verifier  # noqa: E402

TOTAL = 40
DONE = 13
GPU = {"TRAIN_DEVICE": "cuda", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
RANDOM = "shuntyard_random_state"


def training(directory: Path) -> Training:
    return Training(directory, "torch_mixed", TOTAL, **GPU)


def losses(directory: Path) -> list[float]:
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def copied(moved: Path, directory: Path) -> Training:
    """A copy of a training that was ended, with nothing asked of it."""
    shutil.copytree(moved, directory)
    copy = training(directory)
    (copy.agent.folder / "request.json").unlink()
    return copy


def without_cuda(file: Path) -> None:
    """Remove the state of the GPU's generator from a checkpoint."""
    state = torch.load(file, map_location="cpu", weights_only=True)
    assert state[RANDOM][0]["cuda"], "the checkpoint has no state of the GPU's generator"
    state[RANDOM][0]["cuda"] = []
    torch.save(state, file)


def test_losses_are_equal_to_the_bit_with_the_generator_of_the_gpu_and_differ_without(
    tmp_path: Path,
) -> None:
    unmoved, moved = training(tmp_path / "unmoved"), training(tmp_path / "moved")
    unmoved.finish(unmoved.start())
    lives = moved.start()
    moved.wait_for_steps(DONE, lives)
    step = moved.ask(lives)
    moved.end(lives)
    stripped = copied(moved.directory, tmp_path / "stripped")
    (file,) = stripped.checkpoints.glob("step-*.pt")
    without_cuda(file)
    moved.finish(moved.start())
    stripped.finish(stripped.start())
    want, found, differing = (losses(t.directory) for t in (unmoved, moved, stripped))
    note(
        "step of the checkpoint, and the next loss: unmoved, moved, without the generator",
        (step, want[step], found[step], differing[step]),
    )
    assert len(want) == TOTAL
    assert found == want
    assert differing[:step] == want[:step]
    assert differing[step] != want[step]


def timed(name: str, action: Callable[[], object], seconds: dict[str, float]) -> object:
    begun = monotonic()
    result = action()
    seconds[name] = round(monotonic() - begun, 2)
    return result


@pytest.mark.parametrize("gibibytes", [1, 5])
def test_a_check_with_a_full_load_ends_long_before_the_hold(tmp_path: Path, gibibytes: int) -> None:
    layers = [torch.nn.Linear(8192, 8192, bias=False, device="cuda") for _ in range(4 * gibibytes)]
    model = torch.nn.Sequential(*layers)
    states = TorchStates({"model": model}, StepFiles(tmp_path, ".pt", 2), weights_only=True)
    hold_seconds = MigrationParameters().hold_seconds
    verifier = Verifier(states.verify, when="every")
    seconds: dict[str, float] = {}
    path = timed("save", lambda: states.save(1), seconds)
    assert isinstance(path, Path)
    assert path.stat().st_size >= gibibytes * 2**30
    timed("flush", lambda: make_durable(path), seconds)
    timed("check", lambda: verifier.check(str(path), hold_seconds), seconds)
    timed("load", lambda: states.load(str(path), 0), seconds)
    note(f"seconds for {gibibytes} GiB, hold of {hold_seconds:.0f} s", seconds)
    assert verifier._loadable, "it was not loaded within the limit"
    assert seconds["check"] < hold_seconds * PART_OF_HOLD
