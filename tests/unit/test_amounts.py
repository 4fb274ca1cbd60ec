"""Amounts of resources in words."""

import pytest

from shared import amounts

IN_WORDS = {
    "a part of a CPU is no plural": ("cpu", 75, "0.075 CPU"),
    "one CPU": ("cpu", 1000, "1 CPU"),
    "more than one CPU": ("cpu", 1500, "1.5 CPUs"),
    "no CPU at all": ("cpu", 0, "0 CPUs"),
    "a negative amount, of a node with too many pods": ("cpu", -250, "-0.25 CPU"),
    "many CPUs, exact": ("cpu", 160_000_075, "160000.075 CPUs"),
    "one GPU": ("nvidia.com/gpu", 1, "1 GPU"),
    "GPUs of any vendor": ("amd.com/gpu", 8, "8 GPUs"),
    "GPUs of Intel": ("gpu.intel.com/xe", 2, "2 GPUs"),
    "a slice is no GPU": ("nvidia.com/mig-7g.80gb", 2, "2 nvidia.com/mig-7g.80gb"),
    "a replica is no GPU": ("nvidia.com/gpu.shared", 4, "4 nvidia.com/gpu.shared"),
    "one pod": ("pods", 1, "1 pod"),
    "pods": ("pods", 110, "110 pods"),
    "no memory": ("memory", 0, "0 B memory"),
    "bytes": ("memory", 1023, "1023 B memory"),
    "whole units": ("memory", 2**29, "512 MiB memory"),
    "parts of units": ("memory", 3 * 2**29, "1.5 GiB memory"),
    "a negative size": ("memory", -(2**30), "-1 GiB memory"),
    "no more than the largest unit": ("memory", 2**62, "4096 PiB memory"),
    "storage": ("ephemeral-storage", 2**40, "1 TiB ephemeral-storage"),
    "huge pages": ("hugepages-2Mi", 2**21, "2 MiB hugepages-2Mi"),
    "another resource by its name": ("example.com/fpga", 3, "3 example.com/fpga"),
}


@pytest.mark.parametrize(("resource", "units", "want"), IN_WORDS.values(), ids=IN_WORDS)
def test_an_amount_says_of_what_it_is(resource: str, units: int, want: str) -> None:
    assert amounts.amount(resource, units) == want
    assert want.startswith(f"{amounts.figure(resource, units)} ")


GPUS = {0: "0 GPUs", 4 / 28: "0.14 GPU", 1: "1 GPU", 1.5: "1.5 GPUs", 32: "32 GPUs"}


@pytest.mark.parametrize(("count", "want"), GPUS.items())
def test_slices_are_parts_of_gpus(count: float, want: str) -> None:
    assert amounts.gpus(count) == want


PARTS = {
    "numbers": ("cpu", 5500, 8000, "5.5 of 8"),
    "one unit for both": ("memory", 448 * 2**30, 512 * 2**30, "448 of 512 GiB"),
    "a unit each": ("memory", 2**29, 2**30, "512 MiB of 1 GiB"),
    "nothing of nothing": ("memory", 0, 0, "0 of 0 B"),
}


@pytest.mark.parametrize(("resource", "some", "total", "want"), PARTS.values(), ids=PARTS)
def test_a_part_has_the_unit_of_the_whole(resource: str, some: int, total: int, want: str) -> None:
    assert amounts.part(resource, some, total) == want
