"""Where starts lie beside the bands of their estimates, and which estimates are kept."""

import pytest

from extender.core.queue import start_calibration
from extender.core.queue.forecast import Estimate, at_once
from extender.core.queue.start_calibration import Ahead, Judged, Where
from shared.model import JobKey

NOW = 1000.0
JOB = JobKey("default/job/j")
IN_AN_HOUR = Estimate(NOW + 3000.0, "", NOW + 2000.0, NOW + 5000.0)

STARTS: dict[str, tuple[float, Where]] = {
    "long before the earliest start": (NOW + 1989.0, Where.BEFORE),
    "a pass before the earliest start": (NOW + 1991.0, Where.INSIDE),
    "at the latest start": (NOW + 5000.0, Where.INSIDE),
    "a pass after the latest start": (NOW + 5009.0, Where.INSIDE),
    "long after the latest start": (NOW + 5011.0, Where.AFTER),
}


@pytest.mark.parametrize(("started_at", "want"), STARTS.values(), ids=STARTS.keys())
def test_where_a_start_lies(started_at, want) -> None:
    assert start_calibration.where(IN_AN_HOUR, started_at) is want


def test_a_band_without_a_latest_start_has_no_end() -> None:
    assert start_calibration.where(Estimate(2.0, "", 1.0, None), 1e9) is Where.INSIDE


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (599.0, Ahead.TEN_MINUTES),
        (600.0, Ahead.HOUR),
        (3600.0, Ahead.SIX_HOURS),
        (21600.0, Ahead.MORE),
    ],
)
def test_how_far_ahead_a_start_is(seconds, want) -> None:
    assert start_calibration.ahead_of(NOW + seconds, NOW) is want


def test_the_first_estimate_of_each_distance_is_kept_until_the_start() -> None:
    kept = start_calibration.kept({}, {JOB: IN_AN_HOUR}, NOW)
    later = Estimate(NOW + 3300.0, "", NOW + 3000.0, NOW + 3400.0)
    kept = start_calibration.kept(kept, {JOB: later}, NOW + 10.0)
    near = Estimate(NOW + 3300.0, "", NOW + 3290.0, NOW + 3300.0)
    kept = start_calibration.kept(kept, {JOB: near}, NOW + 3000.0)
    assert kept == {JOB: {Ahead.HOUR: IN_AN_HOUR, Ahead.TEN_MINUTES: near}}
    assert set(start_calibration.judged(kept[JOB], NOW + 4000.0)) == {
        Judged(Ahead.HOUR, Where.INSIDE),
        Judged(Ahead.TEN_MINUTES, Where.AFTER),
    }


def test_a_job_that_fits_now_or_has_no_estimate_is_not_judged() -> None:
    nothing = {JOB: at_once(NOW, "fits now"), JobKey("default/job/k"): Estimate(None, "too large")}
    assert start_calibration.kept({}, nothing, NOW) == {}


def test_jobs_that_are_gone_are_forgotten() -> None:
    assert start_calibration.kept({JOB: {Ahead.HOUR: IN_AN_HOUR}}, {}, NOW) == {}
