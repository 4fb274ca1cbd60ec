"""Jobs on GPU nodes, from their annotations to the release: sizes, models, shared devices."""

import pytest

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.parameters.queue import JobSize, Order
from extender.core.queue.state import QueueState
from shared import labels
from tests.fakes.builders import make_node, make_pod, make_shape
from tests.fakes.deciding import queue_pass
from tests.unit.core.clusters import queued_job, released_job, snapshot_of

GPU, SHARED, MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"
PARAMS = CoreParameters()


def run_pass(*entities, params=PARAMS):
    return queue_pass(snapshot_of(*entities), QueueState(), Reading(10, 10), params)


def gang(name, pods, gpus=1, *, resource=GPU, notes=None, **options):
    requests = {resource: str(gpus)} if gpus else {}
    shape = make_shape(cpu="1", requests=requests)
    return queued_job(name, pods, shape=shape, annotations=notes or {}, **options)


def held(name, nodes, **options):
    """A job that runs with one GPU a pod."""
    shape = make_shape(cpu="1", requests={GPU: "1"})
    return released_job(name, nodes, bound=len(nodes), shape=shape, **options)


def node(name, gpus, **options):
    return make_node(name, cpu="64", allocatable={GPU: str(gpus)}, **options)


def sliced(name, devices, replicas, *, resource=GPU, plain=0):
    """A node whose devices are time-sliced, with labels as the feature discovery writes them."""
    stated = {"count": devices, "replicas": replicas, "sharing-strategy": "time-slicing"}
    more = {GPU: str(plain)} if plain else {}
    return make_node(
        name,
        cpu="64",
        allocatable={resource: str(devices * replicas), **more},
        labels={f"{GPU}.{key}": str(value) for key, value in stated.items()},
    )


def nodes_of(outcome, name="j"):
    """How many pods of a job each node gets; None if it is not released."""
    for command in outcome.commands:
        if isinstance(command, ReleaseGang) and command.job.endswith(f"/{name}"):
            used = [str(pod.node) for pod in command.pods]
            return {one: used.count(one) for one in sorted(set(used))}
    return None


def reason(outcome, name="j"):
    return next(entry for entry in outcome.entries if entry.job.name == name)


ORDERS = {
    "many workers before many GPUs, as published": (JobSize.PUBLISHED, Order.CPS, "workers"),
    "many GPUs before many workers": (JobSize.DOMINANT, Order.CPS, "gpus"),
    "CPU and memory, as published": (JobSize.PUBLISHED, Order.WEIGHTING, "workers"),
    "GPUs in the other order, too": (JobSize.DOMINANT, Order.WEIGHTING, "gpus"),
}


@pytest.mark.parametrize(("size", "order", "first"), ORDERS.values(), ids=ORDERS)
def test_the_larger_job_is_first(size, order, first):
    params = CoreParameters(job_size=size, order=order)
    jobs = gang("workers", 9, 0), gang("gpus", 2, 4)
    outcome = run_pass(node("a", 1), *jobs, params=params)
    assert outcome.entries[0].job.name == first


def test_slices_count_by_their_part():
    nodes = make_node("a", allocatable={GPU: "1"}), make_node("b", allocatable={MIG: "1"})
    jobs = gang("slices", 6, 1, resource=MIG), gang("device", 1, 1)
    outcome = run_pass(*nodes, *jobs, params=CoreParameters(order=Order.WEIGHTING))
    assert [entry.job.name for entry in outcome.entries] == ["device", "slices"]
    assert {e.job.name: e.value.m for e in outcome.entries} == {"device": 1000, "slices": 857}


def test_a_gang_has_a_device_for_each_pod():
    assert nodes_of(run_pass(sliced("a", 2, 4), sliced("b", 2, 4), gang("j", 4))) == {
        "a": 2,
        "b": 2,
    }


def test_a_gang_that_may_share_devices_is_on_one_node():
    notes = {labels.SHARE: "allowed"}
    assert nodes_of(run_pass(sliced("a", 2, 4), sliced("b", 2, 4), gang("j", 4, notes=notes))) == {
        "a": 4
    }


def test_renamed_replicas_are_limited_likewise():
    nodes = sliced("a", 2, 4, resource=SHARED), sliced("b", 2, 4, resource=SHARED)
    assert nodes_of(run_pass(*nodes, gang("j", 3, resource=SHARED))) == {"a": 2, "b": 1}


