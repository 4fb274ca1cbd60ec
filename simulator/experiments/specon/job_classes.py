"""Classes of training jobs, and four models of how they use a machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from simulator.models.loss_curves import LossCurve

VAE: Final = "VAE"
CLASSES: Final = (VAE, "Bi-RNN", "GRU", "RNN", "dynamic RNN")
"""The paper's five models, each in two frameworks."""

CURVES: Final[Mapping[str, LossCurve]] = MappingProxyType(
    {
        VAE: LossCurve(5.2, 0.64),
        "Bi-RNN": LossCurve(19.6, 0.1),
        "GRU": LossCurve(11.5, 0.1),
        "RNN": LossCurve(15.0, 0.1),
        "dynamic RNN": LossCurve(15.0, 0.1),
    }
)
"""Steepness as in figure 1 of the paper, 15 assumed for the two it does not show; the loss
that is left is assumed (a VAE's reconstruction loss on MNIST ends at 0.64 of its first value)."""


@dataclass(frozen=True)
class SharingModel:
    """How long jobs are, and how they share a machine.

    Attributes:
        name: W, T, E or WI.
        what: For people.
        work: Seconds alone on a machine, by class.
        most: Most of a machine that one job can use, by class.
        framework_spread: Relative difference between a mean and either framework.
        slowdown: See ``simulator.models.processor_sharing.interference``.

    Source:
        Calibrated by model runs to what the paper prints of its default scheduler (T, E), and also
        to SpeCon's gains there (W, WI): the paper does not say how long its jobs are.
    """

    name: str
    what: str
    work: Mapping[str, float]
    most: Mapping[str, float]
    framework_spread: float
    slowdown: float = 0.0


def _by_class(*values: float) -> Mapping[str, float]:
    return dict(zip(CLASSES, values, strict=True))


def _vae_and_others(vae: float, others: float) -> Mapping[str, float]:
    return _by_class(vae, *(others for _ in CLASSES[1:]))


W: Final = SharingModel(
    "W",
    "jobs of very different length, all can use a machine",
    work=_by_class(200.0, 423.0, 278.0, 104.0, 159.0),
    most=_vae_and_others(1.0, 1.0),
    framework_spread=0.30,
)
T: Final = SharingModel(
    "T",
    "most jobs use 0.3 of a machine at most",
    work=_by_class(200.0, 234.0, 190.0, 116.0, 143.0),
    most=_vae_and_others(1.0, 0.3),
    framework_spread=0.25,
)
E: Final = SharingModel(
    "E",
    "jobs of similar length, all can use a machine",
    work=_by_class(200.0, 305.0, 271.0, 205.0, 231.0),
    most=_vae_and_others(1.0, 1.0),
    framework_spread=0.25,
)
WI: Final = SharingModel(
    "WI",
    "as W, with a limit of 0.6 for most and interference",
    work=_by_class(180.0, 272.0, 221.0, 135.0, 167.0),
    most=_vae_and_others(1.0, 0.6),
    framework_spread=0.45,
    slowdown=0.1,
)
MODELS: Final[Mapping[str, SharingModel]] = {model.name: model for model in (W, T, E, WI)}
