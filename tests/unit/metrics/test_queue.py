"""What is counted of the queue and of what leaves it."""

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


class Counted:
    """The metrics of a queue, and what they say."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.queue = QueueMetrics(Series(self.registry))

    def look(self, *entries, released=()):
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
    found = Value(job=name, v=1.0, v_rounded=1, **{**terms, **value})
    return SimpleNamespace(job=job, value=found, reason=reason)


def test_jobs_are_counted_by_reason_and_what_left_is_zero_again():
    said = Counted().look(entry("a"), entry("b"), entry("c", Reason.RELEASING))
    assert said.value("queue_jobs") == 2
    assert said.value("waiting_jobs", reason="Fragmented") == 2
    said.look()
    assert said.value("queue_jobs") == 0
    assert said.value("waiting_jobs", reason="Fragmented") == 0


def test_a_wait_is_counted_when_its_gang_is_released_and_only_then():
    said = Counted().look(entry("a", waited=40.0))
    assert said.value("job_wait_seconds_count") == 0
    assert said.value("longest_wait_seconds") == 40.0
    said.look(entry("a", Reason.RELEASING, waited=50.0), released=["a"])
    assert said.value("job_wait_seconds_count") == 1
    assert said.value("job_wait_seconds_sum") == 50.0
    assert said.value("job_wait_seconds_bucket", le="30.0") == 0
    assert said.value("longest_wait_seconds") == 0


def test_a_maximum_wait_counts_down_by_bands_and_one_that_is_over_is_missed():
    said = Counted().look(
        entry("over", waited=10.0, most=5.0),
        entry("soon", waited=10.0, most=69.0),
        entry("later", waited=10.0, most=4000.0),
        entry("without"),
    )
    bands = {left: said.value("max_wait_jobs", left=left) for left in ("none", "1m", "10m", "more")}
    assert bands == {"none": 1, "1m": 1, "10m": 0, "more": 1}
    assert said.value("max_wait_left_seconds") == -5.0
    late = entry("over", Reason.RELEASING, waited=10.0, most=5.0)
    in_time = entry("soon", Reason.RELEASING, waited=10.0, most=69.0)
    said.look(late, in_time, released=["over", "soon"])
    assert said.value("max_wait_missed_total") == 1
    assert math.isnan(said.value("max_wait_left_seconds"))


def test_terms_of_v_are_parts_of_what_each_can_be():
    said = Counted().look(entry("a", u=10, b=100, l=100), entry("b", u=5, b=50, l=50))
    terms = {
        whose: {
            t: said.value("priority_term_ratio", whose=whose, term=t)
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
    said.look()
    assert said.value("priority_term_ratio", whose="first", term="user") == 0


def test_who_stands_by_shows_an_empty_queue_and_keeps_its_counts():
    said = Counted().look(entry("a", Reason.RELEASING), entry("b"), released=["a"])
    said.queue.forget()
    assert said.value("waiting_jobs", reason="Fragmented") == 0
    assert (said.value("queue_jobs"), said.value("longest_wait_seconds")) == (0, 0)
    assert said.value("job_wait_seconds_count") == 1
