"""DRAGON's rules on Jobs as the API server shows them."""

from typing import Any

from bench.elastic import scenario
from bench.elastic.dragon import Driver
from bench.elastic.scenario import NODES
from shared import labels

SCALE = 0.04
HEAVY = {job.name: job for job in scenario.jobs("heavy", "async", seed=1, scale=SCALE)}
FIRST, SECOND, THIRD, FOURTH = sorted(HEAVY, key=lambda name: HEAVY[name].at_seconds)
NO_PODS: list[dict[str, Any]] = []
STARVING, QUIET = 400.0, 1000.0
"""Simulated seconds: all have waited for longer than two minutes; nothing happened for a minute."""


def job(name: str, *, over: bool = False) -> dict[str, Any]:
    status = {"completionTime": "2026-01-01T00:00:00Z"} if over else {}
    return {"metadata": {"name": name}, "status": status}


def pod(name: str, index: int, node: str, phase: str = "Running") -> dict[str, Any]:
    marks = {labels.JOB_NAME_LABEL: name, labels.JOB_INDEX_LABEL: str(index)}
    spec, status = {"nodeName": node}, {"phase": phase}
    return {"metadata": {"labels": marks}, "spec": spec, "status": status}


def workers_on(driver: Driver, node: str) -> int:
    return sum(nodes.count(node) for nodes in driver.nodes.values())


def test_jobs_start_in_order_of_arrival_one_per_decision_while_they_fit() -> None:
    driver, there = Driver(HEAVY), [job(name) for name in HEAVY]
    begun = [driver.decide(there, NO_PODS, now) for now in (0.0, 1.0, 2.0, 3.0)]
    assert begun == [{FIRST: 3}, {SECOND: 3}, {THIRD: 3}, {}]
    assert all(2 * workers_on(driver, node) <= 7 for node in NODES)


def test_a_missing_or_finished_job_takes_no_part() -> None:
    driver = Driver(HEAVY)
    assert driver.decide([], NO_PODS, 0.0) == {}
    assert driver.decide([job(FIRST)], NO_PODS, 0.0) == {FIRST: 3}
    assert driver.decide([job(FIRST, over=True)], NO_PODS, 1.0) == {}
    assert driver.nodes == {}


def test_a_starving_job_gets_workers_of_running_jobs() -> None:
    driver, there = Driver(HEAVY), [job(name) for name in HEAVY]
    for now in (0.0, 1.0, 2.0):
        driver.decide(there, NO_PODS, now)
    assert driver.decide(there, NO_PODS, STARVING) == {FIRST: 2, SECOND: 2}
    assert driver.decide(there, NO_PODS, STARVING + 1) == {FOURTH: 2}


def test_after_a_quiet_minute_a_job_grows_on_the_node_of_its_first_worker() -> None:
    driver, there = Driver(HEAVY), [job(FIRST)]
    driver.decide(there, NO_PODS, 0.0)
    ended = pod(FIRST, 1, "node-0000", phase="Failed")
    elsewhere = [pod(FIRST, index, "node-0002") for index in range(2)] + [ended]
    assert driver.decide(there, elsewhere, 1.0) == {}
    assert driver.nodes[FIRST][:2] == ["node-0002", "node-0002"]
    assert driver.decide(there, elsewhere, QUIET) == {FIRST: 4}
    assert driver.nodes[FIRST].count("node-0002") == 3


def test_a_node_that_looks_overfull_for_a_while_stops_no_job() -> None:
    driver, there = Driver(HEAVY), [job(name) for name in HEAVY]
    for now in (0.0, 1.0, 2.0):
        driver.decide(there, NO_PODS, now)
    crowd = [pod(name, index, "node-0000") for name in (FIRST, SECOND) for index in range(3)]
    assert driver.decide(there, crowd, STARVING) == {FIRST: 2}
