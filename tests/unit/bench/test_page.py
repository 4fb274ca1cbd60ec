"""The age of a job in `bench page` is read from its name, on both of its clusters."""

import time

import pytest

from bench import page
from bench.gang.shapes import Kind, Shape
from bench.page.server import STAMPED
from shared import labels


def _named_by_a_shape(stamp: str) -> str:
    (pod,) = Shape(1, 1).manifests(Kind.GATED, stamp)
    return str(pod["metadata"]["labels"][labels.JOB])


NAMES = {"on the generated cluster": str, "on kwok": _named_by_a_shape}


@pytest.mark.parametrize("named", NAMES.values(), ids=NAMES)
def test_the_name_of_a_job_says_when_it_was_created(named: type[str]) -> None:
    stamp = f"{STAMPED}{time.monotonic_ns() // 10**6 - 5000}"
    assert page._age(f"team/group/{named(stamp)}") == pytest.approx(5.0, abs=0.5)
