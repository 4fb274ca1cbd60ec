"""The benchmark of decisions reports the decisions of the policy."""

from bench.decisions import pricing as decisions
from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission


def test_a_row_counts_every_job_of_every_workload():
    row = decisions.oasis(servers=4, horizon=100, many=2, compare=False)
    assert (row.policy, row.servers, row.slots, row.decisions) == ("oasis", 4, 100, 2 * 2 * 4)
    assert 0 < row.median_ms <= row.p95_ms <= row.max_ms
    assert (row.equal_share, row.payoff_loss_percent) == (None, None)


def test_against_itself_a_search_loses_nothing(monkeypatch):
    monkeypatch.setattr(decisions, "REFERENCE", AdmissionParameters())
    row = decisions.oasis(servers=4, horizon=100, many=1, compare=True)
    assert (row.equal_share, row.payoff_loss_percent) == (1.0, 0.0)


def test_a_finer_search_decides_nearly_the_same():
    row = decisions.oasis(servers=20, horizon=100, many=1, compare=True)
    assert row.equal_share is not None
    assert row.payoff_loss_percent is not None
    assert row.equal_share >= 0.95
    assert -0.1 <= row.payoff_loss_percent < 1.0


def test_the_same_seed_is_the_same_world():
    (first, jobs), (second, again) = decisions.world(4, 100, 7), decisions.world(4, 100, 7)
    assert jobs == again
    for job in jobs:
        params = AdmissionParameters()
        assert (
            admission.offer(job, first, params).payoff
            == admission.offer(job, second, params).payoff
        )
