"""Checkpoints for a plain PyTorch loop: saves and loads stateful objects.

Source:
    https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Union

import torch

from shuntyard_trainer import torch_ranks
from shuntyard_trainer.checkpoints import Checkpoints
from shuntyard_trainer.environment import Environment
from shuntyard_trainer.errors import SaveError, SettingError, UnloadableError
from shuntyard_trainer.step_files import StepFiles
from shuntyard_trainer.torch_generators import Generator, process_state, restore_process
from shuntyard_trainer.torch_incremental import IncrementalParts

_RANDOM = "shuntyard_random_state"
_APART = "shuntyard_parts"
"""Key of the names of the files of parts that have some."""
log = logging.getLogger(__name__)
_LOADED = {
    *(torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype, torch.device),
    *(bool, int, float, complex, str, bytes),
}
"""Types that ``weights_only`` loads, beside containers."""


class Stateful(Protocol):
    """A model, an optimizer, a scheduler, a scaler, a StatefulDataLoader …."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state: Any, /) -> Any:
        """Load a state."""
        ...


Part = Union[Stateful, torch.Generator, Any]
"""Something stateful, or a generator of torch, Python or numpy."""


def torch_checkpoints(
    parts: Mapping[str, Part],
    *,
    keep: int = 2,
    weights_only: bool = True,
    incremental: Collection[str] = (),
    environment: Environment | None = None,
    **options: Any,
) -> Checkpoints:
    """Return checkpoints of these parts; first loads the last one into them, if it exists.

    Rank 0 saves ``step-….pt`` in the checkpoint directory: replicated models (DDP) only; a model
    that is sharded over ranks needs ``torch_dcp``. The global generators of every rank are saved
    too (torch with CUDA, Python, numpy). They are restored when training begins, and after the
    iterator of ``Checkpoints.batches`` is made.

    Args:
        parts: By a name that is the same in every run.
        keep: Number of checkpoints that are kept; at least 2.
        weights_only: As of ``torch.load``: states have tensors, numbers, text and containers
            alone. False also allows other objects; then loading a file of others may run code.
        incremental: Names of parts that seldom change, such as a frozen model: each is in a file
            of its own, which is written only when its content has changed.
        environment: Default: the process's.
        options: Options of ``Checkpoints``. ``verify=Verifier(when="never")``: a checkpoint counts
            although it was not loaded.

    Raises:
        SettingError: A variable, a part or an option cannot be used.
        KeyError: The last checkpoint has no state for one of the parts.
    """
    here = environment or Environment.read()
    files = StepFiles(here.checkpoint_dir, ".pt", keep) if here.checkpoint_dir else None
    states = TorchStates(parts, files, weights_only=weights_only, incremental=incremental)
    defaults: dict[str, Any] = {
        "verify": states.verify,
        "inspect": states.inspect,
        "restore": states.restore_generators,
    }
    if torch_ranks.several():
        defaults.update(agree=states.group.largest, every_rank_saves=True)
    checkpoints = Checkpoints.from_environment(
        states.save, environment=here, **{**defaults, **options}
    )
    if checkpoints.resume is not None:
        states.load(checkpoints.resume.path, here.rank)
    return checkpoints


