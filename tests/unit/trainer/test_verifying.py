"""A checkpoint that cannot be loaded is never acknowledged."""

from __future__ import annotations

import io
import json
import logging
import pickle
import threading
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Callable

import pytest

from shuntyard_trainer import Checkpoints, SaveError, SettingError, UnloadableError, Verifier
from shuntyard_trainer.checkpoint_format import examine
from shuntyard_trainer.verifying import PART_OF_HOLD
from tests.unit.trainer.agent import Training
from tests.unit.trainer.hand_clock import START
from tests.unit.trainer.processes import wait_for

HOLD_SECONDS = 20.0


def _archive(*values: object, protocol: int = 2) -> bytes:
    """Return a file as ``torch.save`` writes it: a pickle, and tensors as records beside it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("step/data.pkl", pickle.dumps(values, protocol))
        archive.writestr("step/data/0", b"weights" * 1000)
    return data.getvalue()


def _safetensors(more: bytes = b"") -> bytes:
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "U8", "data_offsets": [0, 9]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"123456789" + more


WHOLE = {"a.pt": _archive(1), "a.npz": _archive(2), "a.safetensors": _safetensors(), "a.txt": b""}
TORN: dict[str, Callable[[], bytes]] = {
    "without its end": lambda: _archive(1)[:-10],
    "without its second half": lambda: _archive(1)[:4000],
    "with another byte in a record": lambda: _archive(1).replace(b"sweights", b"sweighty"),
    "with another byte in the pickle": lambda: _archive("text").replace(b"text", b"next"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), WHOLE.items())
def test_a_whole_file_is_whole(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    examine(tmp_path / name, lambda: False)
    examine(tmp_path, lambda: False)


@pytest.mark.parametrize("data", TORN.values(), ids=TORN)
def test_an_archive_is_found_torn(tmp_path: Path, data: Callable[[], bytes]) -> None:
    (tmp_path / "step.pt").write_bytes(data())
    with pytest.raises(UnloadableError, match=r"step\.pt is not whole"):
        examine(tmp_path / "step.pt", lambda: False)


@pytest.mark.parametrize("data", [_safetensors(b"x"), _safetensors()[:-1], b"", b"\x00" * 9])
def test_safetensors_are_found_torn(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.safetensors").write_bytes(data)
    with pytest.raises(UnloadableError, match=r"m\.safetensors"):
        examine(tmp_path, lambda: False)


def test_a_late_check_still_reads_directories_and_headers(tmp_path: Path) -> None:
    path = tmp_path / "step.pt"
    path.write_bytes(TORN["with another byte in a record"]())
    examine(path, lambda: True)
    path.write_bytes(TORN["without its end"]())
    with pytest.raises(UnloadableError):
        examine(path, lambda: True)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_format_names_the_classes_of_a_pickle(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "step.pt"
    path.write_bytes(_archive(OrderedDict(a=1), OrderedDict(), Counter(), protocol=protocol))
    classes = examine(path, lambda: False).classes
    assert {"collections OrderedDict", "collections Counter"} <= classes


def test_steps_have_one_format_and_other_files_another(tmp_path: Path) -> None:
    for name in ("step-1", "step-22"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.npz").write_bytes(_archive(1))
    one, other = (examine(tmp_path / name, lambda: False) for name in ("step-1", "step-22"))
    assert one == other
    (tmp_path / "step-22/scaler.json").write_text("{}")
    assert examine(tmp_path / "step-22", lambda: False) != one


def test_one_that_lacks_a_shard_has_another_format(tmp_path: Path) -> None:
    for name, shards in (("step-1", 2), ("step-2", 1)):
        (tmp_path / name).mkdir()
        for shard in range(shards):
            (tmp_path / name / f"__{shard}_0.distcp").touch()
    one, other = (examine(tmp_path / name, lambda: False) for name in ("step-1", "step-2"))
    assert one != other


class Loader:
    """Loads checkpoints; refuses those of some steps."""

    def __init__(self, *refused: int) -> None:
        self.loaded: list[str] = []
        self.refused = [f"step-{step}.txt" for step in refused]

    def __call__(self, path: str) -> None:
        name = Path(path).name
        self.loaded.append(name)
        if name in self.refused:
            raise TypeError("numpy is not allowed")


def _training(directory: Path, verifier: Verifier | Loader) -> Training:
    return Training(directory, verify=verifier)


def test_what_cannot_be_loaded_is_refused_and_the_last_one_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    training = _training(tmp_path, Verifier(Loader(4), when="every"))
    training.clock.after(2.0, lambda: training.agent.ask("r1", hold_deadline=START + 3))
    training.clock.after(5.0, lambda: training.agent.ask("r2", hold_deadline=START + 90))
    with caplog.at_level(logging.WARNING):
        training.run(7)
    answer = training.agent.read("ack-r2.json")
    assert answer is not None
    assert (answer["ok"], answer["path"]) == (False, "")
    assert "step-4.txt cannot be loaded: TypeError: numpy is not allowed" in answer["error"]
    assert training.done == list(range(7))
    assert "the checkpoint of step 4 does not count" in caplog.text


def test_saved_json_does_not_name_what_cannot_be_loaded(tmp_path: Path) -> None:
    training = _training(tmp_path, Verifier(Loader(2), when="every"))
    training.checkpoints.begin(0)
    training.checkpoints.save_now(1)
    with pytest.raises(SaveError, match="cannot be loaded"):
        training.checkpoints.save_now(2)
    saved = training.agent.read("saved.json")
    assert saved is not None
    assert saved["step"] == 1


@pytest.mark.parametrize(
    ("when", "loaded"), [("first", [1]), ("every", [1, 2, 3]), ("never", [])], ids=str
)
def test_a_format_is_loaded_once_or_as_set(tmp_path: Path, when: str, loaded: list[int]) -> None:
    loader = Loader()
    training = _training(tmp_path, Verifier(loader, when=when))
    training.checkpoints.begin(0)
    for step in (1, 2, 3):
        training.checkpoints.save_now(step)
    assert loader.loaded == [f"step-{step}.txt" for step in loaded]


def test_a_format_that_could_not_be_loaded_is_loaded_again(tmp_path: Path) -> None:
    loader = Loader(1)
    training = _training(tmp_path, loader)
    training.checkpoints.begin(0)
    with pytest.raises(SaveError):
        training.checkpoints.save_now(1)
    for step in (2, 3):
        training.checkpoints.save_now(step)
    assert loader.loaded == ["step-1.txt", "step-2.txt"]


def test_what_is_missing_is_found_at_every_save(tmp_path: Path) -> None:
    loader, inspected = Loader(), []

    def inspect(path: str) -> None:
        inspected.append(Path(path).name)
        if path.endswith("step-2.txt"):
            raise KeyError("the optimizer")

    training = Training(tmp_path, verify=loader, inspect=inspect)
    training.checkpoints.begin(0)
    training.checkpoints.save_now(1)
    with pytest.raises(SaveError, match="is not whole: KeyError: 'the optimizer'"):
        training.checkpoints.save_now(2)
    assert (loader.loaded, inspected) == (["step-1.txt"], ["step-1.txt", "step-2.txt"])


class Round:
    """Agreement of two ranks that are threads."""

    def __init__(self) -> None:
        self._barrier = threading.Barrier(2)
        self._mine = [0, 0]

    def of(self, rank: int) -> Callable[[int], int]:
        def agree(mine: int) -> int:
            self._mine[rank] = mine
            self._barrier.wait(60.0)
            most = max(self._mine)
            self._barrier.wait(60.0)
            return most

        return agree


def _on_two_ranks(directory: Path, loaders: list[Callable[[str], object]]) -> list[str]:
    """Save step 1 on two ranks that each load a part; return the error of each, empty without."""
    together, errors = Round(), ["", ""]

    def save(rank: int) -> None:
        checkpoints = Checkpoints(
            directory,
            lambda step: directory / f"step-{step}",
            rank=rank,
            world_size=2,
            agree=together.of(rank),
            every_rank_saves=True,
            every_rank_verifies=True,
            verify=loaders[rank],
            handle_sigterm=False,
        )
        try:
            checkpoints.save_now(1)
        except SaveError as error:
            errors[rank] = str(error)

    (directory / "step-1").mkdir(parents=True)
    threads = [threading.Thread(target=save, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    return errors


def test_every_rank_loads_a_part_and_one_that_cannot_refuses_the_checkpoint(tmp_path: Path) -> None:
    whole: list[str] = []
    assert _on_two_ranks(tmp_path / "a", [whole.append, whole.append]) == ["", ""]
    assert len(whole) == 2

    def broken(_path: str) -> None:
        raise ValueError("a shard")

    errors = _on_two_ranks(tmp_path / "b", [whole.append, broken])
    assert errors[0] == "another rank could not save"
    assert errors[1].endswith("cannot be loaded: ValueError: a shard")
    assert not (tmp_path / "b/.shuntyard/saved.json").exists()


def test_another_format_is_loaded_again(tmp_path: Path) -> None:
    loader, classes = Loader(), [OrderedDict(), OrderedDict(), Counter()]

    def save(step: int) -> Path:
        path = tmp_path / f"step-{step}.pt"
        path.write_bytes(_archive(classes[step - 1]))
        return path

    checkpoints = Checkpoints(tmp_path, save, handle_sigterm=False, verify=loader)
    for step in (1, 2, 3):
        checkpoints.save_now(step)
    assert loader.loaded == ["step-1.pt", "step-3.pt"]


def test_files_are_checked_without_a_loader_too(tmp_path: Path) -> None:
    def save(_step: int) -> Path:
        (tmp_path / "step.pt").write_bytes(_archive(1)[:-10])
        return tmp_path / "step.pt"

    with pytest.raises(SaveError, match="is not whole"):
        Checkpoints(tmp_path, save, handle_sigterm=False).save_now(1)


class SlowLoader:
    """Loads until it may end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.ended = threading.Event()
        self.count = 0

    def __call__(self, _path: str) -> None:
        self.count += 1
        self.may_end.wait(60.0)
        self.ended.set()


