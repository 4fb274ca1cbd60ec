"""A pod beyond a limit is reported, and costs little (defect A6)."""

import msgspec
import pytest

from extender.core.cluster import job_views
from extender.core.cluster.reasons import Reason
from extender.core.cluster.session import Reading
from extender.core.parameters.combined import CoreParameters
from extender.core.queue.state import QueueState
from extender.core.scheduler import direct_gangs, filtering
from extender.store.store import ClusterStore
from shared import labels, model
from shared.kube import excess, parse
from shared.model import JobKey, Requirement, Upsert
from tests.fakes.builders import make_node, make_pod, make_shape, make_term
from tests.fakes.deciding import queue_pass

TERMS = "nodeSelectorTerms"


def decoded(**spec: object) -> model.Pod:
    """Return the pod of a spec, as a watch shows it."""
    body = {
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"schedulerName": "shuntyard", **spec},
    }
    return parse.decode_pod(msgspec.json.encode(body))


def affinity(*terms: object) -> dict[str, object]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {TERMS: list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def term(*lines: object) -> dict[str, object]:
    return {"matchExpressions": list(lines)}


def one_of(*values: str) -> dict[str, object]:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": values}


NAMES = tuple(f"node-{i:05}" for i in range(excess.MOST_VALUES + 20))
BEYOND = {
    "terms": (affinity(*[term(one_of("a"))] * 257), "257 terms"),
    "requirements": (affinity(term(*[one_of("a")] * 1026)), "1025 requirements"),
    "values": (affinity(term(one_of(*NAMES))), "16394 values"),
    "tolerations": ({"tolerations": [{"key": "a"}] * 257}, "spec.tolerations: 257"),
    "pairs of the node selector": (
        {"nodeSelector": {f"k{i}": "v" for i in range(257)}},
        "spec.nodeSelector: 257",
    ),
    "host ports": (
        {"containers": [{"ports": [{"hostPort": 1 + i} for i in range(513)]}]},
        "spec.containers[].ports: 513",
    ),
    "claims for devices": (
        {"resourceClaims": [{"name": f"c{i}"} for i in range(513)]},
        "spec.resourceClaims: 513",
    ),
    "claims": (
        {"volumes": [{"persistentVolumeClaim": {"claimName": f"c{i}"}} for i in range(513)]},
        "spec.volumes: 513",
    ),
    "containers": ({"containers": [{"name": "c"}] * 1025}, "spec.containers: 1025"),
    "resources": (
        {"containers": [{"resources": {"requests": {f"e.com/{i}": "1" for i in range(129)}}}]},
        "spec.containers[].resources.requests: 129",
    ),
}
WITHIN = {
    "nothing": {},
    "a pin to 5000 node names": affinity(term(one_of(*NAMES[:5000]))),
    "as many terms as may be": affinity(*[term(one_of("a"))] * 256),
    "as many tolerations": {"tolerations": [{"key": "a"}] * 256},
    "all terms, requirements and our pin in each of them": affinity(
        *[term(*[one_of("a")] * 4, one_of(*NAMES[:10]))] * 256
    ),
}


@pytest.mark.parametrize(("spec", "named"), BEYOND.values(), ids=BEYOND)
def test_too_many_fields_are_a_problem(spec, named: str) -> None:
    pod = decoded(**spec)
    assert named in pod.excess
    assert "at most" in pod.excess
    assert pod.shape.affinity == ()
    assert not pod.shape.node_selector
    assert not pod.shape.tolerations
    assert not pod.claims


@pytest.mark.parametrize("spec", WITHIN.values(), ids=WITHIN)
def test_accepted_fields_are_read(spec) -> None:
    assert not decoded(**spec).excess


def test_requests_of_such_a_pod_count_on_its_node() -> None:
    """Otherwise a node would be planned beyond its capacity."""
    many = {"tolerations": [{"key": "a"}] * 300}
    held = [{"resources": {"requests": {"cpu": "2"}}, "ports": [{"hostPort": 80}]}]
    pod = decoded(containers=held, **many)
    assert dict(pod.shape.requests)["cpu"] == 2000
    assert [port.port for port in pod.shape.host_ports] == [80]


def test_the_job_of_such_a_pod_is_misconfigured_and_the_field_is_named() -> None:
    store = ClusterStore("shuntyard")
    store.apply(Upsert(make_node("n")))
    store.apply(
        Upsert(
            decoded(
                schedulingGates=[{"name": labels.GATE}],
                containers=[{"name": "c"}],
                **affinity(*[term(one_of("n"))] * 300),
            )
        )
    )
    cycle = queue_pass(store.snapshot(), QueueState(), Reading(1, 1), CoreParameters())
    (entry,) = cycle.entries
    assert entry.reason is Reason.MISCONFIGURED
    assert "nodeSelectorTerms: 300 terms, and at most 256 are allowed" in entry.message


def test_such_a_pod_without_our_gate_fits_nowhere_and_gets_the_field() -> None:
    store = ClusterStore("shuntyard")
    store.apply(Upsert(make_node("n")))
    pod = decoded(containers=[{"name": "c"}], tolerations=[{"key": "a"}] * 300)
    store.apply(Upsert(pod))
    verdict = filtering.filter_nodes(
        store.snapshot(), pod, ["n"], CoreParameters(), direct_gangs.NEVER
    )
    assert not verdict.passed
    assert "spec.tolerations: 300" in verdict.nowhere


def test_pods_of_one_job_may_not_have_hundreds_of_shapes() -> None:
    """Each shape costs a pass over all nodes, and a gang is planned at once."""
    store = ClusterStore("shuntyard")
    for i in range(job_views.MOST_SHAPES + 1):
        store.apply(Upsert(make_pod(f"p{i}", cpu=f"{i + 1}m", job="j")))
    (key,) = store.snapshot().jobs
    job = job_views.view(store.snapshot(), JobKey(key))
    assert job.problem is not None
    assert "257 different requests or requirements in all, and at most 256" in job.problem.message


def test_pods_of_one_job_may_not_have_many_large_shapes() -> None:
    """Masks of such a gang would not fit into the cache."""
    store = ClusterStore("shuntyard")
    for i in range(4):
        names = tuple(f"n{i}-{number}" for number in range(10_000))
        pinned = make_shape(affinity=[make_term(Requirement("host", "In", names))])
        store.apply(Upsert(make_pod(f"p{i}", job="j", shape=pinned)))
    (key,) = store.snapshot().jobs
    job = job_views.view(store.snapshot(), JobKey(key))
    assert job.problem is not None
    assert "40008 requirements and values in all, and at most 32768" in job.problem.message