def test_members_that_run_count():
    owner, *running = held("j", ["a"], size=4)
    more = {"owner": owner, "gated": True, "shape": running[0].shape}
    waiting = [make_pod(f"j-{i}", index=i, **more) for i in (1, 2, 3)]
    outcome = run_pass(sliced("a", 2, 4), sliced("b", 2, 4), owner, *running, *waiting)
    assert nodes_of(outcome) == {"a": 1, "b": 2}


def test_replicas_of_other_jobs_count_as_taken():
    other = held("other", ["a"] * 7)
    outcome = run_pass(sliced("a", 2, 4), sliced("b", 1, 4), *other, gang("j", 2))
    assert nodes_of(outcome) == {"a": 1, "b": 1}


def test_a_job_that_fits_only_on_shared_devices_says_so():
    outcome = run_pass(sliced("a", 1, 4), gang("j", 4))
    entry = reason(outcome)
    assert entry.reason is Reason.SHARED_DEVICES_ONLY
    assert "set the annotation shuntyard.io/share: allowed" in entry.message
    assert f"4 {GPU} requested" in entry.message


def test_a_job_that_waits_for_devices_of_others_waits_for_room():
    other = held("other", ["b"] * 2)
    outcome = run_pass(sliced("a", 1, 4), node("b", 2), *other, gang("j", 3))
    assert reason(outcome).reason in {Reason.GANG_DOES_NOT_FIT, Reason.FRAGMENTED}


def test_a_single_pod_has_as_many_devices_as_it_requests():
    outcome = run_pass(sliced("a", 1, 4), sliced("b", 2, 2), gang("j", 1, 2))
    assert nodes_of(outcome) == {"b": 1}


def test_the_table_after_a_plan_has_no_column_more():
    """Two gangs in one pass: the second is planned on what the first left."""
    outcome = run_pass(sliced("a", 2, 2), gang("j", 2), gang("k", 2))
    assert (nodes_of(outcome), nodes_of(outcome, "k")) == ({"a": 2}, {"a": 2})


def test_the_order_of_models_is_read_from_the_annotation():
    products = {"a": "NVIDIA-A100-SXM4-40GB", "h": "NVIDIA-H100-80GB-HBM3"}
    nodes = [node(n, 8, labels={f"{GPU}.product": p}) for n, p in products.items()]
    notes = {labels.ACCELERATORS: "h100>a100"}
    assert nodes_of(run_pass(*nodes, gang("j", 2, notes=notes))) == {"h": 2}
    assert nodes_of(run_pass(*nodes, gang("j", 2))) == {"a": 2}


WRONG = {
    "a mark that is missing": (labels.ACCELERATORS, "h100,a100", "models with > between them"),
    "a model twice": (labels.ACCELERATORS, "h100>H100", "each model once"),
    "one speed": (labels.ACCELERATORS, "h100=2>a100", "a speed for each model, or for none"),
    "a speed of nothing": (labels.ACCELERATORS, "h100=0>a100=1", "speeds above 0"),
    "too many": (labels.ACCELERATORS, ">".join(f"m{i}" for i in range(9)), "at most 8 models"),
    "another word": (labels.SHARE, "yes", "allowed"),
}


@pytest.mark.parametrize(("key", "text", "expected"), WRONG.values(), ids=WRONG)
def test_an_annotation_that_cannot_be_used_names_what_is_expected(key, text, expected):
    entry = reason(run_pass(node("a", 8), gang("j", 1, notes={key: text})))
    assert entry.reason is Reason.MISCONFIGURED
    assert key in entry.message
    assert expected in entry.message


def test_a_member_that_comes_again_has_a_device_of_its_own():
    shape = make_shape(cpu="1", requests={GPU: "1"})
    job = released_job("j", ["a", "b"], bound=1, shape=shape)
    again = make_pod("j-1", owner=job[0], index=1, gated=True, shape=shape)
    nodes = sliced("a", 1, 8), sliced("b", 1, 4)
    assert nodes_of(run_pass(*nodes, job[:2], again)) == {"b": 1}
    outcome = run_pass(nodes[0], job[:2], again)
    assert nodes_of(outcome) is None
    assert reason(outcome).reason == Reason.SHARED_DEVICES_ONLY


def test_fractions_of_other_schedulers_are_ignored():
    """KAI's and HAMi's: the pod gets the whole devices that it requests, or none."""
    notes = {"gpu-fraction": "0.5", "nvidia.com/gpumem": "4000"}
    assert nodes_of(run_pass(node("a", 2), gang("j", 2, notes=notes))) == {"a": 2}
    assert nodes_of(run_pass(node("a", 1), gang("j", 2, notes=notes))) is None
