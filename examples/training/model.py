"""A small network that learns to imitate a fixed teacher network; plain numpy.

The data are drawn from the seed, so every member of a job has the same data set and each run with
the same seed gives the same losses.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng  # now: numpy loads it late, and SIGTERM would break into that
from numpy.typing import NDArray

Vector = NDArray[np.float64]

INPUTS, HIDDEN, CLASSES = 24, 64, 8
SAMPLES = 16_384
SHAPES = ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))
SIZE = sum(int(np.prod(shape)) for shape in SHAPES)


@dataclass(frozen=True)
class Data:
    """Inputs and the teacher's class of each."""

    inputs: Vector
    classes: NDArray[np.int64]

    def batch(self, step: int, size: int, rank: int = 0, ranks: int = 1) -> "Data":
        """Return the samples of member ``rank`` of ``ranks`` in a step."""
        start = (step * ranks + rank) * size
        rows = np.arange(start, start + size) % len(self.classes)
        return Data(self.inputs[rows], self.classes[rows])


def make_data(seed: int) -> Data:
    """Return the data set of a seed."""
    rng = default_rng(seed)
    teacher = [rng.normal(size=shape) for shape in SHAPES]
    inputs = rng.normal(size=(SAMPLES, INPUTS))
    scores = np.tanh(inputs @ teacher[0] / np.sqrt(INPUTS)) @ teacher[2]
    return Data(inputs, np.argmax(scores, axis=1))


def first_parameters(seed: int) -> Vector:
    """Return small random parameters as one flat vector."""
    rng = default_rng(seed + 1)
    layers = [rng.normal(scale=1 / np.sqrt(shape[0]), size=shape) for shape in SHAPES]
    return np.concatenate([layer.ravel() if layer.ndim > 1 else layer * 0 for layer in layers])


def loss_and_gradient(parameters: Vector, data: Data) -> tuple[float, Vector]:
    """Return the mean cross-entropy of the batch and its gradient, flat as the parameters."""
    w1, b1, w2, b2 = _layers(parameters)
    hidden = np.tanh(data.inputs @ w1 + b1)
    scores = hidden @ w2 + b2
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(len(data.classes))
    loss = float(-np.log(chances[rows, data.classes] + 1e-12).mean())
    chances[rows, data.classes] -= 1
    chances /= len(rows)
    back = (chances @ w2.T) * (1 - hidden**2)
    parts = (data.inputs.T @ back, back.sum(axis=0), hidden.T @ chances, chances.sum(axis=0))
    return loss, np.concatenate([part.ravel() for part in parts])


def _layers(parameters: Vector) -> list[Vector]:
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1]
    parts = np.split(parameters, ends)
    return [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]
