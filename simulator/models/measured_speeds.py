"""Fitted step times of eight models, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extender.core.elastic.speed import Mode, Speed, StepTime
from extender.core.parameters.elastic import SpeedParameters


@dataclass(frozen=True)
class MeasuredModel:
    """A measured model.

    Attributes:
        batch: M; samples of a global batch.
        step: The fitted step time of synchronous training with parameter servers.
        mean_error: Of the fit, as a share of the measured step times.
    """

    batch: int
    step: StepTime
    mean_error: float

    def speed(self, mode: Mode, params: SpeedParameters) -> Speed:
        """Return its speed in a mode."""
        return Speed(self.step, self.batch, mode, params.near_cost)


MODELS: Final[Mapping[str, MeasuredModel]] = {
    "resnet-50": MeasuredModel(32, StepTime(0.126, 0.418, 0.4213, 0.00737, 0.0), 0.088),
    "vgg-16": MeasuredModel(32, StepTime(0.542, 0.581, 0.8072, 0.13558, 0.0), 0.086),
    "resnext-110": MeasuredModel(128, StepTime(0.069, 0.156, 0.1104, 0.01991, 0.00117), 0.066),
    "inception-bn": MeasuredModel(128, StepTime(0.397, 0.154, 0.1664, 0.01941, 0.00281), 0.048),
    "seq2seq": MeasuredModel(64, StepTime(0.066, 0.054, 0.0242, 0.01315, 0.0), 0.091),
    "cnn-text": MeasuredModel(50, StepTime(0.373, 0.345, 0.0237, 0.01694, 0.0), 0.030),
    "dssm": MeasuredModel(256, StepTime(0.397, 0.118, 0.0, 0.00730, 0.00023), 0.049),
    "wlm": MeasuredModel(160, StepTime(0.094, 0.239, 0.1586, 0.03078, 0.0), 0.080),
}
"""Non-negative least squares fits of measured speeds.

Source:
    Measurements: ``config_speed.txt`` of DL2 (Peng et al., TPDS 2021; github.com/pengyanghua/DL2),
    synchronous MXNet with a fixed global batch. Form: Optimus (EuroSys 2018).
"""

SCALING: Final = ("seq2seq", "cnn-text", "dssm")
"""The models that gain most from workers with a batch of their own."""
