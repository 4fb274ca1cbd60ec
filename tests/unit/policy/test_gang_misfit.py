"""How amounts are written in the reason of a misfit."""

import pytest

from extender.policy.misfit import MESSAGES, amount

AMOUNTS = {
    "whole CPUs": ("cpu", 3000, "3 cpu"),
    "parts of a CPU": ("cpu", 1500, "1500m cpu"),
    "bytes": ("memory", 512, "512 memory"),
    "binary units": ("memory", 3 * 2**29, "1.5Gi memory"),
    "no more than the largest unit": ("memory", 2**62, "4096Pi memory"),
    "storage": ("ephemeral-storage", 2**20, "1Mi ephemeral-storage"),
    "huge pages": ("hugepages-2Mi", 2**21, "2Mi hugepages-2Mi"),
    "pieces": ("nvidia.com/gpu", 2048, "2048 nvidia.com/gpu"),
}


@pytest.mark.parametrize(("resource", "value", "want"), AMOUNTS.values(), ids=AMOUNTS.keys())
def test_amounts_are_written_as_people_write_them(resource, value, want):
    assert amount(resource, value) == want


def test_every_reason_has_a_constant_text():
    assert set(MESSAGES) == {"NoSuchNode", "GangDoesNotFit", "Fragmented"}
