"""GPUs among resources: which names are GPUs, and how much of a device one unit is.

A device has ``PARTS`` parts, so that slices of a GPU add up to whole numbers.

Source:
    NVIDIA k8s-device-plugin v0.17, ``internal/lm/resource.go`` and ``api/config/v1/resources.go``:
    ``nvidia.com/gpu``, ``nvidia.com/mig-<profile>``, and ``….shared`` for renamed replicas. NVIDIA
    MIG User Guide, tables of profiles: seven slices a device, four on an A30.
"""

import re
from functools import lru_cache
from typing import Final

PARTS: Final = 28
"""Parts of a device: divisible by seven and by four."""

SHARED: Final = ".shared"
"""Suffix of a resource whose units are replicas of devices."""

_SLICES: Final = 7
_FOUR_SLICES: Final = frozenset({"1g.6gb", "2g.12gb", "4g.24gb"})
"""Profiles of devices that have four slices."""
_PROFILE: Final = re.compile(r"(?:([1-7])c\.)?(([1-7])g\.[0-9]{1,4}gb)(?:[.+-].*)?")
_WHOLE: Final = frozenset({"gpu", "pgpu"})
_INTEL: Final = "gpu.intel.com"
_INTEL_DEVICES: Final = frozenset({"i915", "xe"})


def is_gpu(resource: str) -> bool:
    """Return True if the units of a resource are GPUs, slices of GPUs or replicas of them."""
    return parts(resource) > 0


@lru_cache(maxsize=1024)
def parts(resource: str) -> int:
    """Return how many parts of a device one unit is, as its name says; 0 if it is not a GPU.

    ``nvidia.com/gpu`` and ``nvidia.com/gpu.shared`` are 28, ``nvidia.com/mig-1g.10gb`` is 4. How
    many replicas a device has is known from its node alone (``extender.core.nodes.gpus``).
    """
    of_one = resource.removesuffix(SHARED)
    if is_whole(of_one):
        return PARTS
    name = of_one.rpartition("/")[2]
    is_slice = "/" in resource and name.startswith("mig-")
    return profile_parts(name.removeprefix("mig-")) if is_slice else 0


def is_whole(resource: str) -> bool:
    """Return True if the units of a resource are whole devices by its name, no slice or replica."""
    domain, slash, name = resource.partition("/")
    return bool(slash) and (name in _WHOLE or (domain == _INTEL and name in _INTEL_DEVICES))


def profile_parts(profile: str) -> int:
    """Return how many parts of a device a MIG profile is, such as ``3g.40gb``; 0 for other texts.

    A profile with compute instances, ``1c.3g.20gb``, counts these.
    """
    match = _PROFILE.fullmatch(profile)
    if match is None:
        return 0
    slices = 4 if match[2] in _FOUR_SLICES else _SLICES
    return min(PARTS, int(match[1] or match[3]) * PARTS // slices)


def text(amount: float) -> str:
    """Return a number of devices for people: ``3``, ``0.43``."""
    return f"{amount:.2f}".rstrip("0").rstrip(".")
