"""What is measured of the cluster: sums over nodes, prices by band, agents, loops."""

import pytest
from prometheus_client import CollectorRegistry

from bench import made_up
from extender.core.parameters.placement import NodePriceParameters
from extender.metrics.cluster import ClusterMetrics
from extender.metrics.series import Series
from shared.health import Heartbeat
from shared.kube import parse
from shared.model import NodeName, Uid, Upsert
from shared.progress import Category, NodeReport, PodReport, Progress


def measured(store, now=100.0):
    registry = CollectorRegistry()
    yard = ClusterMetrics(Series(registry))
    snapshot = store.snapshot()
    yard.observe_nodes(snapshot.node_table, NodePriceParameters())
    yard.observe_reports(snapshot, now)
    return yard, lambda name, **labels: registry.get_sample_value(f"shuntyard_{name}", labels)


def full_and_idle():
    """Return two nodes of 16 CPUs, one of them full."""
    store = made_up.store(2, 0)
    pod = made_up.pod("large", 0, 1, on=made_up.node_name(0), cpu="16")
    store.apply(Upsert(parse.decode_pod(pod)))
    return store


def test_what_is_taken_is_a_part_of_what_all_nodes_have():
    _, said = measured(full_and_idle())
    assert said("nodes", state="ready") == 2
    assert said("taken_ratio", resource="cpu") == 0.5
    assert said("largest_free_ratio", resource="cpu") == 1.0
    assert said("taken_ratio", resource="gpu") == 0


def test_every_node_is_in_one_band_of_each_resource_it_has():
    _, said = measured(full_and_idle())
    bands = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "over")
    counts = [said("priced_nodes", resource="cpu", band=band) for band in bands]
    assert counts == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    prices = [said("price_ratio", resource="cpu", of=of) for of in ("least", "mean", "most")]
    assert prices == pytest.approx([0.0, 0.5, 1.0])
    assert sum(said("priced_nodes", resource="gpu", band=band) for band in bands) == 0


def test_an_empty_cluster_is_measured_too():
    _, said = measured(made_up.store(0, 0))
    assert said("taken_ratio", resource="cpu") == 0
    assert said("price_ratio", resource="cpu", of="most") == 0
    assert said("heartbeat_age_seconds", of="most") == 0


def test_agents_are_as_old_as_their_last_heartbeat_and_only_bound_pods_train():
    store, node = full_and_idle(), made_up.node_name(0)
    (pod,) = store.snapshot().pods.values()
    progress = Progress(metric="loss", source="jsonl", updated_at=1.0, category=Category.CONVERGED)
    reports = {
        node: (90.0, {pod.uid: PodReport(uid=pod.uid, progress=progress)}),
        made_up.node_name(1): (70.0, {Uid("gone"): PodReport(uid=Uid("gone"), progress=progress)}),
    }
    for name, (at, pods) in reports.items():
        report = NodeReport(
            node=NodeName(name), boot="1", sequence=1, sent_at=1.0, received_at=at, pods=pods
        )
        store.report(report)
    _, said = measured(store)
    assert said("training_pods", category="converged") == 1
    ages = [said("heartbeat_age_seconds", of=of) for of in ("least", "mean", "most")]
    assert ages == [10.0, 20.0, 30.0]


def test_a_loop_is_as_silent_as_its_heartbeat_is_old():
    now = 5.0
    beat = Heartbeat("schedule", 10.0, lambda: now)
    now = 8.0
    yard, said = measured(made_up.store(1, 0))
    yard.observe_loops([beat])
    assert said("loop_silence_seconds", loop="schedule") == 3.0