def test_a_request_is_refused_if_loading_takes_too_long_and_answered_when_it_is_done(
    tmp_path: Path,
) -> None:
    loader = SlowLoader()
    verifier = Verifier(loader, seconds=0.01)
    (tmp_path / "step-1").touch()
    with pytest.raises(UnloadableError, match="not be loaded within 0 s"):
        verifier.check(str(tmp_path / "step-1"), HOLD_SECONDS)
    with pytest.raises(UnloadableError):
        verifier.check(str(tmp_path / "step-1"), HOLD_SECONDS)
    assert loader.count == 1
    loader.may_end.set()
    wait_for(lambda: verifier._loadable)
    verifier.check(str(tmp_path / "step-1"), HOLD_SECONDS)
    assert loader.count == 1


def test_without_a_request_the_time_limit_refuses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loader = SlowLoader()
    (tmp_path / "step-1").touch()
    with caplog.at_level(logging.WARNING):
        Verifier(loader, seconds=0.01).check(str(tmp_path / "step-1"), None)
    loader.may_end.set()
    assert "it counts without this check" in caplog.text


def test_the_limit_is_below_the_hold(tmp_path: Path) -> None:
    loader = SlowLoader()
    (tmp_path / "step-1").touch()
    hold_seconds = 0.02 / PART_OF_HOLD
    with pytest.raises(UnloadableError):
        Verifier(loader, seconds=3600.0).check(str(tmp_path / "step-1"), hold_seconds)
    loader.may_end.set()


def test_an_address_is_loaded_every_time_it_is_to_be(tmp_path: Path) -> None:
    paths: list[str] = []
    checkpoints = Checkpoints(
        tmp_path,
        lambda step: f"s3://bucket/step-{step}",
        handle_sigterm=False,
        verify=Verifier(paths.append, when="every"),
    )
    checkpoints.save_now(1)
    checkpoints.save_now(2)
    assert paths == ["s3://bucket/step-1", "s3://bucket/step-2"]


@pytest.mark.parametrize("options", [{"when": "sometimes"}, {"seconds": 0.0}], ids=str)
def test_a_setting_that_cannot_be_used_is_named(options: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=next(iter(options))):
        Verifier(**options)


def test_generators_are_restored_before_the_first_step_and_after_the_loader_began(
    tmp_path: Path,
) -> None:
    events: list[str] = []

    class Batches:
        def __iter__(self):
            events.append("iterator")
            return iter("ab")

    def restore() -> None:
        events.append("restored")

    checkpoints = Checkpoints(tmp_path, handle_sigterm=False, restore=restore)
    for _ in range(2):
        events.extend(checkpoints.batches(Batches()))
    assert events == ["restored", "iterator", "restored", "a", "b", "iterator", "a", "b"]
