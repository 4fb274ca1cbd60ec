"""Metrics of the cluster: sums over nodes, prices by band, ages of reports and loops."""

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
    cluster = ClusterMetrics(Series(registry))
    snapshot = store.snapshot()
    cluster.observe_nodes(snapshot.node_table, NodePriceParameters())
    cluster.observe_reports(snapshot, now)
    return cluster, lambda name, **labels: registry.get_sample_value(f"shuntyard_{name}", labels)


def full_and_idle():
    """Return two nodes of 16 CPUs, one of them full."""
    store = made_up.store(2, 0)
    pod = made_up.pod("large", 0, 1, on=made_up.node_name(0), cpu="16")
    store.apply(Upsert(parse.decode_pod(pod)))
    return store


def test_taken_resources_are_a_part_of_the_capacity_of_all_nodes():
    _, sample = measured(full_and_idle())
    assert sample("nodes", state="ready") == 2
    assert sample("taken_ratio", resource="cpu") == 0.5
    assert sample("largest_free_ratio", resource="cpu") == 1.0
    assert sample("taken_ratio", resource="gpu") == 0


def test_every_node_is_in_one_price_band_of_each_of_its_resources():
    _, sample = measured(full_and_idle())
    bands = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "over")
    counts = [sample("priced_nodes", resource="cpu", band=band) for band in bands]
    assert counts == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    prices = [sample("price_ratio", resource="cpu", of=of) for of in ("least", "mean", "most")]
    assert prices == pytest.approx([0.0, 0.5, 1.0])
    assert sum(sample("priced_nodes", resource="gpu", band=band) for band in bands) == 0


def test_an_empty_cluster_has_zeros():
    _, sample = measured(made_up.store(0, 0))
    assert sample("taken_ratio", resource="cpu") == 0
    assert sample("price_ratio", resource="cpu", of="most") == 0
    assert sample("heartbeat_age_seconds", of="most") == 0


def test_reports_age_from_the_last_heartbeat_and_only_bound_pods_count_as_training():
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
    _, sample = measured(store)
    assert sample("training_pods", category="converged") == 1
    ages = [sample("heartbeat_age_seconds", of=of) for of in ("least", "mean", "most")]
    assert ages == [10.0, 20.0, 30.0]


def test_the_silence_of_a_loop_is_the_age_of_its_heartbeat():
    now = 5.0
    beat = Heartbeat("schedule", 10.0, lambda: now)
    now = 8.0
    cluster, sample = measured(made_up.store(1, 0))
    cluster.observe_loops([beat])
    assert sample("loop_silence_seconds", loop="schedule") == 3.0
