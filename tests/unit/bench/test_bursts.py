"""What benchmarks read of bursts."""

import pytest

from bench.gang.bursts import ALREADY_BOUND, sample

METRICS = """\
# TYPE shuntyard_burst_pods_total counter
shuntyard_burst_pods_total 989.0
shuntyard_burst_hold_seconds_count 12.0
"""
LOG = (
    'I1126 "Unable to schedule pod" err="assume pod failed: pod 4f2(default/run-1-7) is in the '
    'cache, so can\'t be assumed" pod="default/run-1-7"\n'
)


def test_metrics_are_read_by_the_end_of_their_name() -> None:
    assert sample(METRICS, "pods_total") == 989
    assert sample(METRICS, "hold_seconds_count") == 12
    with pytest.raises(LookupError, match="hold_seconds_sum"):
        sample(METRICS, "hold_seconds_sum")


def test_a_pod_that_kube_scheduler_could_not_assume_is_in_its_log() -> None:
    assert ALREADY_BOUND.findall(LOG) == ["default/run-1-7"]
