"""GPU nodes on a real control plane: slices, shared devices, models, NVLink domains, CPU jobs.

kwok nodes with the labels that GPU feature discovery writes (k8s-device-plugin v0.17,
``internal/lm/resource.go`` and ``fabric.go``).
"""

from collections import Counter

import pytest

from devcluster.options import KwokNodes
from shared import labels
from tests.controlplane.jobs import Pods, job
from tests.controlplane.watching import node_of
from tests.controlplane.yard import Yard

pytestmark = pytest.mark.controlplane

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
ONE = Pods(more={GPU: "1"})
H100, A100 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB"
CLIQUE = "nvidia.com/gpu.clique"


def gpu_nodes(count: int, prefix: str, gpus: int, /, **stated: str) -> KwokNodes:
    """Nodes with GPUs, and labels ``nvidia.com/gpu.<name>``."""
    own = {f"{GPU}.{name.replace('_', '-')}": value for name, value in stated.items()}
    return KwokNodes(count, prefix=prefix, cpu="64", extended={GPU: str(gpus)}, labels=own)


def nodes_of(yard: Yard, name: str) -> Counter[str]:
    """How many of its pods are on nodes of each prefix."""
    return Counter(str(node_of(found)).rpartition("-")[0] for found in yard.of(name))


async def test_a_job_without_gpus_leaves_gpu_nodes_alone(yard: Yard) -> None:
    """The GPU node would hold it alone, and tighter."""
    await yard.nodes(gpu_nodes(1, "gpu", 8, product=H100))
    await yard.nodes(KwokNodes(2, prefix="plain", cpu="4"))
    await yard.submit(job("cpu", 6))
    await yard.until_bound("cpu")
    assert nodes_of(yard, "cpu") == {"plain": 6}


async def test_a_gang_is_on_the_model_that_it_prefers(yard: Yard) -> None:
    await yard.nodes(gpu_nodes(1, "old", 4, product=A100))
    await yard.nodes(gpu_nodes(2, "new", 8, product=H100))
    await yard.submit(job("it", 4, ONE.annotated({labels.ACCELERATORS: "h100>a100"})))
    await yard.until_bound("it")
    assert nodes_of(yard, "it") == {"new": 4}


async def test_pods_of_a_gang_do_not_share_a_device(yard: Yard) -> None:
    sliced = {"count": "2", "replicas": "4", "sharing_strategy": "time-slicing"}
    await yard.nodes(gpu_nodes(2, "sliced", 8, product=f"{A100}-SHARED", **sliced))
    await yard.submit(job("it", 4, ONE))
    await yard.until_bound("it")
    assert sorted(Counter(node_of(found) for found in yard.of("it")).values()) == [2, 2]
    await yard.submit(job("wide", 6, ONE))
    entry = await yard.until_waiting("wide", "SharedDevicesOnly")
    assert "set the annotation shuntyard.io/share: allowed" in entry.message
    await yard.submit(job("sharing", 6, ONE.annotated({labels.SHARE: "allowed"})))
    await yard.until_bound("sharing")


async def test_slices_are_planned_and_an_nvlink_domain_holds_a_gang(yard: Yard) -> None:
    for name in ("one", "two"):
        offered, clique = {GPU: "2", MIG: "7"}, {CLIQUE: f"uuid.{name}"}
        await yard.nodes(KwokNodes(2, prefix=name, extended=offered, labels=clique))
    await yard.submit(job("other", 3, ONE.annotated({labels.REQUIRED_TOPOLOGY: "nvlink"})))
    await yard.until_bound("other")
    await yard.submit(job("it", 4, ONE.annotated({labels.REQUIRED_TOPOLOGY: "nvlink"})))
    await yard.until_bound("it")
    assert len(nodes_of(yard, "other")) == len(nodes_of(yard, "it")) == 1
    assert nodes_of(yard, "other").keys() != nodes_of(yard, "it").keys()
    await yard.submit(job("slices", 14, Pods(more={MIG: "1"})))
    await yard.until_bound("slices")
