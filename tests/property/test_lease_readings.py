"""A replica never leads beyond its Lease, however often the Lease is read."""

from hypothesis import given
from hypothesis import strategies as st

from shared.kube.lease import LeaseObserver

DURATION_SECONDS = 15.0
HOSTS = ("host-a", "host-b")
SECONDS = st.floats(0, 20)
MOMENTS = st.sampled_from((0.0, 0.1, 1.0, 5.0, 9.9, 14.9, 15.0)) | SECONDS

Renewals = list[tuple[float, str]]
"""Pause before each, and the replica that renews."""
Readings = list[tuple[float, float, float]]
"""Pause before each, then until the server reads, then until its answer arrives."""


@given(
    renewals=st.lists(st.tuples(SECONDS, st.sampled_from(HOSTS)), min_size=1, max_size=12),
    readings=st.lists(st.tuples(MOMENTS, MOMENTS, MOMENTS), min_size=1, max_size=12),
    late=MOMENTS,
)
def test_a_leader_has_a_renewal_that_no_other_replica_may_have_outwaited(
    renewals: Renewals, readings: Readings, late: float
) -> None:
    """A replica that waits for the Lease to expire begins at least a duration after a renewal."""
    observer, now, seen = LeaseObserver(), 0.0, None
    for pause, there, back in readings:
        asked_at = now + pause
        seen = _last(renewals, asked_at + there)
        now = asked_at + there + back
        observer.observe(f"{seen[1]}_1", f"{seen[0]}", asked_at, duration_seconds=DURATION_SECONDS)
        for host in HOSTS:
            for moment in (now, now + late):
                if observer.acting(host, moment):
                    assert host == seen[1]
                    assert moment < seen[0] + DURATION_SECONDS


def _last(renewals: Renewals, at: float) -> tuple[float, str]:
    """Return second and holder of the last renewal at a moment; before all is one at zero."""
    renewed_at, found = 0.0, (0.0, HOSTS[0])
    for pause, host in renewals:
        renewed_at += pause
        if renewed_at <= at:
            found = (renewed_at, host)
    return found
