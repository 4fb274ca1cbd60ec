"""Which resources are GPUs, and how much of a device one unit is."""

import pytest

from shared import accelerators

PARTS = {
    "a whole device": ("nvidia.com/gpu", 28),
    "of another maker": ("amd.com/gpu", 28),
    "of Intel's plugin": ("gpu.intel.com/i915", 28),
    "what a shared device's replica is, without its node": ("nvidia.com/gpu.shared", 28),
    "one slice of seven": ("nvidia.com/mig-1g.10gb", 4),
    "three slices of seven": ("nvidia.com/mig-3g.40gb", 12),
    "all slices": ("nvidia.com/mig-7g.80gb", 28),
    "a slice with media engines": ("nvidia.com/mig-1g.10gb.me", 4),
    "a renamed replica of a slice": ("nvidia.com/mig-2g.20gb.shared", 8),
    "one slice of an A30's four": ("nvidia.com/mig-1g.6gb", 7),
    "a compute instance of a slice": ("nvidia.com/mig-1c.3g.20gb", 4),
    "CPU": ("cpu", 0),
    "a resource without a domain": ("gpu", 0),
    "memory of Intel's devices": ("gpu.intel.com/memory.max", 0),
    "a network card": ("rdma/hca", 0),
    "memory of devices, as others share them": ("aliyun.com/gpu-mem", 0),
    "no profile": ("nvidia.com/mig-large", 0),
}


@pytest.mark.parametrize(("resource", "want"), PARTS.values(), ids=PARTS)
def test_a_unit_is_so_many_parts_of_a_device(resource: str, want: int) -> None:
    assert accelerators.parts(resource) == want
    assert accelerators.is_gpu(resource) == (want > 0)


def test_slices_of_a_device_are_the_device() -> None:
    one, two = (accelerators.parts(f"nvidia.com/mig-{n}") for n in ("1g.10gb", "2g.20gb"))
    assert one * 7 == two * 3 + one == accelerators.PARTS
