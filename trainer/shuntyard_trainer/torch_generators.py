"""Random generators of a process: torch on CPU and CUDA, Python's, numpy's; and single ones.

Source:
    https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

import torch


def process_state(*, all_devices: bool) -> dict[str, Any]:
    """Return the state of all global generators, of values that ``weights_only`` loads.

    Args:
        all_devices: Every CUDA device; else the current one. A process of several has one device,
            and a context on the others would take their memory.
    """
    state: dict[str, Any] = {"cpu": torch.get_rng_state(), "python": random.getstate(), "cuda": []}
    if torch.cuda.is_initialized():
        one = torch.cuda.get_rng_state
        state["cuda"] = torch.cuda.get_rng_state_all() if all_devices else [one()]
    if "numpy" in sys.modules:
        state["numpy"] = _plain(sys.modules["numpy"].random.get_state(legacy=False))
    return state


def restore_process(state: Mapping[str, Any]) -> None:
    """Restore what ``process_state`` returned; CUDA only if there are as many devices."""
    torch.set_rng_state(state["cpu"])
    if "python" in state:
        version, numbers, gauss = state["python"]
        random.setstate((version, tuple(numbers), gauss))
    if len(state["cuda"]) == 1:
        torch.cuda.set_rng_state(state["cuda"][0])
    elif state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(_arrays(state["numpy"]))


class Generator:
    """One generator as a part: a ``torch.Generator``, ``random.Random`` or numpy's."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    @staticmethod
    def fits(value: object) -> bool:
        """Return True if it is such a generator."""
        has_bits = hasattr(value, "bit_generator")
        return has_bits or isinstance(value, (torch.Generator, random.Random))

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        generator = self._generator
        if isinstance(generator, torch.Generator):
            return {"torch": generator.get_state()}
        if isinstance(generator, random.Random):
            return {"python": generator.getstate()}
        return {"numpy": _plain(generator.bit_generator.state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        if "torch" in state:
            self._generator.set_state(state["torch"])
        elif "python" in state:
            version, numbers, gauss = state["python"]
            self._generator.setstate((version, tuple(numbers), gauss))
        else:
            self._generator.bit_generator.state = _arrays(state["numpy"])


def _plain(value: Any) -> Any:
    """Return numpy's arrays as tensors, and its numbers as Python's."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if hasattr(value, "dtype"):
        numbers = value.tolist()
        return torch.tensor(numbers) if isinstance(numbers, list) else numbers
    return value


def _arrays(value: Any) -> Any:
    """Return tensors as numpy's arrays of unsigned integers, as generators have them."""
    if isinstance(value, Mapping):
        return {key: _arrays(each) for key, each in value.items()}
    if isinstance(value, torch.Tensor):
        return value.numpy().astype("uint64")
    return value
