"""GPUs that are used, free and stranded; jobs and GPU hours by team."""

import json
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from bench import made_up
from extender.core.cluster.reasons import Reason
from extender.core.parameters.placement import NodePriceParameters
from extender.metrics.cluster import ClusterMetrics
from extender.metrics.series import Series
from extender.metrics.teams import MOST_TEAMS, OTHERS, TeamMetrics
from extender.store.store import ClusterStore
from shared import labels
from shared.kube import parse
from shared.model import Upsert

GPU = "nvidia.com/gpu"


def node(number, gpus=8, *, cordoned=False):
    manifest = json.loads(made_up.node(number))
    for amounts in ("capacity", "allocatable"):
        manifest["status"][amounts] = {**manifest["status"][amounts], GPU: str(gpus)}
    manifest["spec"]["unschedulable"] = cordoned
    return Upsert(parse.decode_node(json.dumps(manifest).encode()))


def pod(job, on, gpus, *, cpu="1", team="team"):
    manifest = json.loads(made_up.pod(job, 0, 1, on=made_up.node_name(on), cpu=cpu))
    manifest["metadata"]["namespace"] = team
    requests = manifest["spec"]["containers"][0]["resources"]["requests"]
    if gpus:
        requests[GPU] = str(gpus)
    return Upsert(parse.decode_pod(json.dumps(manifest).encode()))


def snapshot(*deltas):
    store = ClusterStore(labels.SCHEDULER_NAME)
    for delta in deltas:
        store.apply(delta)
    return store.snapshot()


def gpus(seen):
    registry = CollectorRegistry()
    ClusterMetrics(Series(registry)).observe_nodes(seen.node_table, NodePriceParameters())
    return {
        state: registry.get_sample_value("shuntyard_gpus", {"state": state})
        for state in ("used", "free", "stranded")
    }


def test_a_gpu_is_stranded_on_a_cordoned_node_and_beside_pods_that_left_no_cpu():
    seen = snapshot(
        node(0), node(1, cordoned=True), node(2),
        pod("a", 0, 3), pod("b", 1, 2), pod("c", 2, 1, cpu="16"),
    )  # fmt: skip
    assert gpus(seen) == {"used": 6, "free": 5, "stranded": 6 + 7}


def test_a_cluster_without_gpus_has_none():
    assert gpus(made_up.store(2, 4).snapshot()) == {"used": 0, "free": 0, "stranded": 0}


@given(
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=5),
    st.data(),
)
def test_used_free_and_stranded_are_all_gpus(nodes, data):
    taken = [data.draw(st.integers(0, most)) for most, _ in nodes]
    deltas = [node(i, most, cordoned=cordoned) for i, (most, cordoned) in enumerate(nodes)]
    deltas += [pod(f"job-{i}", i, held) for i, held in enumerate(taken)]
    found = gpus(snapshot(*deltas))
    assert found["used"] == sum(taken)
    assert sum(found.values()) == sum(most for most, _ in nodes)


class Teams:
    """The metrics of teams, and their samples."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.metrics = TeamMetrics(Series(self.registry))

    def value(self, name, team):
        return self.registry.get_sample_value(f"shuntyard_team_{name}", {"team": team})

    def wait(self, *keys, reason=Reason.FRAGMENTED):
        entries = [SimpleNamespace(job=SimpleNamespace(key=key), reason=reason) for key in keys]
        self.metrics.observe_queue(entries)


def test_waiting_jobs_are_counted_by_namespace_until_they_leave():
    teams = Teams()
    teams.wait("vision/job/a", "vision/job/b", "speech/job/a")
    assert (teams.value("waiting_jobs", "vision"), teams.value("waiting_jobs", "speech")) == (2, 1)
    teams.wait("speech/job/a", reason=Reason.RELEASING)
    assert (teams.value("waiting_jobs", "vision"), teams.value("waiting_jobs", "speech")) == (0, 0)


def test_gpu_seconds_are_gpus_held_by_time():
    teams = Teams()
    held = snapshot(node(0), pod("a", 0, 3, team="vision"), pod("b", 0, 2, team="speech"))
    teams.metrics.observe_gpus(held, 100.0)
    assert teams.value("gpus", "vision") == 3
    assert teams.value("gpu_seconds_total", "vision") is None, "nothing was held since a look"
    teams.metrics.observe_gpus(held, 110.0)
    teams.metrics.observe_gpus(snapshot(node(0)), 115.0)
    assert teams.value("gpu_seconds_total", "vision") == 3 * 15
    assert teams.value("gpu_seconds_total", "speech") == 2 * 15
    teams.metrics.observe_gpus(snapshot(node(0)), 200.0)
    assert teams.value("gpu_seconds_total", "vision") == 3 * 15
    assert teams.value("gpus", "vision") == 0


def test_a_team_without_gpus_makes_no_series():
    teams = Teams()
    teams.metrics.observe_gpus(snapshot(node(0), pod("a", 0, 0, team="vision")), 1.0)
    assert teams.value("gpus", "vision") is None


def test_the_number_of_teams_is_bounded_and_no_job_is_lost():
    teams = Teams()
    keys = [f"team-{number:03}/job/a" for number in range(3 * MOST_TEAMS)]
    teams.wait(*keys)
    teams.wait(*keys)
    samples = [s for m in teams.registry.collect() for s in m.samples if "waiting" in s.name]
    assert len(samples) == MOST_TEAMS + 1
    assert sum(sample.value for sample in samples) == len(keys)
    assert teams.value("waiting_jobs", OTHERS) == 2 * MOST_TEAMS