class TorchStates:
    """The parts of a training, and its generators, in one file.

    Args:
        parts: By name.
        files: Where to save; None: nowhere.
        weights_only: As of ``torch.load``.
        incremental: Names of parts that have files of their own.

    Attributes:
        group: How the ranks agree.

    Raises:
        SettingError: A part has no state, or ``incremental`` names another.
    """

    def __init__(
        self,
        parts: Mapping[str, Part],
        files: StepFiles | None,
        *,
        weights_only: bool,
        incremental: Collection[str] = (),
    ) -> None:
        self.group = torch_ranks.CpuGroup()
        self._parts = {name: _part(name, part) for name, part in parts.items()}
        self._apart = IncrementalParts(incremental, parts)
        self._files = files
        self._weights_only = weights_only
        self._late: dict[str, Any] = {}
        self._random: Mapping[str, Any] | None = None

    def save(self, step: int) -> Path | None:
        """Save; with several ranks all call it, and rank 0 writes.

        Raises:
            SaveError: A part is sharded over ranks.
        """
        if self._files is None:
            return None
        several = torch_ranks.several()
        mine = process_state(all_devices=not several)
        random = self.group.gather(mine) if several else [mine]
        if not random:
            return None
        states = self._states()
        sharded = [name for name, kind in _kinds(states) if kind == "DTensor"]
        if sharded:
            raise SaveError(f"{sharded[0]} is sharded over ranks: use shuntyard_trainer.torch_dcp")
        unfinished = self._files.unfinished(step)
        apart = self._apart.save(states, self._files.path(step).parent)
        own = {name: state for name, state in states.items() if name not in apart}
        torch.save({**own, _RANDOM: random, _APART: apart}, unfinished)
        path = self._files.finish(step)
        self._prune_parts(path.parent)
        return path

    def inspect(self, path: str) -> None:
        """Check that the files of the parts that have some are there.

        Raises:
            UnloadableError: One is missing or not whole.
        """
        if self._apart.names:
            self._apart.inspect(self._read(path, mmap=True).get(_APART, {}), Path(path).parent)

    def verify(self, path: str) -> None:
        """Load as ``load`` does, and check that every part has a state.

        Raises:
            UnloadableError: It cannot be loaded; names the value.
        """
        try:
            states = self._whole(path, mmap=True)
        except Exception as error:
            odd = [f"{name} is a {kind}" for name, kind in _kinds(self._states()) if kind]
            if not odd or not self._weights_only:
                raise
            raise UnloadableError(
                f"{odd[0]}: weights_only loads tensors, numbers, text and containers alone; let "
                "state_dict return those, or give weights_only=False"
            ) from error
        missing = sorted({*self._parts, _RANDOM} - set(states))
        if missing:
            raise UnloadableError(f"there is no state of {', '.join(missing)}")

    def load(self, path: str, rank: int) -> None:
        """Load the parts; generators are kept for ``restore_generators``.

        Raises:
            KeyError: There is no state of a part.
        """
        states = self._whole(path, mmap=False)
        for name, part in self._parts.items():
            if isinstance(part, Generator):
                self._late[name] = states[name]
            else:
                part.load_state_dict(states[name])
        random = states[_RANDOM]
        if rank < len(random):
            self._random = random[rank]

    def restore_generators(self) -> None:
        """Restore the generators of this rank; a rank that is new keeps its own."""
        for name, state in self._late.items():
            self._parts[name].load_state_dict(state)
        if self._random is not None:
            restore_process(self._random)

    def _states(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self._parts.items()}

    def _prune_parts(self, directory: Path) -> None:
        """Remove files of parts that no checkpoint names; one that cannot be read keeps all."""
        if not self._apart.names:
            return
        kept: set[str] = set()
        try:
            for path in directory.glob("step-*.pt"):
                kept.update(self._read(str(path), mmap=True).get(_APART, {}).values())
        except Exception:
            log.warning("files of parts are not removed", exc_info=True)
        else:
            self._apart.prune(kept, directory)

    def _whole(self, path: str, *, mmap: bool) -> dict[str, Any]:
        """Return the state of every part."""
        states = self._read(path, mmap=mmap)
        directory, apart = Path(path).parent, states.pop(_APART, {})
        return {
            **states,
            **self._apart.read(apart, directory, lambda file: self._read(str(file), mmap=mmap)),
        }

    def _read(self, path: str, *, mmap: bool) -> Any:
        return torch.load(path, map_location="cpu", weights_only=self._weights_only, mmap=mmap)


def _part(name: str, part: Any) -> Stateful:
    if Generator.fits(part):
        return Generator(part)
    if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
        raise SettingError(
            f"part {name!r} is a {type(part).__name__}: expected state_dict and load_state_dict, "
            "or a generator of torch, Python or numpy"
        )
    return part  # type: ignore[no-any-return]


def _kinds(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and type of each value; the type is empty if ``weights_only`` loads it."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _kinds(each, f"{name}.{key}" if name else str(key))
    elif type(value) in {list, tuple, set}:
        for index, each in enumerate(value):
            yield from _kinds(each, f"{name}[{index}]")
    else:
        yield name, "" if value is None or type(value) in _LOADED else type(value).__name__
