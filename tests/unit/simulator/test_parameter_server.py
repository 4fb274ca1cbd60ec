"""The fluid of jobs with parameter servers: rates, pauses, events, room."""

import pytest

from extender.core.elastic.speed import Mode, Speed, StepTime
from simulator.models.parameter_server import Scheduler, ServerJob, Site, run

LINEAR = Speed(StepTime(1.0, 0.0), 1.0, Mode.LINEAR)
"""One sample a second for each worker."""
NODES = {"n1": (8000, 100), "n2": (8000, 100)}


def job(name="a", at=0.0, *, work=100.0, wanted=2, least=1, most=4, speed=LINEAR, **more):
    return ServerJob(
        name, at, more.pop("utility", 1), (1000, 10), 1, (1000, 10), least, wanted, most, speed,
        work, **more
    )  # fmt: skip


class Scripted:
    """Starts everything on n1, and acts by a script at its times."""

    def __init__(self, script=()):
        self.script = dict(script)
        self.seen = []

    def act(self, site: Site, now: float) -> None:
        self.seen.append(now)
        for waiting in list(site.waiting):
            site.begin(waiting, ["n1"], ["n1"] * waiting.wanted)
        if (workers := self.script.pop(now, None)) is not None:
            site.rescale({"a": workers}, now)


def ends(jobs, scheduler: Scheduler, tick=15.0):
    return {one.job.name: one.ended_at for one in run(jobs, NODES, scheduler, tick)}


def test_a_job_ends_when_its_work_is_done():
    assert ends([job()], Scripted()) == {"a": 50.0}


def test_a_change_of_workers_stops_a_job_for_one_pause():
    assert ends([job()], Scripted({15.0: ["n1"] * 4})) == {"a": pytest.approx(15 + 5 + 70 / 4)}


def test_a_change_within_a_pause_begins_the_pause_again():
    script = Scripted({4.0: ["n1"] * 4, 8.0: ["n1"] * 4})
    assert ends([job()], script, tick=4.0) == {"a": pytest.approx(8 + 5 + 92 / 4)}


def test_changes_are_counted():
    (done,) = run([job()], NODES, Scripted({15.0: ["n1"] * 3, 30.0: ["n1"]}))
    assert done.rescales == 2
    assert done.seconds == done.ended_at


def test_workers_away_from_the_server_communicate_more():
    speed = Speed(StepTime(1.0, 0.0, 0.0, 0.5), 1.0, Mode.ASYNC, near_cost=0.5)
    site = Site(NODES)
    one = job(speed=speed)
    site.waiting.append(one)
    site.begin(one, ["n1"], ["n1", "n2"])
    assert site.running["a"].rate == pytest.approx(2 / (1 + 0.75 * 1.0))


def test_the_scheduler_acts_at_arrivals_ends_and_ticks():
    scheduler = Scripted()
    ends([job(work=40.0), job("b", at=7.0, work=40.0)], scheduler)
    assert scheduler.seen == [0.0, 7.0, 15.0, 20.0, 27.0]


def test_an_ended_job_frees_its_room():
    site = Site(NODES)
    one = job()
    site.waiting.append(one)
    site.begin(one, ["n1"], ["n1", "n2"])
    assert site.free == {"n1": (6000, 80), "n2": (7000, 90)}
    site.end("a")
    assert site.free == NODES


def test_several_jobs_may_swap_places_at_once():
    site = Site({"n1": (3000, 100), "n2": (3000, 100)})
    for name, node in (("a", "n1"), ("b", "n2")):
        one = job(name)
        site.waiting.append(one)
        site.begin(one, [node], [node, node])
    site.rescale({"a": ["n1", "n2"], "b": ["n2", "n1"]}, 0.0)
    assert site.free == {"n1": (0, 70), "n2": (0, 70)}


def test_requests_beyond_the_capacity_are_refused():
    with pytest.raises(ValueError, match="n1 has"):
        Site(NODES).take("n1", (9000, 0))


def test_a_job_that_never_starts_raises_an_error_and_does_not_run_forever():
    class Idle:
        def act(self, site, now):
            """Do nothing."""

    with pytest.raises(ValueError, match="never complete"):
        run([job()], NODES, Idle(), tick_seconds=1e6)
