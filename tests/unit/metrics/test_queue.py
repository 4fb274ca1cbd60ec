"""Metrics of waiting jobs and of released gangs."""

import math
from types import SimpleNamespace

from prometheus_client import CollectorRegistry

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.reasons import Reason
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.order import Value
from extender.core.queue.state import QueueState
from extender.metrics.queue import QueueMetrics
from extender.metrics.series import Series

NOW = 1000.0


class Metrics:
    """The metrics of a queue, and their samples."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.queue = QueueMetrics(Series(self.registry))

    def observe(self, *entries, released=()):
        commands = tuple(ReleaseGang(job=name, pods=(), first=0) for name in released)
        outcome = QueueOutcome(
            state=QueueState(), commands=commands, entries=entries, wake_after_seconds=None
        )
        self.queue.observe(outcome, NOW)
        return self

    def value(self, name, **labels):
        return self.registry.get_sample_value(f"shuntyard_{name}", labels)


def entry(name, reason=Reason.FRAGMENTED, *, waited=10.0, most=None, **value):
    job = SimpleNamespace(
        key=name, created_at=NOW - waited, spec=SimpleNamespace(max_wait_seconds=most)
    )
    terms = {"u": 5, "b": 50, "l": 1, "e": 56, "m": 1, "e_normalised": 0.5, "m_normalised": 0.25}
    terms_of_v = Value(job=name, v=1.0, v_rounded=1, **{**terms, **value})
    return SimpleNamespace(job=job, value=terms_of_v, reason=reason)


def test_jobs_are_counted_by_reason_and_reset_to_zero_when_they_leave():
    metrics = Metrics().observe(entry("a"), entry("b"), entry("c", Reason.RELEASING))
    assert metrics.value("queue_jobs") == 2
    assert metrics.value("waiting_jobs", reason="Fragmented") == 2
    metrics.observe()
    assert metrics.value("queue_jobs") == 0
    assert metrics.value("waiting_jobs", reason="Fragmented") == 0


def test_a_wait_is_counted_only_when_its_gang_is_released():
    metrics = Metrics().observe(entry("a", waited=40.0))
    assert metrics.value("job_wait_seconds_count") == 0
    assert metrics.value("longest_wait_seconds") == 40.0
    metrics.observe(entry("a", Reason.RELEASING, waited=50.0), released=["a"])
    assert metrics.value("job_wait_seconds_count") == 1
    assert metrics.value("job_wait_seconds_sum") == 50.0
    assert metrics.value("job_wait_seconds_bucket", le="30.0") == 0
    assert metrics.value("longest_wait_seconds") == 0


def test_jobs_are_counted_by_the_rest_of_their_maximum_wait_and_as_missed_after_it():
    metrics = Metrics().observe(
        entry("over", waited=10.0, most=5.0),
        entry("soon", waited=10.0, most=69.0),
        entry("later", waited=10.0, most=4000.0),
        entry("without"),
    )
    bands = {
        left: metrics.value("max_wait_jobs", left=left) for left in ("none", "1m", "10m", "more")
    }
    assert bands == {"none": 1, "1m": 1, "10m": 0, "more": 1}
    assert metrics.value("max_wait_left_seconds") == -5.0
    late = entry("over", Reason.RELEASING, waited=10.0, most=5.0)
    in_time = entry("soon", Reason.RELEASING, waited=10.0, most=69.0)
    metrics.observe(late, in_time, released=["over", "soon"])
    assert metrics.value("max_wait_missed_total") == 1
    assert math.isnan(metrics.value("max_wait_left_seconds"))


def test_terms_of_v_are_parts_of_their_maximum():
    metrics = Metrics().observe(entry("a", u=10, b=100, l=100), entry("b", u=5, b=50, l=50))
    terms = {
        whose: {
            t: metrics.value("priority_term_ratio", whose=whose, term=t)
            for t in ("user", "class", "time", "urgency", "parallelism")
        }
        for whose in ("first", "mean")
    }
    assert terms["first"] == {
        "user": 1.0,
        "class": 1.0,
        "time": 1.0,
        "urgency": 0.5,
        "parallelism": 0.25,
    }
    assert (terms["mean"]["user"], terms["mean"]["time"]) == (0.75, 0.75)
    metrics.observe()
    assert metrics.value("priority_term_ratio", whose="first", term="user") == 0


def test_a_standby_shows_an_empty_queue_and_keeps_its_counters():
    metrics = Metrics().observe(entry("a", Reason.RELEASING), entry("b"), released=["a"])
    metrics.queue.forget()
    assert metrics.value("waiting_jobs", reason="Fragmented") == 0
    assert (metrics.value("queue_jobs"), metrics.value("longest_wait_seconds")) == (0, 0)
    assert metrics.value("job_wait_seconds_count") == 1
