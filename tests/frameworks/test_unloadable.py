"""A checkpoint that lost a part while a framework wrote it is not acknowledged."""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shuntyard_trainer import Environment, SaveError, SettingError, UnloadableError
from tests.frameworks.training import needs, skip_without_any

skip_without_any()
pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


def _remove(pattern: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (found,) = folder.glob(pattern)
        found.unlink()

    return damage


def _cut(pattern: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (found,) = folder.glob(pattern)
        with found.open("r+b") as file:
            file.truncate(found.stat().st_size - 100)

    return damage


def _other_bytes(pattern: str, place: bytes) -> Callable[[Path], None]:
    """Change one of the weights, which ``place`` has."""

    def damage(folder: Path) -> None:
        (found,) = folder.glob(pattern)
        data = found.read_bytes()
        assert place in data
        found.write_bytes(data.replace(place, place[::-1], 1))

    return damage


def _forget(name: str) -> Callable[[Path], None]:
    """Remove a name from the metadata of DCP."""

    def damage(folder: Path) -> None:
        file = folder / ".metadata"
        metadata = pickle.loads(file.read_bytes())
        kept = metadata.state_dict_metadata
        metadata.state_dict_metadata = {k: v for k, v in kept.items() if not k.startswith(name)}
        file.write_bytes(pickle.dumps(metadata))

    return damage


WEIGHTS = b"\x00\x00\x20\x41\x00\x00\xa0\x41"  # 10.0, 20.0
ALWAYS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "DCP: a shard is missing": ("torch_dcp", _remove("*.distcp"), "has 0 bytes"),
    "DCP: a shard is cut": ("torch_dcp", _cut("*.distcp"), "metadata says"),
    "DCP: no metadata": ("torch_dcp", _remove(".metadata"), "metadata"),
    "DCP: no optimizer": ("torch_dcp", _forget("optimizer"), "there is no optimizer"),
    "DCP: no generators": ("torch_dcp", _remove("rank-0.pt"), "rank-0.pt is missing"),
    "Accelerate: no optimizer": ("accelerate", _remove("optimizer.bin"), "no optimizer.bin"),
    "Accelerate: a cut optimizer": ("accelerate", _cut("optimizer.bin"), "optimizer.bin is not"),
    "Accelerate: a cut model": ("accelerate", _cut("model.safetensors"), "model.safetensors"),
}
FIRST = {
    **ALWAYS,
    "DCP: other bytes": ("torch_dcp", _other_bytes("*.distcp", WEIGHTS), "is not whole"),
}


def _saves(module: str, directory: Path) -> Any:
    torch: Any = importlib.import_module("torch")
    here = Environment(checkpoint_dir=directory)
    model = torch.nn.Linear(2, 1)
    model.weight.data = torch.tensor([[10.0, 20.0]])
    optimizer = torch.optim.Adam(model.parameters())
    own = importlib.import_module(f"shuntyard_trainer.{module}")
    if module == "torch_dcp":
        return own.dcp_checkpoints(model, optimizer, environment=here, handle_sigterm=False)
    accelerator = importlib.import_module("accelerate").Accelerator(cpu=True)
    accelerator.prepare(model, optimizer)
    return own.accelerate_checkpoints(accelerator, environment=here, handle_sigterm=False)


@pytest.mark.parametrize(
    ("module", "damage", "text", "before"),
    [
        *(pytest.param(*case, 0, id=f"{name}, at first") for name, case in FIRST.items()),
        *(pytest.param(*case, 1, id=f"{name}, later") for name, case in ALWAYS.items()),
    ],
)
@needs("torch", "accelerate")
def test_a_damaged_checkpoint_does_not_count(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    damage: Callable[[Path], None],
    text: str,
    before: int,
) -> None:
    folders: Any = importlib.import_module("shuntyard_trainer.torch_folders")
    checkpoints = _saves(module, tmp_path)
    checkpoints.begin(0)
    for step in range(1, 1 + before):
        checkpoints.save_now(step)
    monkeypatch.setattr(folders.RankFolders, "written", lambda _, path: damage(path))
    with pytest.raises(SaveError, match=text):
        checkpoints.save_now(7)


@pytest.mark.parametrize("module", ["torch_dcp", "accelerate"])
@needs("torch", "accelerate")
def test_a_whole_checkpoint_counts(tmp_path: Path, module: str) -> None:
    checkpoints = _saves(module, tmp_path)
    checkpoints.begin(0)
    assert [checkpoints.save_now(step).step for step in (1, 2, 3)] == [1, 2, 3]


OF_A_TRAINER = (
    *("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json"),
    *("config.json", "training_args.bin", "rng_state.pth"),
)


@pytest.mark.parametrize("missing", ["", *OF_A_TRAINER[:4]])
@needs("transformers", "accelerate")
def test_a_checkpoint_of_the_hugging_face_trainer_without_a_part_is_not_whole(
    tmp_path: Path, missing: str
) -> None:
    module: Any = importlib.import_module("shuntyard_trainer.huggingface")
    for name in set(OF_A_TRAINER) - {missing}:
        (tmp_path / name).touch()
    if not missing:
        module._inspect(str(tmp_path))
        return
    with pytest.raises(UnloadableError, match=missing.partition(".")[0]):
        module._inspect(str(tmp_path))


@needs("transformers", "accelerate")
def test_a_shard_that_the_index_of_a_model_names_must_be_there(tmp_path: Path) -> None:
    module: Any = importlib.import_module("shuntyard_trainer.huggingface")
    for name in OF_A_TRAINER[1:]:
        (tmp_path / name).touch()
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = {"weight_map": dict(zip("ab", shards, strict=True))}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for shard in shards:
        (tmp_path / shard).touch()
    module._inspect(str(tmp_path))
    (tmp_path / shards[1]).unlink()
    with pytest.raises(UnloadableError, match="names model-00002"):
        module._inspect(str(tmp_path))


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of Keras
@needs("keras", "torch")
def test_weights_of_keras_that_are_cut_are_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    module: Any = importlib.import_module("shuntyard_trainer.keras")
    keras: Any = importlib.import_module("keras")
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(100)])
    model.save_weights(tmp_path / "model.weights.h5")
    (tmp_path / "position.json").write_text('{"step": 1, "epoch": 0, "batch": 1}')
    module._inspect(str(tmp_path))
    _cut("*.h5")(tmp_path)
    with pytest.raises(OSError, match="truncated"):
        module._inspect(str(tmp_path))


