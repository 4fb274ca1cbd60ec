"""Moves of jobs with GPUs: by their part of a device and the speeds of models, and never by CPU."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.migration import gpu_speed
from shared import labels
from tests.fakes.builders import make_node, make_owner, make_room, make_shape
from tests.unit.core.migration.migrating_cluster import (
    CC,
    Train,
    cluster_of,
    created,
    moves,
    reasons,
    run_pass,
)

GPU = "nvidia.com/gpu"
ONE = make_shape(cpu="0", requests={GPU: "1"})
SPEEDS = {labels.ACCELERATORS: "h100=4>a100=1"}


def sliced(name, devices, replicas, model="A100"):
    """A node whose devices are time-sliced."""
    stated = {"count": devices, "replicas": replicas, "product": f"NVIDIA-{model}-SXM4-80GB"}
    return make_node(
        name,
        cpu="4",
        allocatable={GPU: str(devices * replicas)},
        labels={f"{GPU}.{key}": str(value) for key, value in stated.items()},
    )


def whole(name, devices=4, model="A100"):
    return sliced(name, devices, 1, model)


def gpu(name, category=None, notes=None):
    own = {labels.CHECKPOINT: "", **(notes or {})}
    return Train(name, category, annotations=own, pod={"shape": ONE})


def outcome_of(*nodes, notes=None):
    here = [gpu("m", CC, notes), gpu("f1"), gpu("f2")]
    return run_pass(cluster_of({"a": here, "b": [], "c": []}, *nodes))


GAINS = {
    "from a shared device to a whole one": (
        [sliced("a", 1, 4), whole("b")], None, "share 0.33 to 1.00",
    ),
    "to a shared device with fewer on it": (
        [sliced("a", 1, 4), sliced("b", 1, 4)], None, "share 0.33 to 1.00",
    ),
    "to a faster model": ([whole("a"), whole("b", model="H100")], SPEEDS, "share 0.25 to 1.00"),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "notes", "why"), GAINS.values(), ids=GAINS)
def test_a_job_gains_by_a_move(nodes, notes, why):
    outcome = outcome_of(*nodes, notes=notes)
    assert moves(outcome) == [("m", "a", "b")]
    assert why in created(outcome)[0].why


STAYS = {
    "whole devices on a node with busy CPU": ([whole("a"), whole("b")], None),
    "a shared device that holds no more pods than devices": (
        [sliced("a", 4, 4), whole("b")], None,
    ),
    "a slower model": ([whole("a", model="H100"), whole("b")], SPEEDS),
    "a model without a speed": ([whole("a"), whole("b", model="B200")], SPEEDS),
    "models in an order without speeds": (
        [whole("a"), whole("b", model="H100")], {labels.ACCELERATORS: "h100>a100"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "notes"), STAYS.values(), ids=STAYS)
def test_a_job_gains_nothing_by(nodes, notes):
    outcome = outcome_of(*nodes, notes=notes)
    assert moves(outcome) == []
    assert reasons(outcome)["m"] == "GainTooSmall"


def test_no_member_moves_to_a_device_of_another_member():
    notes = {labels.CHECKPOINT: "", labels.MIN_AVAILABLE: "1"}
    owner = make_owner("e", kind="StatefulSet", size=2)
    shared = {"owner": owner, "annotations": notes}
    movers = [Train(f"e-{i}", CC, pod={"shape": ONE, "index": i}, **shared) for i in range(2)]
    nodes = {"a": [movers[0], gpu("f1"), gpu("f2")], "b": [movers[1]], "c": []}
    devices = {"b": sliced("b", 1, 4), "c": whole("c", 0)}
    assert moves(run_pass(cluster_of(nodes, sliced("a", 1, 4), *devices.values()))) == []
    allowed = {labels.SHARE: "allowed"}
    for mover in movers:
        mover.annotations = notes | allowed
    assert moves(run_pass(cluster_of(nodes, sliced("a", 1, 4), *devices.values()))) != []


@given(
    st.integers(1, 4), st.integers(2, 4), st.integers(0, 8), st.integers(0, 4), st.integers(0, 4)
)
def test_more_neighbours_never_give_more_of_a_device(devices, replicas, used, coming, more):
    taken = min(used, devices * replicas)
    table = make_room(sliced("n", devices, replicas), placed={"n": [ONE] * taken})
    share = gpu_speed.device_share([ONE], 0, table, [ONE] * coming)
    total = taken + coming
    assert share == pytest.approx(min(1.0, devices / total) if total else 1.0)
    assert gpu_speed.device_share([ONE], 0, table, [ONE] * (coming + more)) <= share