OF_TORCHTITAN = ("train_state", "optimizer", "lr_scheduler", "dataloader")


@pytest.mark.parametrize("missing", ["", *OF_TORCHTITAN])
@needs("torchtitan")
def test_a_checkpoint_of_torchtitan_without_a_state_is_not_whole(
    tmp_path: Path, missing: str
) -> None:
    module: Any = importlib.import_module("shuntyard_trainer.torchtitan")
    dcp: Any = importlib.import_module("torch.distributed.checkpoint")
    states = {name: {"step": 1} for name in OF_TORCHTITAN if name != missing}
    dcp.save(states, checkpoint_id=tmp_path)
    if not missing:
        module._inspect(str(tmp_path))
        return
    with pytest.raises(UnloadableError, match=f"there is no {missing}"):
        module._inspect(str(tmp_path))


@pytest.mark.parametrize("setting", ["enable", "load_only", "last_save_model_only"])
@needs("torchtitan")
def test_a_setting_of_torchtitan_without_checkpoints_to_resume_from_is_refused(
    setting: str,
) -> None:
    module: Any = importlib.import_module("shuntyard_trainer.torchtitan")
    config = module.ShuntyardCheckpoints.Config(**{setting: setting != "enable"})
    with pytest.raises(SettingError, match=f"checkpoint.{setting}"):
        module.ShuntyardCheckpoints(config)
